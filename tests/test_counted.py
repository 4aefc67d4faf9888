"""What the emulated GPU counts in the loop of the large kernels: LDS bank conflicts, and cache lines of A and B."""

from __future__ import annotations

import dataclasses

import cupy
import numpy
import pytest

from cupygemm import chosen, ladder
from cupygemm.dispatch import build
from cupygemm.plan import current_device
from cupygemm.problem import F32, Types
from cupygemm.tiles import candidates
from tests.conftest import FULL, REAL_GPU
from tests.products import place

if REAL_GPU:
    pytest.skip("counters are the emulated GPU's", allow_module_level=True)
import cupygemm.emulator
from cupygemm.emulator.profiling import Dispatch

F16 = Types("f16", "f32", "f16")
LAYOUTS = ("row-row", "row-col", "col-row", "col-col")
_LINE = 128


def one_block(tile, types: Types, layout: str, k_tiles: int, load: int = 16) -> Dispatch:
    """The counters of a product that one block computes."""
    dtype = numpy.dtype("f2" if types.operand == "f16" else "f4")
    m, n, k = tile.block_m, tile.block_n, tile.block_k * k_tiles
    first, second = layout.split("-")
    a, b = place(numpy.ones((m, k), dtype), first), place(numpy.ones((k, n), dtype), second)
    c = cupy.empty((m, n), dtype)
    decision = ladder.decision(tile, chosen.matrix_problem(a, b, c, types), load)
    with cupygemm.emulator.profile() as profiled:
        chosen.run(decision, a, b, c)
    assert (c.get() == k).all()
    return profiled.dispatches[0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("types", [F16, F32], ids=lambda t: t.name)
def test_no_bank_conflicts_and_each_line_once(device, types, layout):
    """One K tile more adds no conflicts, and reads each line of the tiles of A and B once where a row of the tile fills
    lines."""
    arch = current_device(device.id).arch
    for tile in (c.tile for c in candidates(arch, types)[: 1 + FULL]):
        two, three = (one_block(tile, types, layout, k_tiles) for k_tiles in (2, 3))
        assert three.lds_conflicts == two.lds_conflicts == 0, tile.name
        assert three.lds_cycles > two.lds_cycles, tile.name
        if tile.block_k * types.itemsize % _LINE == 0:
            lines = (tile.block_m + tile.block_n) * tile.block_k * types.itemsize // _LINE
            assert three.lines_read - two.lines_read == lines, tile.name


@pytest.mark.parametrize("types", [F16, F32], ids=lambda t: t.name)
def test_gathered_rows_fill_cache_lines(device, types):
    """Results are stored by whole cache lines where waves gather rows in LDS; straight from registers they are not."""
    arch = current_device(device.id).arch
    seen = 0
    for tile in (c.tile for c in candidates(arch, types)[: None if FULL else 2]):
        a, b = (cupy.ones(shape, "f2" if types == F16 else "f4") for shape in ((tile.block_m, 64), (64, tile.block_n)))
        c = cupy.empty((tile.block_m, tile.block_n), a.dtype)
        made = build(chosen.matrix_problem(a, b, c, types), current_device(device.id), tile, 1, "asked for")
        if not made.config.gathered:
            continue
        written = []
        for gathered in (True, False):
            with cupygemm.emulator.profile() as profiled:
                config = dataclasses.replace(made.config, gathered=gathered)
                chosen.run(dataclasses.replace(made, config=config), a, b, c)
            assert (c.get() == 64).all()
            written.append(profiled.dispatches[0].lines_written)
        row = tile.block_n // tile.waves_n * types.result_itemsize
        if row % _LINE == 0:
            assert written[0] == c.nbytes // _LINE, tile.name
        assert written[0] <= written[1] / 2, tile.name
        seen += 1
    assert seen or types == F32


def test_what_would_be_counted(device):
    """Of the counters above: plain rows in LDS give conflicts, and loads of 4 bytes read lines again and again."""
    arch = current_device(device.id).arch
    if arch.family not in ("rdna3", "rdna4"):
        pytest.skip("the tutorial's steps are for WMMA")
    step = next(s for s in ladder.steps("fp16") if s.tile.lds == "plain" and s.infeasible(arch) is None)
    assert one_block(step.tile, step.types, "row-col", 2).lds_conflicts > 0
    tile = candidates(arch, F16)[0].tile
    two, three = (one_block(tile, F16, "row-col", k_tiles, load=2) for k_tiles in (2, 3))
    lines = (tile.block_m + tile.block_n) * tile.block_k * 2 // _LINE
    assert three.lines_read - two.lines_read > 4 * lines
