"""Quantisation, scaled products of 8-bit operands, and products with bias and activation."""

from __future__ import annotations

import cupy
import ml_dtypes
import numpy
import pytest

import cupygemm
from cupygemm.plan import current_device
from tests.conftest import REAL_GPU

FLOATS = tuple(getattr(ml_dtypes, f"float8_{name}") for name in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz"))
CODES = numpy.arange(256, dtype=numpy.uint8)
FUNCTIONS = {
    None: lambda x: x,
    "relu": lambda x: numpy.where(x < 0, 0, x),
    "silu": lambda x: x / (1 + numpy.exp(-numpy.maximum(x, -700))),
    "gelu": lambda x: x / 2 * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3))),
}
pytestmark = pytest.mark.skipif(REAL_GPU, reason="kernels for AMD GPUs")


def native(fmt: str) -> type:
    """The flavour of a format that the current device's matrix unit takes."""
    family = current_device(cupy.cuda.runtime.getDevice()).arch.family
    return getattr(ml_dtypes, f"float8_{fmt}{'fnuz' if family == 'cdna3' else 'fn' if fmt == 'e4m3' else ''}")


def view(codes: numpy.ndarray, dtype) -> cupy.ndarray:
    return cupy.asarray(codes.view(numpy.uint8)).view(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.__name__)
@pytest.mark.parametrize("source", [numpy.float32, numpy.float16, ml_dtypes.bfloat16], ids=lambda d: d.__name__)
def test_quantize_rounds_as_ml_dtypes_does(device, dtype, source):
    rng = numpy.random.default_rng(1)
    x = (rng.standard_normal((9, 200)) * 2.0 ** rng.integers(-20, 8, (9, 200))).astype(source)
    x[0], x[1, 3], x[2, 4], x[2, 5] = 0, numpy.nan, numpy.inf, -numpy.inf
    q, scale = cupygemm.quantize(cupy.asarray(x), dtype, axis=1)
    assert q.dtype == dtype
    assert scale.shape == (9, 1)
    assert scale.get()[0] == 1
    largest = float(ml_dtypes.finfo(dtype).max)
    wanted = numpy.clip(x.astype(numpy.float32) / scale.get(), -largest, largest)
    nan = numpy.isnan(wanted)
    got = q.get()
    numpy.testing.assert_array_equal(got.view(numpy.uint8)[~nan], wanted.astype(dtype).view(numpy.uint8)[~nan])
    assert numpy.isnan(got.astype(numpy.float32)[nan]).all()
    finite = numpy.where(numpy.isfinite(x.astype(numpy.float32)), x.astype(numpy.float32), 0)
    numpy.testing.assert_allclose(scale.get()[1:, 0], abs(finite[1:]).max(1) / largest, rtol=1e-6)


def test_quantize_axes_and_int8(device):
    rng = numpy.random.default_rng(2)
    x = rng.standard_normal((3, 5, 70)).astype(numpy.float32)
    for axis, shape in ((None, ()), (0, (1, 5, 70)), (1, (3, 1, 70)), (-1, (3, 5, 1))):
        q, scale = cupygemm.quantize(cupy.asarray(x), numpy.int8, axis)
        assert scale.shape == shape
        most = abs(x).max(axis, keepdims=axis is not None)
        numpy.testing.assert_allclose(scale.get(), most / 127, rtol=1e-6)
        numpy.testing.assert_array_equal(q.get(), numpy.rint(x / scale.get()).astype(numpy.int8))
    with pytest.raises(TypeError, match="float64"):
        cupygemm.quantize(cupy.zeros(3), numpy.int8)
    with pytest.raises(ValueError, match="axis 2"):
        cupygemm.quantize(cupy.zeros((3, 3), numpy.float32), numpy.int8, 2)


@pytest.mark.parametrize("fmt", ["e4m3", "e5m2"])
def test_all_codes_times_one(device, fmt):
    """A row of each of the 256 codes, one at a time, against ones: the number itself comes back."""
    dtype = native(fmt)
    a = numpy.zeros((256, 32), numpy.uint8)
    a[CODES, CODES % 32] = CODES
    one = numpy.ones((32, 16), numpy.float32).astype(dtype)
    got = cupygemm.scaled_matmul(view(a, dtype), view(one, dtype), out_dtype=numpy.float32).get()
    want = CODES.view(dtype).astype(numpy.float32)
    numpy.testing.assert_array_equal(got, numpy.repeat(want[:, None], 16, 1))


@pytest.mark.parametrize("fmt", ["e4m3", "e5m2", "int8"])
@pytest.mark.parametrize("layout", ["rr", "rc", "cr", "cc"])
def test_against_float64_of_the_dequantised(device, fmt, layout):
    dtype = numpy.int8 if fmt == "int8" else native(fmt)
    rng = numpy.random.default_rng(3)
    for m, n, k in ((70, 90, 150), (33, 17, 1), (64, 128, 256)):
        x, w = (rng.standard_normal(s).astype(numpy.float32) for s in ((m, k), (k, n)))
        (a, row), (b, column) = (
            cupygemm.quantize(cupy.asarray(x), dtype, -1),
            cupygemm.quantize(cupy.asarray(w), dtype, 0),
        )
        left, right = ((v.astype(numpy.float64) * s.get()) for v, s in ((a.get(), row), (b.get(), column)))
        a = cupy.ascontiguousarray(a.view(numpy.uint8).T).T.view(dtype) if layout[0] == "c" else a
        b = cupy.ascontiguousarray(b.view(numpy.uint8).T).T.view(dtype) if layout[1] == "c" else b
        bias = rng.standard_normal(n).astype(numpy.float32)
        got = cupygemm.scaled_matmul(a, b, row, column, bias=cupy.asarray(bias), out_dtype=numpy.float32).get()
        size = abs(left) @ abs(right) + abs(bias)
        assert (abs(got - (left @ right + bias)) <= 2.0**-22 * (4 + k**0.5) * size).all()


@pytest.mark.parametrize("formats", [("e4m3", "e5m2"), ("e5m2", "e4m3")], ids="-".join)
def test_operands_of_two_formats(device, formats):
    """Every code of each operand's own format, then sums in every layout and tile size."""
    first, second = map(native, formats)
    a = numpy.zeros((256, 32), numpy.uint8)
    a[CODES, CODES % 32] = CODES
    one = numpy.ones((32, 16), numpy.float32)
    got = cupygemm.scaled_matmul(view(a, first), view(one.astype(second), second), out_dtype=numpy.float32).get()
    numpy.testing.assert_array_equal(got, numpy.repeat(CODES.view(first).astype(numpy.float32)[:, None], 16, 1))
    got = cupygemm.scaled_matmul(view(one.T.astype(first), first), view(a.T, second), out_dtype=numpy.float32).get()
    numpy.testing.assert_array_equal(got, numpy.repeat(CODES.view(second).astype(numpy.float32)[None], 16, 0))
    rng = numpy.random.default_rng(5)
    for m, n, k in ((70, 90, 150), (5, 300, 33), (260, 270, 140)):
        x, y = rng.integers(-3, 4, (m, k)).astype(first), rng.integers(-3, 4, (k, n)).astype(second)
        got = cupygemm.scaled_matmul(view(x, first), view(y, second), 0.5, out_dtype=numpy.float32).get()
        numpy.testing.assert_array_equal(got, 0.5 * (x.astype(numpy.float32) @ y.astype(numpy.float32)))
    with pytest.raises(TypeError, match="int8 is multiplied with int8 alone"):
        cupygemm.scaled_matmul(view(a, first), view(a.T, numpy.int8))


@pytest.mark.parametrize("activation", FUNCTIONS)
@pytest.mark.parametrize("out", [numpy.float32, numpy.float16, ml_dtypes.bfloat16], ids=lambda d: d.__name__)
def test_activations_and_their_tails(device, activation, out):
    dtype = native("e4m3")
    x = numpy.concatenate([numpy.linspace(-12, 12, 49), [-200, -60, 60, 200]]).astype(numpy.float32)
    a = numpy.ones((1, 1), numpy.float32).astype(dtype)
    b = numpy.zeros((1, x.size), numpy.float32).astype(dtype)
    got = cupygemm.scaled_matmul(
        view(a, dtype), view(b, dtype), bias=cupy.asarray(x), activation=activation, out_dtype=out
    ).get()
    want = FUNCTIONS[activation](x.astype(numpy.float64))
    eps = float(ml_dtypes.finfo(out).eps)
    numpy.testing.assert_allclose(got[0].astype(numpy.float64), want, rtol=max(eps, 4e-6), atol=3e-6)


def test_scales_at_extremes_and_int32(device):
    dtype = native("e4m3")
    two = numpy.full((4, 4), 2, numpy.float32).astype(dtype)
    for scale in (2.0**-120, 2.0**120):
        got = cupygemm.scaled_matmul(view(two, dtype), view(two, dtype), scale, 1 / scale, out_dtype=numpy.float32)
        numpy.testing.assert_array_equal(got.get(), numpy.full((4, 4), 16))
    a = numpy.full((3, 300), -128, numpy.int8)
    got = cupygemm.scaled_matmul(cupy.asarray(a), cupy.asarray(a.T))
    assert got.dtype == numpy.int32
    numpy.testing.assert_array_equal(got.get(), numpy.full((3, 3), 300 * 128 * 128))


def test_block_scales(device):
    dtype = native("e4m3")
    rng = numpy.random.default_rng(4)
    a, b = (rng.standard_normal(s).astype(numpy.float32).astype(dtype) for s in ((20, 96), (96, 24)))
    row, column = rng.integers(120, 134, (20, 3)), rng.integers(120, 134, (3, 24))
    got = cupygemm.scaled_matmul(
        view(a, dtype), view(b, dtype), cupy.asarray(row.astype(numpy.uint8)), cupy.asarray(column.astype(numpy.uint8)),
        out_dtype=numpy.float32,
    ).get()  # fmt: skip
    left = a.astype(numpy.float64) * numpy.repeat(2.0 ** (row - 127), 32, 1)
    right = b.astype(numpy.float64) * numpy.repeat(2.0 ** (column - 127), 32, 0)
    assert (abs(got - left @ right) <= 2.0**-20 * (abs(left) @ abs(right))).all()


def test_the_other_flavour(device):
    arch = current_device(cupy.cuda.runtime.getDevice()).arch
    a = numpy.zeros((256, 32), numpy.uint8)
    a[CODES, CODES % 32] = CODES
    if arch.family == "cdna3":  # OCP codes are read as FNUZ ones of half the value
        dtype = ml_dtypes.float8_e4m3fn
        one = numpy.ones((32, 16), numpy.float32).astype(dtype)
        got = cupygemm.scaled_matmul(view(a, dtype), view(one, dtype), out_dtype=numpy.float32).get()
        numpy.testing.assert_array_equal(got[:, 0], CODES.view(dtype).astype(numpy.float32))
        refused = ml_dtypes.float8_e5m2
    else:
        refused = ml_dtypes.float8_e4m3fnuz
    if arch.family in ("cdna3", "cdna4", "rdna4"):
        with pytest.raises(TypeError, match="quantize"):
            cupygemm.scaled_matmul(view(a, refused), view(a.T, refused))
    else:
        assert "widened to float16" in cupygemm.explain_scaled(refused)


def test_linear(device):
    rng = numpy.random.default_rng(5)
    x, w = (rng.standard_normal(s).astype(numpy.float16) for s in ((2, 30, 64), (40, 64)))
    bias = rng.standard_normal(40).astype(numpy.float16)
    got = cupygemm.linear(cupy.asarray(x), cupy.asarray(w), cupy.asarray(bias), "relu").get()
    want = numpy.maximum(x.astype(numpy.float64) @ w.T.astype(numpy.float64) + bias, 0)
    assert got.dtype == numpy.float16
    numpy.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-4)
    with pytest.raises(TypeError, match="float32"):
        cupygemm.linear(cupy.zeros((2, 3), numpy.float32), cupy.zeros((2, 3), numpy.float32))


def test_wrong_arguments(device):
    x = view(numpy.zeros((4, 4), numpy.uint8), native("e4m3"))
    with pytest.raises(ValueError, match="do not fit"):
        cupygemm.scaled_matmul(x, x[:3])
    with pytest.raises(ValueError, match="scale_a"):
        cupygemm.scaled_matmul(x, x, cupy.ones(3, numpy.float32))
    with pytest.raises(ValueError, match="activation"):
        cupygemm.scaled_matmul(x, x, activation="tanh")
    with pytest.raises(ValueError, match="bias"):
        cupygemm.scaled_matmul(x, x, bias=cupy.zeros(5, numpy.float32))
    with pytest.raises(TypeError, match="int32"):
        cupygemm.scaled_matmul(x, x, out_dtype=numpy.int32)
    with pytest.raises(TypeError, match="int8 alone"):
        cupygemm.scaled_matmul(x, cupy.zeros((4, 4), numpy.int8))
