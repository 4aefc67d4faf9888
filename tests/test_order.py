"""BlockOrder: how blocks are numbered over the dies of CDNA 3 and 4."""

from __future__ import annotations

import cupy
import numpy
import pytest

from cupygemm.arch import amd_arch
from cupygemm.plan import current_device
from cupygemm.source import compile_options
from tests.conftest import DEVICES, REAL_GPU

DIES = 8
WITH_DIES = () if REAL_GPU else tuple(d for d in DEVICES if amd_arch(d).family in ("cdna3", "cdna4"))
SIZES = (1, 7, 8, 9, 64, 100, 304, 1031)


def orders(body: str, count: int, *arguments: int) -> numpy.ndarray:
    """What an expression of `i` gives for i = 0 .. count - 1 on the current device."""
    code = f"""#include "order.hpp"
using namespace cg;
extern "C" __global__ void ask(int* out, int count, int x, int y, int z) {{
  GemmArgs args{{}};
  args.tiles_m = x, args.tiles_n = y, args.group_m = z;
  for (int i = 0; i < count; ++i) {{ {body} }}
}}
"""
    options = compile_options(current_device(cupy.cuda.runtime.getDevice()).arch)
    kernel = cupy.RawModule(code=code, options=options).get_function("ask")
    out = cupy.full(2 * count, -1, numpy.int32)
    padded = [numpy.int32(a) for a in (count, *arguments, 0, 0, 0)[:4]]
    kernel((1,), (1,), (out, *padded))
    return out.get()


@pytest.mark.parametrize("arch", WITH_DIES)
def test_each_die_gets_neighbours(arch):
    """Block i runs on die i % 8. Every number occurs once, and those of a die follow one another."""
    with cupy.cuda.Device(DEVICES.index(arch)):
        for blocks in SIZES:
            got = orders("out[i] = die_order(i, count);", blocks)[:blocks]
            assert sorted(got) == list(range(blocks))
            for die in range(min(DIES, blocks)):
                numpy.testing.assert_array_equal(numpy.diff(got[die::DIES]), 1, err_msg=f"die {die} of {blocks} blocks")


def test_targets_of_one_die_keep_the_order(device):
    if current_device(device.id).arch.family in ("cdna3", "cdna4"):
        pytest.skip("has several dies")
    numpy.testing.assert_array_equal(orders("out[i] = die_order(i, count);", 100)[:100], numpy.arange(100))


def test_groups_visit_every_tile_once(device):
    for tiles_m, tiles_n, group in ((1, 1, 1), (5, 3, 2), (4, 7, 4), (9, 2, 4)):
        count = tiles_m * tiles_n
        got = orders("grouped(i, args, out[2 * i], out[2 * i + 1]);", count, tiles_m, tiles_n, group).reshape(-1, 2)
        assert sorted(map(tuple, got.tolist())) == [(m, n) for m in range(tiles_m) for n in range(tiles_n)]
        rows = min(group, tiles_m)
        numpy.testing.assert_array_equal(got[:rows], [(m, 0) for m in range(rows)])


def lines_read_by_window(tiles: numpy.ndarray, block_m: int, block_n: int, row_bytes: int, window: int) -> float:
    """Distinct cache lines of 128 bytes of A and B that `window` consecutive blocks read, on average over the windows;
    `tiles` lists the blocks' tiles."""
    counts = []
    for first in range(0, len(tiles), window):
        rows, columns = (set(x) for x in tiles[first : first + window].T.tolist())
        counts.append((len(rows) * block_m + len(columns) * block_n) * row_bytes // 128)
    return sum(counts) / len(counts)


@pytest.mark.parametrize(("size", "saved"), [(4096, 1.5), (8192, 2.7)])
def test_groups_save_cache_lines(device, size, saved):
    """FP16 in blocks of 256 x 128, 64 at a time (a Radeon RX 9070 XT has 64 compute units): groups of 8 rows of tiles
    read fewer lines than plain rows do."""
    tiles_m, tiles_n, count = size // 256, size // 128, size // 256 * (size // 128)
    body = "grouped(i, args, out[2 * i], out[2 * i + 1]);"
    grouped, plain = (
        lines_read_by_window(orders(body, count, tiles_m, tiles_n, group).reshape(-1, 2), 256, 128, 2 * size, 64)
        for group in (8, 1)
    )
    assert plain / grouped >= saved
