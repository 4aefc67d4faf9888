"""Every FP32 tile of the table, split-K and the kernel for few rows, whatever the dispatcher would choose: exact on
integers in every layout and at ragged sizes, and the same bits on every run."""

from __future__ import annotations

import cupy
import numpy
import pytest

import cupygemm
from cupygemm import plan as planning
from cupygemm.dispatch import Decision, build
from cupygemm.gemv_tile import GemvTile
from cupygemm.kernel_config import Tile
from cupygemm.plan import Layout, Plan, Shapes, current_device, prepare
from cupygemm.problem import F32, simplified
from cupygemm.tiles import candidates
from tests.conftest import REAL_GPU
from tests.products import assert_close, integers, place
from tests.test_matmul import LAYOUTS

SIZES = [(1, 1, 1), (129, 257, 41), (260, 132, 72)]


def multiply(a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray, tile: Tile, splits: int) -> Decision:
    """Into `c`, with this tile and number of K slices."""
    device = current_device(cupy.cuda.runtime.getDevice())
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    shapes = Shapes(c.shape[:-2], m, n, k, c.shape)
    problem, swapped = simplified(planning._problem(shapes, Layout.of(a), Layout.of(b), Layout.of(c), F32))
    decision = build(problem, device, tile, splits, "as asked")
    assert isinstance(decision, Decision)
    launches = prepare(Plan(device, problem, decision, None, swapped), cupy.cuda.runtime.getDevice())
    first, second = (b, a) if swapped else (a, b)
    launches.run(first.data.ptr, second.data.ptr, c.data.ptr, cupy.cuda.get_current_stream().ptr)
    return decision


def tiles(share: int = 0, of: int = 1) -> list[Tile]:
    """The FP32 tiles of the current device; on an emulated one, where compiling takes the time, every `of`-th."""
    arch = current_device(cupy.cuda.runtime.getDevice()).arch
    found = [c.tile for c in candidates(arch) if isinstance(c.tile, Tile)]
    return found if REAL_GPU else found[share % len(found) :: of]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_tile(device, layout):
    rng = numpy.random.default_rng(21)
    first, second = layout.split("-")
    for tile in tiles(LAYOUTS.index(layout), len(LAYOUTS)):
        for m, n, k in SIZES:
            a, b = integers(rng, m, k), integers(rng, k, n)
            c = cupy.full((m, n), numpy.nan, numpy.float32)
            multiply(place(a, first), place(b, second), c, tile, 1)
            numpy.testing.assert_array_equal(c.get(), a @ b, err_msg=f"{tile.name}, {m} x {n} x {k}")


@pytest.mark.parametrize("splits", [2, 3, 7])
def test_slices_of_k(device, splits):
    rng = numpy.random.default_rng(22)
    for tile in tiles(splits % 4, 4):
        for m, n, k in [(33, 36, 300), (65, 31, 1000)]:
            a, b = integers(rng, 3, m, k), integers(rng, 3, k, n)
            c = cupy.full((3, m, n), numpy.nan, numpy.float32)
            decision = multiply(cupy.asarray(a), cupy.asarray(b), c, tile, splits)
            assert decision.splits > 1
            numpy.testing.assert_array_equal(c.get(), a @ b, err_msg=f"{tile.name}, {decision.splits} slices")


def test_slices_of_k_write_strided_results(device):
    rng = numpy.random.default_rng(23)
    a, b = integers(rng, 40, 500), integers(rng, 500, 44)
    frame = cupy.full((90, 100), 77, numpy.float32)
    multiply(cupy.asarray(a), cupy.asarray(b), frame[5:85:2, 3:91:2], tiles()[-1], 4)
    want = numpy.full((90, 100), 77, numpy.float32)
    want[5:85:2, 3:91:2] = a @ b
    numpy.testing.assert_array_equal(frame.get(), want)


def test_the_same_bits_from_slices(device):
    rng = numpy.random.default_rng(24)
    a, b = (cupy.asarray(rng.standard_normal(s, numpy.float32)) for s in ((64, 2000), (2000, 64)))
    for tile in tiles()[-3:]:
        first, again = (cupy.empty((64, 64), numpy.float32) for _ in range(2))
        multiply(a, b, first, tile, 5)
        for _ in range(3):
            multiply(a, b, again, tile, 5)
            numpy.testing.assert_array_equal(again.get(), first.get(), err_msg=tile.name)
        assert_close(first.get(), a.get(), b.get())


def test_denormals_survive_slices(device):
    tiny = numpy.full((32, 512), 2.0**-140, numpy.float32)
    c = cupy.empty((32, 32), numpy.float32)
    multiply(cupy.asarray(tiny), cupy.ones((512, 32), numpy.float32), c, tiles()[-1], 4)
    numpy.testing.assert_array_equal(c.get(), numpy.full((32, 32), 2.0**-131, numpy.float32))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_few_rows_and_few_columns(device, layout, rows):
    """Sizes for which the dispatcher takes the GEMV kernel, also ragged and strided."""
    rng = numpy.random.default_rng(rows)
    first, second = layout.split("-")
    seen = set()
    for n, k in [(4096, 64), (4099, 100), (8200, 301)]:
        a, b = integers(rng, rows, k), integers(rng, k, n)
        x, y = place(a, first), place(b, second)
        seen.add(cupygemm.explain(x, y).kernel)
        numpy.testing.assert_array_equal(cupygemm.matmul(x, y).get(), a @ b, err_msg=f"{rows} x {n} x {k}")
        numpy.testing.assert_array_equal(cupygemm.matmul(y.T, x.T).get(), (a @ b).T, err_msg=f"{n} x {rows} x {k}")
    assert any("gemv" in name for name in seen) or (rows > 1 and second == "col"), seen


def test_few_rows_in_batches_and_views(device):
    rng = numpy.random.default_rng(31)
    a, b = integers(rng, 3, 2, 130), integers(rng, 3, 130, 2050)
    got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b))
    numpy.testing.assert_array_equal(got.get(), a @ b)
    wide = cupy.asarray(integers(rng, 140, 9000))
    x, y = wide[1:3, 3:260:2], wide[2:131, 1:8999:2]
    numpy.testing.assert_array_equal(cupygemm.matmul(x, y).get(), x.get() @ y.get())


def test_gemv_tiles_are_checked():
    with pytest.raises(ValueError, match="3 rows"):
        GemvTile(3, 32)
