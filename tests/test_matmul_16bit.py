"""matmul in FP16, BF16 and INT8: exact on integers, close to float64 on random data, in every layout, at every edge."""

from __future__ import annotations

import cupy
import ml_dtypes
import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cupygemm
from cupygemm import chosen, ladder
from cupygemm._options import config
from cupygemm.plan import current_device
from cupygemm.problem import Types
from cupygemm.tiles import candidates
from tests.conftest import FULL
from tests.products import assert_close_16bit, place

F16, BF16 = numpy.dtype(numpy.float16), numpy.dtype(ml_dtypes.bfloat16)
DTYPES = (F16, BF16)
LAYOUTS = ("row-row", "row-col", "col-row", "col-col")
ALIGNED = (256, 320, 192)
RAGGED = (277, 301, 147)


@pytest.fixture
def wmma(device):
    """The architecture of the current device, if it has WMMA."""
    arch = current_device(cupy.cuda.runtime.getDevice()).arch
    if arch.family not in ("rdna3", "rdna4"):
        pytest.skip(f"{arch.name} has no WMMA")
    return arch


def signs(rng: numpy.random.Generator, dtype: numpy.dtype, *shape: int) -> numpy.ndarray:
    """-1, 0 and 1: sums of a few thousand are exact in FP16, of 256 in BF16."""
    return rng.integers(-1, 2, shape).astype(dtype)


def exact(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    """a @ b in the operands' type, by way of exact FP32 sums."""
    return (a.astype(numpy.float32) @ b.astype(numpy.float32)).astype(a.dtype)


def multiply(a: numpy.ndarray, b: numpy.ndarray, layout: str = "row-row") -> numpy.ndarray:
    """cupygemm's product of two NumPy arrays; unwritten elements of the result would be NaN."""
    first, second = layout.split("-")
    out = cupy.full((a.shape[-2], b.shape[-1]), numpy.nan, a.dtype)
    assert cupygemm.matmul(place(a, first), place(b, second), out=out) is out
    return out.get()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_small_sizes(device, dtype):
    rng = numpy.random.default_rng(1)
    step = 1 if FULL else 3
    for m in range(1, 18):
        for n in range(1 + m % step, 18, step):
            for k in range(1 + (m + n) % 7, 18, 1 if FULL else 7):
                a, b = signs(rng, dtype, m, k), signs(rng, dtype, k, n)
                # Layouts are much the same in both types; each is a set of kernels to compile.
                layout = LAYOUTS[(m + n + k) % 4 if FULL else 0 if dtype == F16 else 3]
                numpy.testing.assert_array_equal(multiply(a, b, layout), exact(a, b), err_msg=f"{m} {n} {k} {layout}")


EDGES = (1, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [8, 63, 200])
def test_ragged_around_tile_edges(device, layout, k):
    rng = numpy.random.default_rng(k)
    for m, n in zip(EDGES, reversed(EDGES), strict=True):
        a, b = signs(rng, F16, m, k), signs(rng, F16, k, n)
        numpy.testing.assert_array_equal(multiply(a, b, layout), exact(a, b), err_msg=f"{m} x {n}")


@pytest.mark.parametrize("layout", LAYOUTS if FULL else LAYOUTS[:2])
@pytest.mark.parametrize("shape", [RAGGED, ALIGNED][: 1 + FULL], ids=["ragged", "aligned"][: 1 + FULL])
def test_every_tile_of_the_table(wmma, layout, shape):
    """The dispatcher gives small products small tiles; here each tile computes a product of several blocks."""
    rng = numpy.random.default_rng(3)
    m, n, k = shape
    a, b = signs(rng, F16, m, k), signs(rng, F16, k, n)
    first, second = layout.split("-")
    x, y, c = place(a, first), place(b, second), cupy.empty((m, n), F16)
    types = Types("f16", "f32", "f16")
    for candidate in candidates(wmma, types)[LAYOUTS.index(layout) % 2 :: 2]:  # half of them, to compile less
        c.fill(numpy.nan)
        chosen.run(ladder.decision(candidate.tile, chosen.matrix_problem(x, y, c, types)), x, y, c)
        numpy.testing.assert_array_equal(c.get(), exact(a, b), err_msg=candidate.tile.name)


@pytest.mark.parametrize("operand", ["f16", "bf16"])
@pytest.mark.parametrize(("accumulate", "result"), [("f32", "f32"), ("f32", "same"), ("same", "same"), ("same", "f32")])
def test_every_combination_of_types(wmma, operand, accumulate, result):
    rng = numpy.random.default_rng(4)
    dtypes = {"f16": F16, "bf16": BF16, "f32": numpy.dtype(numpy.float32)}
    types = Types(operand, *(operand if t == "same" else t for t in (accumulate, result)))
    a, b = signs(rng, dtypes[operand], 100, 136), signs(rng, dtypes[operand], 136, 120)
    x, y, c = cupy.asarray(a), cupy.asarray(b), cupy.full((100, 120), numpy.nan, dtypes[types.result])
    tile = candidates(wmma, types)[0].tile
    chosen.run(ladder.decision(tile, chosen.matrix_problem(x, y, c, types)), x, y, c)
    numpy.testing.assert_array_equal(c.get(), exact(a, b).astype(c.dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_against_float64(device, dtype, layout):
    rng = numpy.random.default_rng(5)
    for m, n, k in ((150, 200, 300), (64, 96, 1000), (33, 1, 77)):
        a, b = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n)))
        assert_close_16bit(multiply(a, b, layout), a, b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sums_are_fp32(device, dtype):
    """In FP16 a sum of ones stops at 2048, in BF16 at 256."""
    a, b = numpy.ones((3, 8192), dtype), numpy.ones((8192, 5), dtype)
    assert (multiply(a, b).astype(numpy.float64) == 8192).all()
    alternating = (a[0] * 100 * (-1) ** numpy.arange(8192)).astype(dtype)[None]
    assert (multiply(alternating, b) == 0).all()


def test_fp16_sums_when_asked_for(wmma):
    a, b = numpy.ones((3, 8192), F16), numpy.ones((8192, 5), F16)
    with config(accumulate="float16"):
        assert "accf16" in cupygemm.explain(cupy.asarray(a), cupy.asarray(b)).kernel
        assert multiply(a[:, :1000], b[:1000]).max() == 1000
        got = cupy.empty((3, 5), F16)
        x, y, types = cupy.asarray(a), cupy.asarray(b), Types("f16", "f16", "f16")
        tile = candidates(wmma, types)[0].tile
        chosen.run(ladder.decision(tile, chosen.matrix_problem(x, y, got, types)), x, y, got)
    # Each instruction adds 16 ones at a time: beyond 2048 the spacing is 2, and beyond 16384 it is 16.
    assert (got.get() == 8192).all() or got.get().max() < 8192


def test_split_k_is_exact_and_repeatable(wmma):
    rng = numpy.random.default_rng(6)
    a, b = signs(rng, F16, 16, 4096), signs(rng, F16, 4096, 80)
    x, y = cupy.asarray(a), cupy.asarray(b)
    assert "slices of K" in cupygemm.explain(x, y).why
    first = cupygemm.matmul(x, y).get()
    numpy.testing.assert_array_equal(first, exact(a, b))
    noise = cupy.asarray(rng.standard_normal((16, 4096)).astype(F16))
    once = cupygemm.matmul(noise, y).get()
    for _ in range(3):
        numpy.testing.assert_array_equal(cupygemm.matmul(noise, y).get(), once)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_views_are_read_where_they_lie(device, dtype):
    rng = numpy.random.default_rng(7)
    base = signs(rng, dtype, 90, 140)
    on_gpu = cupy.asarray(base)
    views = [
        (lambda x: x[3:83, 5:75], lambda x: x[1:71, 7:130]),
        (lambda x: x[::2, :70], lambda x: x[:70, ::3]),
        (lambda x: x[::-1, 10:80], lambda x: x[79:9:-1, ::-1]),
        (lambda x: x[:, ::2].T, lambda x: x[:, 1::2]),
        (lambda x: x[5:6, :20], lambda x: x[:20, 9:10]),
        (lambda x: x[:70, 8:16], lambda x: x[16:24, :136]),
    ]
    for first, second in views:
        numpy.testing.assert_array_equal(
            cupygemm.matmul(first(on_gpu), second(on_gpu)).get(), exact(first(base), second(base))
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_batches_and_broadcasting(device, dtype):
    rng = numpy.random.default_rng(8)
    for left, right in (
        ((3, 40, 24), (3, 24, 33)),
        ((3, 40, 24), (24, 33)),
        ((40, 24), (3, 24, 33)),
        ((2, 1, 3, 7), (1, 4, 7, 5)),
        ((2, 3, 4, 1, 7), (2, 1, 4, 7, 2)),
    ):
        a, b = signs(rng, dtype, *left), signs(rng, dtype, *right)
        numpy.testing.assert_array_equal(cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get(), exact(a, b))
    vector = cupygemm.matmul(cupy.asarray(a[0, 0, 0, 0]), cupy.asarray(b[0, 0, 0, :, 0]))
    assert vector.dtype == dtype
    assert vector.shape == ()


def test_base_pointers_off_by_one_element(device):
    flat = signs(numpy.random.default_rng(9), F16, 1 + 96 * 96)
    x, y = cupy.asarray(flat)[1:].reshape(96, 96), flat[1:].reshape(96, 96)
    numpy.testing.assert_array_equal(cupygemm.matmul(x, x.T).get(), exact(y, y.T))


@pytest.mark.parametrize("which", ["column-major", "sliced", "strided"])
def test_out_of_any_layout(device, which):
    rng = numpy.random.default_rng(10)
    a, b = signs(rng, F16, 37, 20), signs(rng, F16, 20, 41)
    frame = cupy.full((100, 120), 77, F16)
    out = {"column-major": frame[:41, :37].T, "sliced": frame[10:47, 20:61], "strided": frame[:74:2, :82:2]}[which]
    assert cupygemm.matmul(cupy.asarray(a), cupy.asarray(b), out=out) is out
    numpy.testing.assert_array_equal(out.get(), exact(a, b))
    out.fill(77)
    assert (frame.get() == 77).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_out_of_float32(device, dtype):
    a, b = (signs(numpy.random.default_rng(i), dtype, 30, 30) for i in (11, 12))
    out = cupy.empty((30, 30), numpy.float32)
    cupygemm.matmul(cupy.asarray(a), cupy.asarray(b), out=out)
    numpy.testing.assert_array_equal(out.get(), exact(a, b).astype(numpy.float32))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nan_and_inf_stay_in_their_row_and_column(device, dtype):
    rng = numpy.random.default_rng(13)
    a, b = abs(signs(rng, dtype, 80, 77)) + dtype.type(1), abs(signs(rng, dtype, 77, 90)) + dtype.type(1)
    a[3, 76], b[76, 7] = numpy.inf, numpy.nan
    with numpy.errstate(invalid="ignore"):
        want = exact(a, b)
    got = multiply(a, b)
    numpy.testing.assert_array_equal(got.astype(numpy.float32), want.astype(numpy.float32))
    assert numpy.isinf(got[3].astype(numpy.float32)).sum() == 89


def test_padding_never_reaches_the_result(device):
    """Poison around the operands: whatever a tile reads past them must not count."""
    rng = numpy.random.default_rng(14)
    for m, n, k in ((70, 72, 24), (5, 6, 7), (128, 64, 72)):
        frame_a, frame_b = cupy.full((m + 16, k + 16), numpy.nan, F16), cupy.full((k + 16, n + 16), numpy.inf, F16)
        a, b = signs(rng, F16, m, k), signs(rng, F16, k, n)
        frame_a[8:-8, 8:-8], frame_b[8:-8, 8:-8] = cupy.asarray(a), cupy.asarray(b)
        got = cupygemm.matmul(frame_a[8:-8, 8:-8], frame_b[8:-8, 8:-8])
        numpy.testing.assert_array_equal(got.get(), exact(a, b))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_results_round_to_nearest_even(device, dtype):
    """One product an element, so that the only rounding is that of the result."""
    rng = numpy.random.default_rng(15)
    a, b = (rng.standard_normal((s, 1)).astype(dtype) for s in (64, 72))
    numpy.testing.assert_array_equal(multiply(a, b.T), exact(a, b.T))


def test_fp16_overflow_and_subnormals(device):
    big = numpy.full((8, 8), 60000, F16)
    assert numpy.isinf(multiply(big, big)).all()
    tiny = numpy.full((16, 16), 2.0**-20, F16)
    numpy.testing.assert_array_equal(multiply(tiny, numpy.eye(16, dtype=F16)), tiny)


def test_int8_wraps_as_numpy_does(device):
    rng = numpy.random.default_rng(16)
    for m, n, k in ((64, 64, 64), (70, 33, 100), (5, 7, 3), (130, 140, 272), (16, 16, 31)):
        a, b = rng.integers(-128, 128, (m, k), numpy.int8), rng.integers(-128, 128, (k, n), numpy.int8)
        want = (a.astype(numpy.int64) @ b.astype(numpy.int64)).astype(numpy.int8)
        for layout in LAYOUTS:
            first, second = layout.split("-")
            got = cupygemm.matmul(place(a, first), place(b, second)).get()
            numpy.testing.assert_array_equal(got, want, err_msg=f"{m} x {n} x {k} {layout}")


def test_int8_to_int32(wmma):
    rng = numpy.random.default_rng(17)
    a, b = rng.integers(-128, 128, (100, 144), numpy.int8), rng.integers(-128, 128, (144, 96), numpy.int8)
    x, y, c = cupy.asarray(a), cupy.asarray(b), cupy.empty((100, 96), numpy.int32)
    types = Types("i8", "i32", "i32")
    for candidate in candidates(wmma, types):
        c.fill(-1)
        chosen.run(ladder.decision(candidate.tile, chosen.matrix_problem(x, y, c, types)), x, y, c)
        numpy.testing.assert_array_equal(c.get(), a.astype(numpy.int32) @ b.astype(numpy.int32))


def test_explain_names_the_kernel(wmma):
    for dtype, name in ((F16, "cupygemm_f16_"), (BF16, "cupygemm_bf16_")):
        x = cupy.zeros((512, 512), dtype)
        text = cupygemm.explain(x, x)
        assert text.kernel.startswith(name)
        assert "_wmma_" in text.kernel
        assert "WMMA" in str(text)
        assert "128-bit loads" in str(text)


@settings(max_examples=25 if FULL else 6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_strides(device, data):
    """Any slice of any permutation of a block of memory is a valid operand."""

    def operand(rows: int, columns: int) -> tuple[cupy.ndarray, numpy.ndarray]:
        steps = [data.draw(st.sampled_from([1, 2, -1])) for _ in range(2)]
        starts = [data.draw(st.integers(0, 3)) for _ in range(2)]
        extents = [abs(s) * n + start for s, n, start in zip(steps, (rows, columns), starts, strict=True)]
        flip = data.draw(st.booleans())
        block = (numpy.arange(extents[0] * extents[1]) % 3 - 1).astype(F16).reshape(extents[::-1] if flip else extents)

        def view(x):
            return (x.T if flip else x)[starts[0] :, starts[1] :][:: steps[0], :: steps[1]][:rows, :columns]

        return view(cupy.asarray(block)), view(block)

    m, n, k = (data.draw(st.integers(1, 150)) for _ in range(3))
    (x, a), (y, b) = operand(m, k), operand(k, n)
    numpy.testing.assert_array_equal(cupygemm.matmul(x, y).get(), exact(a, b))
