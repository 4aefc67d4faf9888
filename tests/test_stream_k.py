"""Stream-K: what is cut, without a device; then every way to cut, exact on integers, and the same bits on every run."""

from __future__ import annotations

import collections

import cupy
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cupygemm import chosen
from cupygemm.access import tiles_overlap
from cupygemm.dispatch import Decision, build, decide
from cupygemm.estimate import streams_of
from cupygemm.kernel_config import Tile
from cupygemm.plan import current_device
from cupygemm.problem import F32
from cupygemm.stream_k import StreamK, last_round
from cupygemm.tiles import Device, candidates
from tests.products import integers, place
from tests.test_dispatch import ARCHS, square
from tests.test_fp32_kernels import tiles as simt_tiles
from tests.test_matmul import LAYOUTS


def pieces(cut: StreamK) -> dict[int, list[int]]:
    """K tiles of the pieces of each tile of C in streams, in the order of K, as a kernel finds them."""
    found = collections.defaultdict(list)
    for stream in range(cut.streams):
        step, end = cut.begin(stream), cut.begin(stream + 1)
        while step < end:
            tile = step // cut.steps
            count = min(end, (tile + 1) * cut.steps) - step
            assert stream - cut.stream_of(tile * cut.steps) == len(found[tile])
            found[tile].append(count)
            step += count
    return found


@given(
    tiles=st.integers(1, 2000),
    steps=st.integers(1, 3000),
    block_k=st.sampled_from([8, 16, 32]),
    places=st.integers(1, 264),
)
def test_streams_cover_every_k_tile_once(tiles, steps, block_k, places):
    cut = last_round(tiles, steps, block_k, places)
    if cut is None:
        assert tiles % places == 0 or tiles % places * steps * block_k // 128 <= tiles % places
        return
    assert cut.tiles + cut.whole == tiles
    assert cut.whole % places == 0
    assert cut.tiles < cut.streams <= places
    lengths = {cut.begin(s + 1) - cut.begin(s) for s in range(cut.streams)}
    assert lengths <= {cut.share, cut.share + 1}
    assert min(lengths) > 0
    found = pieces(cut)
    assert sorted(found) == list(range(cut.tiles))
    assert {sum(counts) for counts in found.values()} == {steps}
    assert max(map(len, found.values())) <= cut.pieces


def test_what_is_not_cut():
    assert last_round(264, 100, 8, 132) is None
    assert last_round(1, 1, 8, 132) is None
    assert last_round(131, 2**30, 8, 132) is None  # K tiles are numbered with 32 bits


@pytest.mark.parametrize("arch", ARCHS, ids=lambda a: a.name)
def test_a_round_that_is_nearly_empty_is_cut(arch):
    device = Device(arch, 100)
    if not isinstance(candidates(arch)[0].tile, Tile):
        pytest.skip("products in float32 have matrix instructions here")
    tile = candidates(arch)[0].tile
    problem = square(tile.block_m * 13, tile.block_n * 8, 8192)  # 104 tiles
    decision = decide(problem, device)
    assert isinstance(decision, Decision)
    assert decision.stream_k
    for whole_sums in ({"batch_invariant": True}, {"one_slice": True}):
        assert decide(problem, device, **whole_sums).stream_k is None


def test_a_batch_that_no_grid_holds_is_not_cut():
    device = Device(ARCHS[0], 40)
    tile = next(c.tile for c in candidates(device.arch) if isinstance(c.tile, Tile))
    few, many = (square(tile.block_m, tile.block_n, 256, (batch,)) for batch in (39, 40 * 10**6 + 39))
    assert streams_of(few, device, tile)
    assert streams_of(many, device, tile) is None


def cuts(tile: Tile, blocks: int, steps: int) -> list[StreamK]:
    """Few pieces a tile, many, streams longer than a tile, whole tiles besides."""
    found = []
    for tiles in {1, blocks // 2 or 1, blocks}:
        for streams in {tiles + 1, max(2, tiles * 3 // 4), tiles * steps}:
            if streams <= tiles * steps:
                found.append(StreamK(tiles, streams, steps, blocks - tiles))
    return found


def multiply(a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray, tile: Tile, cut: StreamK) -> None:
    problem = chosen.matrix_problem(a, b, c, F32)
    made = build(problem, current_device(cupy.cuda.runtime.getDevice()), tile, 1, "as asked", cut)
    assert isinstance(made, Decision)
    assert made.config.stream_k
    chosen.run(made, a, b, c)


def overlap(placed: tuple[cupy.ndarray, cupy.ndarray], c: cupy.ndarray, tile: Tile) -> bool:
    arch = current_device(cupy.cuda.runtime.getDevice()).arch
    return tiles_overlap(chosen.matrix_problem(*placed, c, F32), tile, arch.unaligned_vectors)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_cut(device, layout):
    rng = numpy.random.default_rng(31)
    first, second = layout.split("-")
    ran = 0
    for tile in simt_tiles(LAYOUTS.index(layout), len(LAYOUTS)):
        for m, n, k in [
            (tile.block_m * 2 + 1, tile.block_n + 4, tile.block_k * 5 + 3),
            (tile.block_m + 4, tile.block_n + 8, tile.block_k * 4),
            (1, 1, tile.block_k * 3),
        ]:
            a, b = integers(rng, m, k), integers(rng, k, n)
            placed = place(a, first), place(b, second)
            blocks, steps = -(-m // tile.block_m) * -(-n // tile.block_n), -(-k // tile.block_k)
            for cut in cuts(tile, blocks, steps):
                c = cupy.full((m, n), numpy.nan, numpy.float32)
                if overlap(placed, c, tile):
                    break
                multiply(*placed, c, tile, cut)
                numpy.testing.assert_array_equal(c.get(), a @ b, err_msg=f"{tile.name}, {m} x {n} x {k}, {cut}")
                ran += 1
    assert ran


def test_nothing_outside_the_result_is_written(device):
    rng = numpy.random.default_rng(32)
    tile = simt_tiles()[-1]
    a, b = integers(rng, 70, 300), integers(rng, 300, 44)
    frame = cupy.full((160, 100), 77, numpy.float32)
    blocks = -(-70 // tile.block_m) * -(-44 // tile.block_n)
    cut = StreamK(blocks - 1, blocks + 2, -(-300 // tile.block_k), 1)
    multiply(cupy.asarray(a), cupy.asarray(b), frame[5:145:2, 3:47], tile, cut)
    want = numpy.full((160, 100), 77, numpy.float32)
    want[5:145:2, 3:47] = a @ b
    numpy.testing.assert_array_equal(frame.get(), want)


def test_the_same_bits_on_every_run(device):
    rng = numpy.random.default_rng(33)
    tile = simt_tiles()[-1]
    a, b = (cupy.asarray(rng.standard_normal(s, dtype=numpy.float32)) for s in ((100, 776), (776, 92)))
    blocks = -(-100 // tile.block_m) * -(-92 // tile.block_n)
    found = set()
    for _ in range(3):
        c = cupy.empty((100, 92), numpy.float32)
        multiply(a, b, c, tile, StreamK(blocks, blocks * 2 - 1, -(-776 // tile.block_k), 0))
        found.add(c.tobytes())
    assert len(found) == 1
    numpy.testing.assert_allclose(c.get(), a.get().astype(float) @ b.get(), rtol=0, atol=1e-3)
