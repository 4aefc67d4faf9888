"""Kinds of faults that users of GEMM libraries have met, one test a kind, named after the kind."""

from __future__ import annotations

import logging
from collections.abc import Callable

import cupy
import numpy
import pytest

import cupygemm
from cupygemm import dtypes
from cupygemm._options import config
from cupygemm.arch import amd_arch
from tests.conftest import REAL_GPU
from tests.products import assert_close, integers

TYPES = [name for name in dtypes.NAMES if name != "bfloat16"]
FLOATS = [name for name in TYPES if name.startswith("float")]
try:
    import ml_dtypes
except ImportError:
    pass
else:
    if "bfloat16" in dtypes.NAMES:
        FLOATS.append("bfloat16")
        TYPES.append("bfloat16")


def of(name: str) -> numpy.dtype:
    return numpy.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else numpy.dtype(name)


def exact(rng: numpy.random.Generator, shape: tuple[int, ...], name: str) -> numpy.ndarray:
    """-1, 0 and 1: sums over a K of 100 are exact in every type."""
    return rng.integers(-1, 2, shape).astype(of(name))


def check(a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray | None = None) -> None:
    """The product of arrays with exact sums, written over NaN."""
    want = numpy.matmul(a.get().astype(numpy.float64), b.get().astype(numpy.float64))
    if out is None:
        out = cupy.empty(want.shape, a.dtype)
    out.fill(0 if a.dtype.kind == "i" else numpy.nan)
    cupygemm.matmul(a, b, out=out)
    numpy.testing.assert_array_equal(out.get().astype(numpy.float64), want)


# Wrong numbers for some shapes


def test_tall_times_tiny(device):
    """Most of the rows came back as 0."""
    rows = 9_530_399 if REAL_GPU else 200_003
    got = cupygemm.matmul(cupy.ones((rows, 4), "f"), cupy.eye(4, dtype="f"))
    assert (got.get() == 1).all()


def test_very_tall_in_a_type_without_kernels(device):
    rows = 2_097_153 if REAL_GPU else 50_001
    a = cupy.asarray(numpy.arange(rows * 3, dtype=numpy.float64).reshape(rows, 3))
    b = cupy.asarray(numpy.arange(9, dtype=numpy.float64).reshape(3, 3))
    numpy.testing.assert_array_equal(cupygemm.matmul(a, b).get(), a.get() @ b.get())


def test_a_plain_square_in_fp32(device):
    rng = numpy.random.default_rng(1)
    a, b = (rng.uniform(-10, 10, (256, 256)).astype("f") for _ in range(2))
    got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get()
    want = a.astype("d") @ b.astype("d")
    assert abs(got - want).max() <= 1e-5 * abs(want).max()
    assert_close(got, a, b)


def differing_runs(run: Callable[[], numpy.ndarray], times: int) -> int:
    first = run().tobytes()
    return sum(run().tobytes() != first for _ in range(times - 1))


def test_the_same_call_gives_the_same_bits(device):
    rng = numpy.random.default_rng(2)
    times = 1000 if REAL_GPU else 10
    for name in FLOATS:
        for m, n, k in ((70, 90, 110), (1, 33, 3000), (16, 16, 4096)):
            a, b = (cupy.asarray(rng.standard_normal(shape).astype(of(name))) for shape in ((m, k), (k, n)))
            assert differing_runs(lambda a=a, b=b: cupygemm.matmul(a, b).get(), times) == 0


def test_the_check_for_equal_bits_finds_a_difference():
    results = iter([numpy.zeros(3)] * 4 + [numpy.array([0, -0.0, 0])] + [numpy.zeros(3)] * 5)
    assert differing_runs(lambda: next(results), 10) == 1


@pytest.mark.parametrize("name", TYPES)
def test_every_small_size(device, name):
    rng = numpy.random.default_rng(3)
    some = range(1, 18) if REAL_GPU else (1, 3, 5, 16, 17)
    for m in some:
        for n in some:
            for k in (1, 3, 5, 13, 16, 17):
                check(cupy.asarray(exact(rng, (m, k), name)), cupy.asarray(exact(rng, (k, n), name)))


@pytest.mark.parametrize("name", TYPES)
def test_both_operands_transposed(device, name):
    rng = numpy.random.default_rng(4)
    for m, n, k in ((37, 53, 29), (129, 65, 67)):
        check(cupy.asarray(exact(rng, (k, m), name)).T, cupy.asarray(exact(rng, (n, k), name)).T)


@pytest.mark.parametrize("dtype", [*TYPES, "float64", "int32", "complex64"])
def test_k_of_one(device, dtype):
    a = cupy.asarray(numpy.arange(1, 12).astype(of(dtype)).reshape(11, 1))
    b = cupy.asarray(numpy.arange(1, 8).astype(of(dtype)).reshape(1, 7))
    got = cupygemm.matmul(a, b)
    assert got.dtype == a.dtype
    numpy.testing.assert_array_equal(got.get(), a.get() * b.get())


@pytest.mark.parametrize("name", FLOATS)
def test_sums_do_not_stop_growing(device, name):
    """1 + 2048 is 2048 in float16, and 1 + 256 is 256 in bfloat16: the sum must run in FP32."""
    a, b = numpy.ones((1, 4096), of(name)), numpy.ones((4096, 1), of(name))
    assert cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get()[0, 0] == 4096


@pytest.mark.parametrize("name", FLOATS)
def test_long_alternating_sums_cancel(device, name):
    k = 32768
    a = numpy.tile([1.5, -1.5], k // 2).astype(of(name))
    b = numpy.repeat(numpy.arange(1, 9), k // 8).astype(of(name))
    got = cupygemm.matmul(cupy.asarray(a[None]), cupy.asarray(b[:, None])).get()
    assert got[0, 0] == 0


@pytest.mark.parametrize("name", [n for n in FLOATS if n != "float32"])
def test_the_error_of_16_bit_products_is_that_of_the_result(device, name):
    """Rounding the result costs half a unit in its last place; the sums add next to nothing, whatever K is."""
    rng = numpy.random.default_rng(5)
    for k in (64, 1024):
        a, b = rng.standard_normal((32, k)).astype(of(name)), rng.standard_normal((k, 32)).astype(of(name))
        got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get().astype("d")
        want = a.astype("d") @ b.astype("d")
        unit = 2.0**-11 if name == "float16" else 2.0**-8
        sums = 2.0**-22 * numpy.sqrt(k) * (abs(a.astype("d")) @ abs(b.astype("d")))
        assert (abs(got - want) <= unit * abs(want) + sums).all()


# NaN, Inf and what was in memory before


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("old", [numpy.nan, numpy.inf])
def test_old_contents_of_out_do_not_matter(device, name, old):
    rng = numpy.random.default_rng(6)
    a, b = cupy.asarray(exact(rng, (33, 17), name)), cupy.asarray(exact(rng, (17, 29), name))
    out = cupy.full((33, 29), old, of(name))
    cupygemm.matmul(a, b, out=out)
    numpy.testing.assert_array_equal(out.get().astype("d"), a.get().astype("d") @ b.get().astype("d"))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, -numpy.inf])
def test_a_special_value_reaches_its_row_and_nothing_else(device, name, value):
    """In the last valid element of K, beside a K tail, with NaN all around the operands."""
    rng = numpy.random.default_rng(7)
    m, n, k = 35, 21, 19
    frames = [cupy.full((60, 60), numpy.nan, of(name)) for _ in range(2)]
    a, b = frames[0][9 : 9 + m, 7 : 7 + k], frames[1][3 : 3 + k, 11 : 11 + n]
    a[...] = cupy.asarray(exact(rng, (m, k), name))
    b[...] = cupy.asarray(numpy.ones((k, n), of(name)))
    a[4, k - 1] = value
    got = cupygemm.matmul(a, b).get().astype("d")
    numpy.testing.assert_array_equal(got[4], numpy.full(n, value))
    assert numpy.isfinite(numpy.delete(got, 4, 0)).all()


# Strides, views, aliasing, broadcasting


@pytest.mark.parametrize("name", TYPES)
def test_overlapping_strides(device, name):
    flat = cupy.asarray(exact(numpy.random.default_rng(8), (20,), name))
    size = flat.itemsize
    x = cupy.lib.stride_tricks.as_strided(flat, (2, 2, 2), (3 * size, size, size))
    check(x, x)


@pytest.mark.parametrize("name", TYPES)
def test_batches_that_are_not_contiguous(device, name):
    rng = numpy.random.default_rng(9)
    x, y = (cupy.asarray(exact(rng, (6, 8, 10, 12), name)) for _ in range(2))
    check(x[::2, 1:7:3], y[1::2, ::-5].swapaxes(-1, -2))
    check(x[:, :, ::-1, ::-1], y[::-1].swapaxes(-1, -2))
    check(x[2:3], y.transpose(0, 1, 3, 2))
    check(x.transpose(2, 0, 1, 3), y.transpose(2, 0, 3, 1))


@pytest.mark.parametrize("size", [(130, 130), (2, 65, 65)])
def test_out_is_an_operand(device, size):
    rng = numpy.random.default_rng(10)
    for types in ("f", "i", "d"):
        a = cupy.asarray(rng.integers(-2, 3, size).astype(types))
        want = numpy.matmul(a.get(), a.get())
        assert cupygemm.matmul(a, a, out=a) is a
        numpy.testing.assert_array_equal(a.get(), want)


@pytest.mark.parametrize("name", TYPES)
def test_rows_longer_than_k_and_an_address_off_by_three(device, name):
    rng = numpy.random.default_rng(11)
    big = cupy.asarray(exact(rng, (70, 90), name))
    for k in (16, 33, 64):
        check(big[:, 3 : 3 + k], cupy.asarray(exact(rng, (k, 40), name)))
        check(cupy.asarray(exact(rng, (40, k), name)), big[3 : 3 + k, 3:50])


@pytest.mark.parametrize("name", TYPES)
def test_an_address_off_by_one_element(device, name):
    rng = numpy.random.default_rng(12)
    for shape in ((64, 64), (48, 80)):
        flats = [cupy.asarray(exact(rng, (1 + shape[0] * shape[1],), name)) for _ in range(2)]
        a, b = flats[0][1:].reshape(shape), flats[1][1:].reshape(shape[::-1])
        out = cupy.empty(1 + shape[0] ** 2, a.dtype)[1:].reshape(shape[0], shape[0])
        check(a, b, out)


def test_a_broadcast_row_loses_no_digits(device):
    rng = numpy.random.default_rng(13)
    row, b = rng.standard_normal(200).astype("f"), rng.standard_normal((200, 40)).astype("f")
    a = cupy.broadcast_to(cupy.asarray(row), (30, 200))
    got = cupygemm.matmul(a, cupy.asarray(b)).get()
    assert_close(got, numpy.broadcast_to(row, (30, 200)), b)
    assert (got == got[0]).all()


def test_conjugated_and_transposed_batches_with_k_of_one(device):
    rng = numpy.random.default_rng(14)
    a = (rng.integers(-3, 4, (4, 1, 5)) + 1j * rng.integers(-3, 4, (4, 1, 5))).astype("F")
    x = cupy.asarray(a)
    got = cupygemm.matmul(x.conj().swapaxes(-1, -2), x)
    numpy.testing.assert_array_equal(got.get(), numpy.matmul(a.conj().swapaxes(-1, -2), a))


# Ends of allocations, sizes beyond 32 bits, sizes of 0


@pytest.fixture
def own_allocations(device):
    """Every array in an allocation of its own, which on the emulated GPU ends at a page that nobody may touch."""
    with cupy.cuda.using_allocator(_plain_allocation):
        yield


def _plain_allocation(size: int) -> cupy.cuda.MemoryPointer:
    return cupy.cuda.MemoryPointer(cupy.cuda.memory.Memory(size), 0)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("layout", ["rr", "rc", "cr", "cc"])
def test_operands_at_the_very_end_of_their_allocation(own_allocations, name, layout):
    rng = numpy.random.default_rng(15)

    def at_the_end(x: numpy.ndarray, order: str) -> cupy.ndarray:
        stored = numpy.ascontiguousarray(x if order == "r" else x.T)
        pages = -(-x.nbytes // 4096) * 4096
        flat = cupy.zeros(pages, numpy.uint8)
        placed = flat[pages - x.nbytes :].view(x.dtype).reshape(stored.shape)
        placed[...] = cupy.asarray(stored)
        return placed if order == "r" else placed.T

    for m, n, k in ((65, 33, 17), (64, 64, 64), (3, 130, 7), (63, 1, 31)):
        a, b = exact(rng, (m, k), name), exact(rng, (k, n), name)
        check(at_the_end(a, layout[0]), at_the_end(b, layout[1]), at_the_end(numpy.zeros((m, n), of(name)), "r"))


@pytest.mark.parametrize("name", TYPES)
def test_nothing_is_written_around_the_result(device, name):
    rng = numpy.random.default_rng(16)
    for m, n in ((33, 65), (64, 64), (1, 100), (100, 1)):
        frame = cupy.full((140, 140), 77, of(name))
        a, b = cupy.asarray(exact(rng, (m, 40), name)), cupy.asarray(exact(rng, (40, n), name))
        check(a, b, frame[16 : 16 + m, 16 : 16 + n])
        around = frame.get()
        around[16 : 16 + m, 16 : 16 + n] = 77
        assert (around == 77).all()


@pytest.mark.parametrize("name", TYPES)
def test_k_of_zero_gives_zeros(device, name):
    out = cupy.full((3, 4), 9, of(name))
    cupygemm.matmul(cupy.zeros((3, 0), of(name)), cupy.zeros((0, 4), of(name)), out=out)
    assert (out.get() == 0).all()
    assert (cupygemm.matmul(cupy.zeros((2, 3, 0), "d"), cupy.zeros((0, 4), "d")).get() == 0).all()


GIB = 2**30


@pytest.fixture
def sparse(device):
    """An allocation of 12 GiB of which next to nothing is touched."""
    free, _ = cupy.cuda.runtime.memGetInfo()
    if free < 13 * GIB:
        pytest.skip(f"{free / GIB:.0f} GiB of device memory free, 12 wanted")
    memory = cupy.cuda.MemoryPointer(cupy.cuda.memory.Memory(12 * GIB), 0)
    return lambda shape, strides, offset=0: cupy.ndarray(shape, numpy.float32, memory + offset, strides=strides)


@pytest.mark.parametrize("where", ["a", "b", "out"])
@pytest.mark.parametrize("gap", ["rows", "columns", "batch"])
def test_operands_that_span_more_than_4_gib(sparse, where, gap):
    """Rows, columns or matrices so far apart that byte offsets, and element offsets too, need more than 32 bits."""
    rng = numpy.random.default_rng(17)
    batch = 2 if gap == "batch" else 1
    x, y = integers(rng, batch, 33, 20), integers(rng, batch, 20, 17)
    shape = {"a": x.shape, "b": y.shape, "out": (batch, 33, 17)}[where]
    far = {"rows": shape[1], "columns": shape[2], "batch": shape[0]}[gap]
    # The last one ends just below 12 GiB.
    step = (12 * GIB - 2**20) // (far - (far > 1)) // 64 * 64 if far > 1 else 0
    strides = {"rows": (4096, step, 4), "columns": (4096, 4, step), "batch": (step, 4 * shape[2], 4)}[gap]
    huge = sparse(shape, strides)
    operands = {"a": cupy.asarray(x), "b": cupy.asarray(y), "out": cupy.empty((batch, 33, 17), "f")}
    if where != "out":
        huge[...] = operands[where]
    operands[where] = huge
    operands["out"].fill(numpy.nan)
    cupygemm.matmul(operands["a"], operands["b"], out=operands["out"])
    numpy.testing.assert_array_equal(operands["out"].get(), x @ y)


def test_more_than_2_to_the_31_elements(sparse):
    """A contiguous operand of 3 * 2^30 elements, of which the rows used are the first and the last."""
    k = 16
    rows = 12 * GIB // (4 * k)
    a = sparse((rows, k), (4 * k, 4))
    b = cupy.asarray(integers(numpy.random.default_rng(18), k, 5))
    a[-300:] = cupy.asarray(integers(numpy.random.default_rng(19), 300, k))
    tail = a[-300:]
    numpy.testing.assert_array_equal(cupygemm.matmul(tail, b).get(), tail.get() @ b.get())
    every = a[:: (rows - 1) // 3]
    assert every.strides[0] > 2**31
    numpy.testing.assert_array_equal(cupygemm.matmul(every, b).get(), every.get() @ b.get())
    numpy.testing.assert_array_equal(cupygemm.matmul(b.T, every.T).get(), b.get().T @ every.get().T)


@pytest.mark.parametrize("count", [65_537, pytest.param(2**24 + 3, marks=pytest.mark.skipif(
    not REAL_GPU, reason="16 million blocks take an emulated GPU minutes"))])  # fmt: skip
def test_batches_beyond_the_limits_of_the_grid(device, count):
    a = numpy.arange(2 * count, dtype=numpy.float32).reshape(count, 1, 2) % 11
    b = numpy.arange(2 * count, dtype=numpy.float32).reshape(count, 2, 1) % 7
    got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get()
    numpy.testing.assert_array_equal(got, a @ b)


# Architectures, first call, determinism


def test_an_arch_that_nobody_lists_is_named():
    assert amd_arch("gfx1036:xnack-").name == "gfx1036"
    with pytest.raises(ValueError, match="sm_90"):
        amd_arch("sm_90")


def test_a_type_without_kernels_is_named_with_the_arch(device):
    text = cupygemm.explain(cupy.zeros((4, 4), "F"), cupy.zeros((4, 4), "F"))
    assert text.kernel == "cupy.matmul"
    assert "complex64" in text.why
    assert text.arch in text.why
    assert text.arch in str(text)


@pytest.mark.parametrize("name", FLOATS)
def test_a_row_does_not_depend_on_its_neighbours_under_batch_invariance(device, name):
    rng = numpy.random.default_rng(20)
    a, b = (cupy.asarray(rng.standard_normal(shape).astype(of(name))) for shape in ((150, 700), (700, 40)))
    with config(batch_invariant=True):
        whole = cupygemm.matmul(a, b).get()
        for rows in (slice(7, 8), slice(0, 3), slice(20, 37), slice(1, 130)):
            part = cupygemm.matmul(a[rows], b).get()
            assert part.tobytes() == whole[rows].tobytes(), rows
        assert cupygemm.matmul(a[5], b).get().tobytes() == whole[5].tobytes()


@pytest.mark.parametrize("name", TYPES)
def test_batched_products_of_every_type(device, name):
    rng = numpy.random.default_rng(21)
    a, b = cupy.asarray(exact(rng, (3, 2, 40, 24), name)), cupy.asarray(exact(rng, (2, 24, 31), name))
    got = cupygemm.matmul(a, b)
    assert got.dtype == a.dtype
    check(a, b)


def test_decisions_are_logged_once(device, caplog):
    shape = (41, 43)
    with caplog.at_level(logging.INFO, "cupygemm"):
        for _ in range(3):
            cupygemm.matmul(cupy.zeros(shape, "f"), cupy.zeros(shape[::-1], "f"))
    lines = [r.getMessage() for r in caplog.records if "(41, 43)" in r.getMessage()]
    assert len(lines) == 1
    assert "cupygemm_f32" in lines[0]


def test_explain_gives_a_line_that_replays_the_case(device):
    a, b = cupy.zeros((30, 50), "f"), cupy.zeros((20, 50), "f").T
    text = cupygemm.explain(a, b)
    assert text.replay == "python benchmarks/matmul.py --shape 30x20x50 --layout rc --dtype float32"
    assert text.replay in str(text)
    batched = cupygemm.explain(cupy.zeros((4, 30, 50), "f"), cupy.zeros((4, 20, 50), "f").swapaxes(1, 2))
    assert "--shape '4x(30x20x50)' --layout rc" in batched.replay
    assert cupygemm.explain(a, cupy.zeros((4, 50, 20), "f")).replay is None
