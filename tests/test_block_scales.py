"""Block scales by gfx950's instructions: every tile, both formats, every layout and ragged size."""

from __future__ import annotations

import cupy
import ml_dtypes
import numpy
import pytest

import cupygemm
from cupygemm.arch import amd_arch
from cupygemm.problem import Types
from cupygemm.tiles import candidates
from tests import test_mfma
from tests.conftest import DEVICES
from tests.test_mfma import MFMA
from tests.test_scaled import view

only = test_mfma.only
pytestmark = pytest.mark.skipif("gfx950" not in MFMA, reason="gfx950 alone has them")
TILES = [
    pytest.param(candidate, id=candidate.tile.name)
    for candidate in candidates(amd_arch("gfx950"), Types("e4m3", "f32", "f32"))
]


@pytest.fixture
def gfx950():
    with cupy.cuda.Device(DEVICES.index("gfx950")):
        yield


def operands(rng: numpy.random.Generator, m: int, n: int, k: int, dtype) -> tuple[numpy.ndarray, ...]:
    """Small integers, and scales with which sums up to K = 400 are exact in FP32."""
    a, b = (rng.integers(-3, 4, s).astype(numpy.float32).astype(dtype) for s in ((m, k), (k, n)))
    blocks = -(-k // 32)
    row, column = (rng.integers(125, 130, s).astype(numpy.uint8) for s in ((m, blocks), (blocks, n)))
    return a, b, row, column


def wanted(a: numpy.ndarray, b: numpy.ndarray, row: numpy.ndarray, column: numpy.ndarray) -> numpy.ndarray:
    k = a.shape[1]
    left = a.astype(numpy.float64) * numpy.repeat(2.0 ** (row.astype(int) - 127), 32, 1)[:, :k]
    right = b.astype(numpy.float64) * numpy.repeat(2.0 ** (column.astype(int) - 127), 32, 0)[:k]
    return left @ right


def multiply(a, b, row, column, dtype, layout: str = "rc", **more) -> numpy.ndarray:
    def place(x: numpy.ndarray, order: str) -> cupy.ndarray:
        codes = x.view(numpy.uint8)
        on_gpu = cupy.asarray(numpy.ascontiguousarray(codes.T)).T if order == "c" else cupy.asarray(codes)
        return on_gpu.view(dtype)

    scales = [None if s is None else cupy.asarray(s) for s in (row, column)]
    x, y = place(a, layout[0]), place(b, layout[1])
    return cupygemm.scaled_matmul(x, y, *scales, out_dtype=numpy.float32, **more).get()


@pytest.mark.parametrize("candidate", TILES)
@pytest.mark.parametrize("layout", ["rc", "cr"])
def test_every_tile(only, candidate, layout):
    tile = candidate.tile
    rng = numpy.random.default_rng(1)
    with only("gfx950", candidate):
        for m, n, k, dtype in (
            (tile.block_m, tile.block_n, 256, ml_dtypes.float8_e4m3fn),
            (tile.block_m + 3, tile.block_n + 9, 333, ml_dtypes.float8_e5m2),
            (tile.block_m - 1, 5, 40, ml_dtypes.float8_e4m3fn),
        ):
            given = operands(rng, m, n, k, dtype)
            got = multiply(*given, dtype, layout)
            numpy.testing.assert_array_equal(got, wanted(*given), err_msg=f"{m} x {n} x {k}")


def test_a_scale_belongs_to_its_block_alone(gfx950):
    """One nonzero number at a time, each of its block's scale."""
    dtype = ml_dtypes.float8_e4m3fn
    k = 256
    a = numpy.eye(k, dtype=numpy.float32).astype(dtype)
    b = numpy.ones((k, 16), numpy.float32).astype(dtype)
    row = numpy.arange(k * 8).reshape(k, 8).astype(numpy.uint8) % 40 + 100
    column = numpy.arange(8 * 16).reshape(8, 16).astype(numpy.uint8) % 50 + 100
    numpy.testing.assert_array_equal(multiply(a, b, row, column, dtype), wanted(a, b, row, column))


def test_one_side_nan_and_epilogue(gfx950):
    dtype = ml_dtypes.float8_e4m3fn
    rng = numpy.random.default_rng(2)
    a, b, row, column = operands(rng, 40, 50, 96, dtype)
    ones = numpy.full_like(row, 127)
    numpy.testing.assert_array_equal(multiply(a, b, None, column, dtype), wanted(a, b, ones, column))
    bias = rng.integers(-9, 10, 50).astype(numpy.float32)
    got = multiply(a, b, row, column, dtype, bias=cupy.asarray(bias), activation="relu")
    numpy.testing.assert_array_equal(got, numpy.maximum(wanted(a, b, row, column) + bias, 0))
    row[3, 1] = 255
    got = multiply(a, b, row, column, dtype)
    assert numpy.isnan(got[3]).all()
    assert not numpy.isnan(numpy.delete(got, 3, 0)).any()


def test_random_against_float64(gfx950):
    dtype = ml_dtypes.float8_e5m2
    rng = numpy.random.default_rng(3)
    a, b = (rng.standard_normal(s).astype(numpy.float32).astype(dtype) for s in ((70, 500), (500, 90)))
    row, column = (rng.integers(90, 160, s).astype(numpy.uint8) for s in ((70, 16), (16, 90)))
    got = multiply(a, b, row, column, dtype)
    size = wanted(abs(a.astype(numpy.float32)), abs(b.astype(numpy.float32)), row, column)
    assert (abs(got - wanted(a, b, row, column)) <= 2.0**-22 * (4 + 500**0.5) * size).all()


def test_shapes_of_scales(gfx950):
    x = view(numpy.zeros((4, 64), numpy.uint8), ml_dtypes.float8_e4m3fn)
    with pytest.raises(ValueError, match=r"\(4, 2\) is wanted"):
        cupygemm.scaled_matmul(x, x.T, cupy.zeros((4, 3), numpy.uint8))
    with pytest.raises(TypeError, match="block scales"):
        cupygemm.scaled_matmul(x, x.T, cupy.zeros((4, 2), numpy.uint8), 2.0)
