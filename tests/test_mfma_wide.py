"""FP32 and float64 on CDNA's matrix instructions: each tile of the tables, in every layout and at every edge."""

from __future__ import annotations

import cupy
import numpy
import pytest

import cupygemm
from cupygemm import dtypes
from cupygemm.arch import amd_arch
from cupygemm.mfma_tile import MfmaTile
from cupygemm.tiles import candidates
from tests import test_mfma
from tests.conftest import DEVICES
from tests.test_mfma import TRIED, place

cdna, only = test_mfma.cdna, test_mfma.only

TILES = [
    pytest.param(arch, dtype, candidate, id=f"{arch}-{dtype.__name__}-{candidate.tile.name}")
    for arch in TRIED
    for dtype in (numpy.float32, numpy.float64)
    for candidate in candidates(amd_arch(arch), dtypes.kernel_types(numpy.dtype(dtype)))
    if isinstance(candidate.tile, MfmaTile)
]
DTYPES = (numpy.float32, numpy.float64)


def small(rng: numpy.random.Generator, dtype, *shape: int) -> numpy.ndarray:
    return rng.integers(-9, 10, shape).astype(dtype)


@pytest.mark.parametrize(("arch", "dtype", "candidate"), TILES)
@pytest.mark.parametrize("layout", ["rr", "rc", "cr", "cc"])
def test_every_tile_at_its_edges(only, arch, dtype, candidate, layout):
    tile = candidate.tile
    rng = numpy.random.default_rng(1)
    with only(arch, candidate):
        for m, n, k in (
            (tile.block_m, tile.block_n, tile.block_k),
            (tile.block_m + 8, 2 * tile.block_n - 8, 2 * tile.block_k + 8),
            (tile.block_m - 1, tile.block_n + 1, tile.block_k - 1),
        ):
            a, b = small(rng, dtype, m, k), small(rng, dtype, k, n)
            out = cupy.full((m, n), numpy.nan, dtype)
            cupygemm.matmul(place(a, layout[0]), place(b, layout[1]), out=out)
            numpy.testing.assert_array_equal(out.get(), a @ b, err_msg=f"{m} x {n} x {k}")


@pytest.mark.parametrize(("arch", "dtype", "candidate"), TILES)
def test_one_hot(only, arch, dtype, candidate):
    """A product with one nonzero in each row gives rows of B, so every lane's place is seen."""
    tile = candidate.tile
    rng = numpy.random.default_rng(2)
    b = rng.permutation(tile.block_k * tile.block_n).reshape(tile.block_k, tile.block_n).astype(dtype)
    a = numpy.zeros((tile.block_m, tile.block_k), dtype)
    a[numpy.arange(tile.block_m), rng.integers(0, tile.block_k, tile.block_m)] = 1
    with only(arch, candidate):
        numpy.testing.assert_array_equal(cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get(), b[a.argmax(1)])


def test_large_fp32_products_take_matrix_instructions(cdna):
    x = cupy.ndarray((4096, 4096), numpy.float32, cupy.zeros(1).data)
    assert cupygemm.explain(x, x).kernel.startswith("cupygemm_f32_mfma_")


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_against_a_wider_type(cdna, dtype):
    rng = numpy.random.default_rng(3)
    a, b = (rng.standard_normal(s).astype(dtype) for s in ((130, 300), (300, 140)))
    got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get()
    assert got.dtype == dtype
    a, b = a.astype(numpy.longdouble), b.astype(numpy.longdouble)
    unit = numpy.finfo(dtype).eps / 2
    assert (abs(got - a @ b) <= 4 * 300**0.5 * unit * (abs(a) @ abs(b))).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_subnormals_nan_and_infinity(cdna, dtype):
    tiny = numpy.finfo(dtype).smallest_subnormal
    eye = numpy.eye(96, dtype=dtype)
    a = numpy.arange(96 * 96).reshape(96, 96).astype(dtype) * tiny
    numpy.testing.assert_array_equal(cupygemm.matmul(cupy.asarray(a), cupy.asarray(eye)).get(), a)
    a, b = numpy.ones((70, 37), dtype), numpy.ones((37, 90), dtype)
    a[3, 36], b[36, 7] = numpy.inf, numpy.nan
    got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get()
    with numpy.errstate(invalid="ignore"):
        numpy.testing.assert_array_equal(got, a @ b)


def test_float64_views_batches_and_mixed_types(cdna):
    rng = numpy.random.default_rng(4)
    a, b = small(rng, numpy.float64, 3, 40, 50), small(rng, numpy.float64, 50, 60)
    numpy.testing.assert_array_equal(cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get(), a @ b)
    whole = small(rng, numpy.float64, 90, 91)
    on_gpu = cupy.asarray(whole)
    for first, second in (
        (lambda x: x[1:60, 3:70], lambda x: x[2:69, 1:50]),
        (lambda x: x[::2, :40], lambda x: x[40:0:-1, ::3]),
        (lambda x: x[:, ::2].T, lambda x: x[::-1]),
    ):
        want = first(whole) @ second(whole)
        numpy.testing.assert_array_equal(cupygemm.matmul(first(on_gpu), second(on_gpu)).get(), want)
    mixed = cupygemm.matmul(cupy.asarray(a[0].astype(numpy.float32)), cupy.asarray(b))
    assert mixed.dtype == numpy.float64
    numpy.testing.assert_array_equal(mixed.get(), a[0] @ b)
    assert cupygemm.explain(cupy.asarray(a), cupy.asarray(b)).kernel.startswith("cupygemm_f64_mfma_")


def test_float64_goes_to_cupy_where_no_matrix_instruction_takes_it():
    for arch in ("gfx1100", "gfx1201"):
        if arch in DEVICES:
            with cupy.cuda.Device(DEVICES.index(arch)):
                a = cupy.arange(12, dtype=numpy.float64).reshape(3, 4)
                assert cupygemm.explain(a, a.T).kernel == "cupy.matmul"
                numpy.testing.assert_array_equal(cupygemm.matmul(a, a.T).get(), a.get() @ a.get().T)
