"""matmul in FP32: exact on integers, close to float64 on random data, in every layout and at every edge."""

from __future__ import annotations

import itertools

import cupy
import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cupygemm
from tests.conftest import FULL
from tests.products import assert_close, integers, place

LAYOUTS = ("row-row", "row-col", "col-row", "col-col")


def multiply(a: numpy.ndarray, b: numpy.ndarray, layout: str = "row-row") -> numpy.ndarray:
    """cupygemm's product of two NumPy arrays; unwritten elements of the result would be NaN."""
    first, second = layout.split("-")
    shape = numpy.matmul(a, b).shape
    out = cupy.full(shape, numpy.nan, numpy.float32)
    got = cupygemm.matmul(place(a, first), place(b, second), out=out)
    assert got is out
    return got.get()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_small_sizes(device, layout):
    rng = numpy.random.default_rng(1)
    step = 1 if FULL else 4
    for m in range(1, 18):
        for n in range(1, 18, step):
            for k in range(1, 18, step):
                a, b = integers(rng, m, k), integers(rng, k, n)
                numpy.testing.assert_array_equal(multiply(a, b, layout), a @ b, err_msg=f"{m} x {n} x {k}")


EDGES = (1, 31, 32, 33, 63, 64, 65, 127, 128, 129)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [1, 15, 16, 17, 31, 32, 33, 100])
def test_ragged_around_tile_edges(device, layout, k):
    rng = numpy.random.default_rng(k)
    pairs = itertools.product(EDGES, EDGES) if FULL else zip(EDGES, reversed(EDGES), strict=True)
    for m, n in pairs:
        a, b = integers(rng, m, k), integers(rng, k, n)
        numpy.testing.assert_array_equal(multiply(a, b, layout), a @ b, err_msg=f"{m} x {n}")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("m", "n", "k"), [(256, 256, 256), (257, 300, 100), (130, 1000, 48), (1000, 130, 52)])
def test_random_against_float64(device, layout, m, n, k):
    rng = numpy.random.default_rng(m)
    a, b = rng.standard_normal((m, k), numpy.float32), rng.standard_normal((k, n), numpy.float32)
    assert_close(multiply(a, b, layout), a, b)


def test_positive_data_and_long_k(device):
    rng = numpy.random.default_rng(5)
    a, b = rng.random((33, 5000), numpy.float32), rng.random((5000, 34), numpy.float32)
    assert_close(multiply(a, b), a, b)


def test_identity_gives_the_matrix_back(device):
    a = numpy.random.default_rng(2).standard_normal((150, 150), numpy.float32)
    eye = numpy.eye(150, dtype=numpy.float32)
    numpy.testing.assert_array_equal(multiply(a, eye), a)
    numpy.testing.assert_array_equal(multiply(eye, a), a)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((7,), (7,)),
        ((7,), (7, 5)),
        ((3, 7), (7,)),
        ((2, 3, 7), (7,)),
        ((7,), (2, 7, 5)),
        ((4, 3, 7), (7, 5)),
        ((3, 7), (4, 7, 5)),
        ((4, 3, 7), (4, 7, 5)),
        ((2, 1, 3, 7), (1, 4, 7, 5)),
        ((1, 3, 3), (10, 1, 3, 1)),
        ((2, 3, 4, 1, 7), (2, 1, 4, 7, 2)),
    ],
)
def test_dimensions_and_broadcasting(device, left, right):
    rng = numpy.random.default_rng(3)
    a, b = integers(rng, *left), integers(rng, *right)
    got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b))
    want = numpy.matmul(a, b)
    assert got.shape == want.shape
    assert got.dtype == numpy.float32
    numpy.testing.assert_array_equal(got.get(), want)


@pytest.mark.parametrize(
    ("left", "right"),
    [((0, 3), (3, 4)), ((3, 0), (0, 4)), ((3, 4), (4, 0)), ((0,), (0,)), ((0, 3, 4), (4, 5)), ((2, 3, 0), (2, 0, 4))],
)
def test_zero_sizes(device, left, right):
    a, b = numpy.ones(left, numpy.float32), numpy.ones(right, numpy.float32)
    numpy.testing.assert_array_equal(multiply(a, b), numpy.matmul(a, b))


def test_views_are_read_where_they_lie(device):
    rng = numpy.random.default_rng(4)
    base = integers(rng, 40, 60)
    on_gpu = cupy.asarray(base)
    views = [
        (lambda x: x[3:20, 5:25], lambda x: x[1:21, 7:30]),
        (lambda x: x[::2, :20], lambda x: x[:20, ::3]),
        (lambda x: x[::-1, 10:30], lambda x: x[30:10:-1, ::-1]),
        (lambda x: x[:, ::2].T[:20], lambda x: x[:, 1::2]),
        (lambda x: x[5:6, :20], lambda x: x[:20, 9:10]),
    ]
    for first, second in views:
        got = cupygemm.matmul(first(on_gpu), second(on_gpu))
        numpy.testing.assert_array_equal(got.get(), first(base) @ second(base))


def test_broadcast_and_overlapping_views(device):
    row = cupy.arange(8, dtype=numpy.float32)
    wide = cupy.broadcast_to(row, (5, 8))
    numpy.testing.assert_array_equal(cupygemm.matmul(wide, wide.T).get(), wide.get() @ wide.get().T)
    x = cupy.lib.stride_tricks.as_strided(cupy.arange(20, dtype=numpy.float32), (2, 2, 2), (12, 4, 4))
    numpy.testing.assert_array_equal(cupygemm.matmul(x, x).get(), numpy.matmul(x.get(), x.get()))


def test_base_pointers_off_by_one_element(device):
    rng = numpy.random.default_rng(6)
    flat = integers(rng, 1 + 64 * 64)
    x = cupy.asarray(flat)[1:].reshape(64, 64)
    y = flat[1:].reshape(64, 64)
    numpy.testing.assert_array_equal(cupygemm.matmul(x, x).get(), y @ y)


@pytest.mark.parametrize("which", ["column-major", "sliced", "strided", "negative"])
def test_out_of_any_layout(device, which):
    rng = numpy.random.default_rng(7)
    a, b = integers(rng, 37, 20), integers(rng, 20, 41)
    frame = cupy.full((100, 120), 77, numpy.float32)
    out = {
        "column-major": frame[:41, :37].T,
        "sliced": frame[10:47, 20:61],
        "strided": frame[:74:2, :82:2],
        "negative": frame[40:3:-1, 60:19:-1],
    }[which]
    mask = cupy.zeros((100, 120), bool)
    shadow = cupy.lib.stride_tricks.as_strided(
        mask.ravel()[(out.data.ptr - frame.data.ptr) // 4 :], out.shape, tuple(s // 4 for s in out.strides)
    )
    assert cupygemm.matmul(cupy.asarray(a), cupy.asarray(b), out=out) is out
    numpy.testing.assert_array_equal(out.get(), a @ b)
    shadow[...] = True
    assert (frame.get()[~mask.get()] == 77).all()


def test_out_that_overlaps_an_operand(device):
    rng = numpy.random.default_rng(8)
    a = integers(rng, 70, 70)
    x = cupy.asarray(a)
    assert cupygemm.matmul(x, x, out=x) is x
    numpy.testing.assert_array_equal(x.get(), a @ a)
    flat = cupy.asarray(integers(rng, 2 * 64 * 64 - 5))
    first, second = flat[: 64 * 64].reshape(64, 64), flat[64 * 64 - 5 :].reshape(64, 64)
    want = first.get() @ first.get()
    cupygemm.matmul(first, first, out=second)
    numpy.testing.assert_array_equal(second.get(), want)


def test_nan_and_inf_stay_in_their_row_and_column(device):
    rng = numpy.random.default_rng(9)
    a, b = integers(rng, 40, 37) + 10, integers(rng, 37, 50) + 10
    a[3, 36] = numpy.inf
    b[36, 7] = numpy.nan
    with numpy.errstate(invalid="ignore"):
        want = a @ b
    got = multiply(a, b)
    numpy.testing.assert_array_equal(got, want)
    assert numpy.isinf(got[3]).sum() == 49
    assert numpy.isnan(got[:, 7]).all()


def test_padding_never_reaches_the_result(device):
    """Poison around the operands: whatever a tile reads past them must not count."""
    rng = numpy.random.default_rng(10)
    for m, n, k in ((33, 35, 17), (5, 6, 7), (64, 64, 20)):
        frame_a = cupy.full((m + 8, k + 8), numpy.nan, numpy.float32)
        frame_b = cupy.full((k + 8, n + 8), numpy.inf, numpy.float32)
        a, b = integers(rng, m, k), integers(rng, k, n)
        frame_a[4:-4, 4:-4], frame_b[4:-4, 4:-4] = cupy.asarray(a), cupy.asarray(b)
        got = cupygemm.matmul(frame_a[4:-4, 4:-4], frame_b[4:-4, 4:-4])
        numpy.testing.assert_array_equal(got.get(), a @ b)


def test_denormals_are_kept(device):
    tiny = numpy.full((32, 32), 2.0**-140, numpy.float32)
    got = multiply(tiny, numpy.eye(32, dtype=numpy.float32))
    numpy.testing.assert_array_equal(got, tiny)


def test_the_same_bits_on_every_run(device):
    rng = numpy.random.default_rng(11)
    a, b = (cupy.asarray(rng.standard_normal((190, 190), numpy.float32)) for _ in range(2))
    first = cupygemm.matmul(a, b).get()
    for _ in range(5):
        numpy.testing.assert_array_equal(cupygemm.matmul(a, b).get(), first)


def test_other_dtypes_go_to_cupy(device):
    a = cupy.arange(12).astype(numpy.complex64).reshape(3, 4)
    numpy.testing.assert_array_equal(cupygemm.matmul(a, a.T).get(), a.get() @ a.get().T)
    assert cupygemm.explain(a, a.T).is_fallback
    assert "complex64" in cupygemm.explain(a, a.T).why


@pytest.mark.parametrize(
    ("left", "right"), [((3, 4), (3, 4)), ((4,), (3,)), ((2, 3, 4), (3, 4, 5)), ((4,), (3, 5)), ((0, 1, 1), (2, 1, 1))]
)
def test_shapes_that_do_not_match(device, left, right):
    with pytest.raises(ValueError, match=r"aligned|broadcast"):
        cupygemm.matmul(cupy.zeros(left, numpy.float32), cupy.zeros(right, numpy.float32))


def test_wrong_operands(device):
    x = cupy.zeros((3, 3), numpy.float32)
    with pytest.raises(ValueError, match="Scalar operands are not allowed"):
        cupygemm.matmul(cupy.float32(2) * cupy.ones((), numpy.float32), x)
    with pytest.raises(TypeError, match=r"cupy\.asarray"):
        cupygemm.matmul(numpy.zeros((3, 3), numpy.float32), x)
    with pytest.raises(ValueError, match="invalid size"):
        cupygemm.matmul(x, x, out=cupy.zeros((3, 4), numpy.float32))
    with pytest.raises(TypeError, match="out"):
        cupygemm.matmul(x, x, out=[1])


def test_explain_names_the_kernel_and_why(device):
    a, b = cupy.zeros((500, 300), numpy.float32), cupy.zeros((300, 400), numpy.float32)
    text = cupygemm.explain(a, b)
    assert not text.is_fallback
    assert text.kernel.startswith("cupygemm_f32_")
    assert "blocks of" in text.why
    assert text.kernel in str(text)
    assert "options" in str(text)


@settings(max_examples=60 if FULL else 6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_strides(device, data):
    """Any slice of any permutation of a block of memory is a valid operand."""

    def operand(rows: int, columns: int) -> numpy.ndarray:
        steps = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in range(2)]
        starts = [data.draw(st.integers(0, 3)) for _ in range(2)]
        extents = [abs(s) * n + start for s, n, start in zip(steps, (rows, columns), starts, strict=True)]
        block = numpy.arange(extents[0] * extents[1], dtype=numpy.float32) % 7 - 3
        flip = data.draw(st.booleans())
        shaped = block.reshape(extents[::-1]).T if flip else block.reshape(extents)
        return shaped[starts[0] :, starts[1] :][:: steps[0], :: steps[1]][:rows, :columns]

    m, n, k = (data.draw(st.integers(1, 70)) for _ in range(3))
    a, b = operand(m, k), operand(k, n)

    def on_gpu(x: numpy.ndarray) -> cupy.ndarray:
        base = x
        while base.base is not None:
            base = base.base
        offset = (x.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // 4
        flat = cupy.asarray(base.ravel())
        return cupy.ndarray(x.shape, x.dtype, flat.data + 4 * offset, strides=x.strides)

    numpy.testing.assert_array_equal(cupygemm.matmul(on_gpu(a), on_gpu(b)).get(), a @ b)
