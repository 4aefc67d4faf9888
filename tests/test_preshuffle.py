"""Packed operands: the bits of the plain product, for every tile, type, layout and ragged size."""

from __future__ import annotations

import cupy
import ml_dtypes
import numpy
import pytest

import cupygemm
from cupygemm import plan
from cupygemm.arch import amd_arch
from cupygemm.dtypes import kernel_types
from cupygemm.tiles import candidates
from tests import test_mfma
from tests.conftest import DEVICES
from tests.test_mfma import MFMA, TRIED, place, small
from tests.test_scaled import native

cdna, only = test_mfma.cdna, test_mfma.only
TYPES = (numpy.float16, ml_dtypes.bfloat16, numpy.int8)
TILES = [
    pytest.param(arch, dtype, candidate, id=f"{arch}-{numpy.dtype(dtype).name}-{candidate.tile.name}")
    for arch in TRIED
    for dtype in (numpy.float16, numpy.int8)
    for candidate in candidates(amd_arch(arch), kernel_types(numpy.dtype(dtype)))
]


@pytest.mark.parametrize(("arch", "dtype", "candidate"), TILES)
def test_every_tile(only, arch, dtype, candidate):
    tile = candidate.tile
    rng = numpy.random.default_rng(1)
    with only(arch, candidate):
        plan.make_packed_plan.cache_clear()
        for m, n, k in (
            (tile.block_m, tile.block_n, tile.block_k),
            (tile.block_m + 3, 2 * tile.block_n - 9, 2 * tile.block_k + 5),
            (5, tile.block_n + 17, 3 * tile.block_k - 1),
        ):
            a, b = small(rng, dtype, m, k), small(rng, dtype, k, n)
            got = cupygemm.matmul(cupy.asarray(a), cupygemm.preshuffle(cupy.asarray(b))).get()
            want = (a.astype(numpy.float32) @ b.astype(numpy.float32)).astype(numpy.int32).astype(dtype)
            numpy.testing.assert_array_equal(got, want, err_msg=f"{m} x {n} x {k}")
    plan.make_packed_plan.cache_clear()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["r", "c"])
def test_the_bits_of_the_plain_product(cdna, dtype, order):
    if dtype == numpy.int8 and plan.current_device(cdna.id).arch.family == "cdna2":
        pytest.skip("no int8 kernels")
    rng = numpy.random.default_rng(2)
    for shape, n in (((1, 70), 33), ((40, 300), 1), ((3, 50, 96), 130), ((513,), 65), ((2, 2, 9, 1000), 7)):
        a, b = ((rng.standard_normal(s) * 9).astype(dtype) for s in (shape, (shape[-1], n)))
        x, y = cupy.asarray(a), place(b, order)
        packed = cupygemm.preshuffle(y)
        assert (packed.shape, packed.dtype, packed.arch) == (b.shape, b.dtype, plan.current_device(cdna.id).arch.name)
        got, want = cupygemm.matmul(x, packed), cupygemm.matmul(x, y)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        numpy.testing.assert_array_equal(got.get().view(numpy.uint8), want.get().view(numpy.uint8), err_msg=str(shape))
        out = cupy.zeros_like(want)
        assert cupygemm.matmul(x, packed, out=out) is out
        numpy.testing.assert_array_equal(out.get().view(numpy.uint8), want.get().view(numpy.uint8))


def test_views_and_nan(cdna):
    rng = numpy.random.default_rng(3)
    whole = small(rng, numpy.float16, 150, 151)
    whole[70, 75] = numpy.nan
    x = cupy.asarray(whole)
    for first, second in (
        (x[1:60, 3:70], x[2:69, 1:50]),
        (x[::2, :40], x[40:0:-1, ::3]),
        (x[5:90, 100:101], x[:1, ::-1]),
    ):
        got = cupygemm.matmul(first, cupygemm.preshuffle(second)).get()
        numpy.testing.assert_array_equal(got, cupygemm.matmul(first, second).get())


@pytest.mark.parametrize("fmt", ["e4m3", "e5m2", "int8"])
def test_scaled(cdna, fmt):
    if plan.current_device(cdna.id).arch.family == "cdna2":
        pytest.skip("no 8-bit kernels")
    dtype = numpy.int8 if fmt == "int8" else native(fmt)
    rng = numpy.random.default_rng(4)
    for m, n, k in ((1, 40, 100), (70, 257, 129), (300, 31, 16)):
        x, w = (cupy.asarray(rng.standard_normal(s).astype(numpy.float32)) for s in ((m, k), (n, k)))
        (a, scale_a), (b, scale_b) = cupygemm.quantize(x, dtype, axis=1), cupygemm.quantize(w, dtype, axis=1)
        bias = cupy.asarray(rng.standard_normal(n).astype(numpy.float32))
        rest = {"scale_a": scale_a, "scale_b": scale_b.T, "bias": bias, "activation": "silu", "out_dtype": "float32"}
        got = cupygemm.scaled_matmul(a, cupygemm.preshuffle(b.T), **rest).get()
        numpy.testing.assert_array_equal(got, cupygemm.scaled_matmul(a, b.T, **rest).get())


def test_what_is_refused(cdna):
    half = cupy.zeros((32, 32), numpy.float16)
    packed = cupygemm.preshuffle(half)
    for wrong, error, words in (
        (half.get(), TypeError, "ndarray"),
        (cupy.zeros((4, 4), "f"), TypeError, "packed float32"),
        (cupy.zeros((4, 4, 4), "e"), ValueError, r"\(4, 4, 4\)"),
        (cupy.zeros((0, 4), "e"), ValueError, r"\(0, 4\)"),
    ):
        with pytest.raises(error, match=words):
            cupygemm.preshuffle(wrong)
    with pytest.raises(TypeError, match="one type"):
        cupygemm.matmul(half.astype("f"), packed)
    with pytest.raises(TypeError, match="no keyword"):
        cupygemm.matmul(half, packed, order="F")
    with pytest.raises(TypeError, match="first operand is a Packed"):
        cupygemm.matmul(packed, half)
    with pytest.raises(ValueError, match="not aligned"):
        cupygemm.matmul(half[:, :9], packed)
    with pytest.raises(ValueError, match="out is"):
        cupygemm.matmul(half, packed, out=cupy.zeros((3, 3), "e"))


def test_the_other_flavour_is_refused(cdna):
    arch = plan.current_device(cdna.id).arch
    other = ml_dtypes.float8_e4m3fn if arch.family == "cdna3" else ml_dtypes.float8_e4m3fnuz
    with pytest.raises(TypeError, match=f"{arch.name} cannot multiply packed"):
        cupygemm.preshuffle(cupy.zeros((4, 4), numpy.uint8).view(other))


def test_targets_without_mfma_refuse(device):
    if device.id in [DEVICES.index(name) for name in MFMA]:
        pytest.skip("has MFMA")
    with pytest.raises(TypeError, match="MFMA alone"):
        cupygemm.preshuffle(cupy.zeros((4, 4), numpy.float16))
