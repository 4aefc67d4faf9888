"""FP16 and BF16 on CDNA's matrix instructions: each tile of the tables, in every layout and at every edge."""

from __future__ import annotations

import cupy
import ml_dtypes
import numpy
import pytest

import cupygemm
from cupygemm import dispatch, module, plan
from cupygemm.arch import amd_arch
from cupygemm.problem import Types
from cupygemm.tiles import Candidate, candidates
from tests.conftest import CHOSEN, DEVICES, FEW_DEVICES, FULL, REAL_GPU

MFMA = () if REAL_GPU else tuple(d for d in DEVICES if amd_arch(d).family in ("cdna2", "cdna3", "cdna4"))
#: An ordinary run multiplies on one of them; block scales, which gfx950 alone has, are tests of their own.
TRIED = MFMA if FULL or CHOSEN else tuple(d for d in MFMA if d in FEW_DEVICES)
TILES = [
    pytest.param(arch, candidate, id=f"{arch}-{candidate.tile.name}")
    for arch in TRIED
    for candidate in candidates(amd_arch(arch), Types("f16", "f32", "f16"))
]
DTYPES = (numpy.float16, ml_dtypes.bfloat16)


@pytest.fixture(params=TRIED)
def cdna(request):
    with cupy.cuda.Device(DEVICES.index(request.param)) as current:
        yield current


@pytest.fixture
def only(monkeypatch):
    """Makes one tile the only choice on an architecture's device, which becomes the current one."""

    def choose(arch: str, candidate: Candidate) -> cupy.cuda.Device:
        monkeypatch.setattr(dispatch, "candidates", lambda *_: (candidate,))
        _forget()
        return cupy.cuda.Device(DEVICES.index(arch))

    yield choose
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    plan.make_plan.cache_clear()
    module.launches.clear()


def place(x: numpy.ndarray, order: str) -> cupy.ndarray:
    """`x` on the device, row-major ("r") or column-major ("c")."""
    return cupy.asarray(numpy.ascontiguousarray(x.T)).T if order == "c" else cupy.asarray(x)


def small(rng: numpy.random.Generator, dtype, *shape: int) -> numpy.ndarray:
    """Integers whose products add up exactly and whose sums fit the type for K up to a hundred or so."""
    return rng.integers(-2, 3, shape).astype(dtype)


def exact(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    return (a.astype(numpy.float32) @ b.astype(numpy.float32)).astype(a.dtype)


@pytest.mark.parametrize(("arch", "candidate"), TILES)
@pytest.mark.parametrize("layout", ["rr", "rc", "cr", "cc"])
def test_every_tile_at_its_edges(only, arch, candidate, layout):
    tile = candidate.tile
    rng = numpy.random.default_rng(1)
    sizes = [
        (tile.block_m, tile.block_n, tile.block_k),
        (tile.block_m + 8, 2 * tile.block_n - 8, 2 * tile.block_k + 8),
        (tile.block_m - 1, tile.block_n + 1, tile.block_k - 1),
    ]
    with only(arch, candidate):
        for dtype, (m, n, k) in zip((DTYPES[0], DTYPES[1], DTYPES[0]), sizes, strict=True):
            a, b = small(rng, dtype, m, k), small(rng, dtype, k, n)
            out = cupy.full((m, n), numpy.nan, numpy.float32).astype(dtype)
            cupygemm.matmul(place(a, layout[0]), place(b, layout[1]), out=out)
            numpy.testing.assert_array_equal(out.get(), exact(a, b), err_msg=f"{dtype.__name__} {m} x {n} x {k}")


@pytest.mark.parametrize(("arch", "candidate"), TILES)
def test_one_hot(only, arch, candidate):
    """Each element of A alone: a product with one nonzero row is that row of B, so every lane's place is seen."""
    tile = candidate.tile
    k = min(tile.block_k, 64)
    rng = numpy.random.default_rng(2)
    with only(arch, candidate):
        b = rng.permutation(k * tile.block_n).reshape(k, tile.block_n) % 2039
        b = b.astype(numpy.float16)
        a = numpy.zeros((tile.block_m, k), numpy.float16)
        a[numpy.arange(tile.block_m), rng.integers(0, k, tile.block_m)] = 1
        got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get()
        numpy.testing.assert_array_equal(got, b[a.argmax(1)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_sizes(cdna, dtype):
    rng = numpy.random.default_rng(3)
    for m in (1, 3, 8, 17):
        for n in (1, 4, 7, 17):
            for k in (1, 3, 8, 17):
                a, b = small(rng, dtype, m, k), small(rng, dtype, k, n)
                got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get()
                numpy.testing.assert_array_equal(got, exact(a, b), err_msg=f"{m} x {n} x {k}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_against_float64(cdna, dtype):
    rng = numpy.random.default_rng(4)
    a, b = (rng.standard_normal(s).astype(dtype) for s in ((130, 300), (300, 140)))
    got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get().astype(numpy.float64)
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    want, size = a @ b, abs(a) @ abs(b)
    # One rounding of the result, and the FP32 sums' (tests/products.py).
    bound = abs(want) * float(ml_dtypes.finfo(dtype).eps) / 2 * 1.01 + 2.0**-24 * (4 + 300**0.5 / 2) * size
    assert (abs(got - want) <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_views_and_offsets(cdna, dtype):
    rng = numpy.random.default_rng(5)
    a, b = small(rng, dtype, 3, 40, 50), small(rng, dtype, 50, 60)
    numpy.testing.assert_array_equal(cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get(), exact(a, b))
    whole = small(rng, dtype, 90, 91)
    on_gpu = cupy.asarray(whole)
    for first, second in (
        (lambda x: x[1:60, 3:70], lambda x: x[2:69, 1:50]),
        (lambda x: x[::2, :40], lambda x: x[40:0:-1, ::3]),
        (lambda x: x[:, ::2].T, lambda x: x[::-1]),
    ):
        got = cupygemm.matmul(first(on_gpu), second(on_gpu))
        numpy.testing.assert_array_equal(got.get(), exact(first(whole), second(whole)))


def test_sums_do_not_stop_at_2048(cdna):
    """Accumulation in FP32: in FP16, 2048 + 1 is 2048."""
    ones = cupy.ones((1, 8192), numpy.float16)
    assert cupygemm.matmul(ones, ones.T).get().item() == 8192


def test_nan_and_infinity_stay_in_their_row_and_column(cdna):
    rng = numpy.random.default_rng(6)
    a, b = small(rng, numpy.float16, 40, 37) + 10, small(rng, numpy.float16, 37, 50) + 10
    a[3, 36], b[36, 7] = numpy.inf, numpy.nan
    got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get()
    with numpy.errstate(invalid="ignore"):
        numpy.testing.assert_array_equal(got, exact(a, b))
    assert numpy.isinf(got[3]).sum() == 49
    assert numpy.isnan(got[:, 7]).all()


def test_explain_names_the_instructions(cdna):
    x = cupy.zeros((300, 300), numpy.float16)
    text = cupygemm.explain(x, x)
    assert text.kernel.startswith("cupygemm_f16_mfma_")
    assert "MFMA" in str(text)
