"""(GemmProblem, Device) -> Decision: the kernel to run and how to launch it, or the reason to leave the product to
cupy.matmul.

The choice of a tile is a rule over a table (tiles.py): the least estimated time (estimate.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal

from cupygemm.access import gathers_rows, gemv_access, store_access, tile_access
from cupygemm.estimate import blocks_of, costs_on, cycles, k_slice_of, slice_counts, stream_cycles, streams_of
from cupygemm.gemv_tile import COLUMNS, MOST_ROWS, GemvTile
from cupygemm.kernel_config import MAX_BATCH_RANK, KernelConfig, Tile
from cupygemm.matrix_tile import MatrixTile
from cupygemm.mfma_tile import MfmaTile
from cupygemm.problem import F32, GemmProblem, into_workspace
from cupygemm.stream_k import StreamK
from cupygemm.tiles import Candidate, Device, candidates

_INT32 = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class Decision:
    """The kernel to run for a (simplified) problem.

    Attributes:
        config: what to compile.
        group_m: rows of block tiles walked together.
        splits: slices of K; 1 unless config.split.
        k_slice: K range of a slice.
        why: one sentence on why this tile.
        stream_k: the tiles of C that blocks share; None unless config.stream_k.
    """

    config: KernelConfig
    group_m: int
    splits: int
    k_slice: int
    why: str
    stream_k: StreamK | None = None

    def tiles(self, problem: GemmProblem) -> tuple[int, int]:
        """Block tiles along M and N."""
        tile = self.config.tile
        return -(-problem.m // tile.block_m), -(-problem.n // tile.block_n)


@dataclasses.dataclass(frozen=True)
class Fallback:
    """Why no kernel does the work in one piece.

    Attributes:
        reason: in words.
        cut: what to cut in parts so that a kernel can do each: "k", the "batch", or the longest of M, N and the batch
            ("size"). None where cutting does not help; then cupy.matmul does the work.
    """

    reason: str
    cut: Literal["k", "batch", "size"] | None = None


def decide(
    problem: GemmProblem, device: Device, batch_invariant: bool = False, one_slice: bool = False
) -> Decision | Fallback:
    """Picks the kernel for a simplified problem with M, N, K and the batch all positive.

    Args:
        batch_invariant: K is added up in an order that does not depend on M.
        one_slice: no split along K and no kernel for few rows: the epilogue must see whole sums.
    """
    if problem.k > _INT32:
        return Fallback(f"K = {problem.k} does not fit the kernel's 32-bit sizes", "k")
    if max(problem.m, problem.n) > _INT32:
        return Fallback(f"a dimension of {max(problem.m, problem.n)} does not fit the kernel's 32-bit sizes", "size")
    if len(problem.batch) > MAX_BATCH_RANK:
        return Fallback(f"{len(problem.batch)} batch dimensions do not merge; a kernel walks {MAX_BATCH_RANK}", "batch")
    if problem.batches > _INT32:
        return Fallback(f"{problem.batches} matrices in the batch do not fit the kernel's 32-bit sizes", "size")
    types = problem.types
    options = candidates(device.arch, types)
    if not options:
        return Fallback(f"no kernel for {types.operand} on {device.arch.name}")
    if not (batch_invariant or one_slice) and (few := few_rows(problem, device)):
        return few
    if batch_invariant:
        options = tuple(c for c in options if _order_of_k(c.tile) == _order_of_k(options[0].tile))
    choices = _choices(problem, device, options, whole_sums=batch_invariant or one_slice)
    _, tile, splits, stream_k = min(choices, key=lambda choice: choice[0])
    reason = f"the least estimated time of {len(options)} tiles for {device.arch.family}"
    return build(problem, device, tile, splits, reason, stream_k)


def _choices(
    problem: GemmProblem, device: Device, options: tuple[Candidate, ...], whole_sums: bool
) -> Iterator[tuple[float, Tile | MatrixTile, int, StreamK | None]]:
    """Estimated clocks, tile, slices of K, streams. `whole_sums`: one block adds up all of K."""
    costs = costs_on(device)
    slices = (1,) if whole_sums else slice_counts(problem, options)
    for c in options:
        for s in slices:
            if s == 1 or s * blocks_of(problem, c.tile) <= 4 * device.units:
                yield cycles(problem, device, c, s) * (1 if s == 1 else costs.doubt), c.tile, s, None
        if not whole_sums and (stream_k := streams_of(problem, device, c.tile)):
            yield stream_cycles(problem, device, c, stream_k) * costs.stream_doubt, c.tile, 1, stream_k


def build(
    problem: GemmProblem,
    device: Device,
    tile: Tile | MatrixTile,
    splits: int,
    reason: str,
    stream_k: StreamK | None = None,
) -> Decision | Fallback:
    """The kernel with this tile and at most `splits` slices of K for a problem, or tiles in streams; `reason` ends its
    account of itself."""
    k_slice = k_slice_of(problem.k, tile, splits)
    splits = -(-problem.k // k_slice)
    target = problem if splits == 1 else into_workspace(problem)
    unaligned = device.arch.unaligned_vectors
    c_vec, c_aligned = store_access(target, unaligned)
    config = KernelConfig(
        tile=tile,
        a=tile_access(problem.a, problem.m, tile.block_m, problem, tile, unaligned),
        b=tile_access(problem.b, problem.n, tile.block_n, problem, tile, unaligned),
        c_vec=c_vec,
        c_unit=problem.c.k == 1 or problem.n == 1 or splits > 1,
        batch_rank=len(problem.batch),
        split=splits > 1,
        types=target.types,
        c_aligned=c_aligned,
        gathered=c_vec > 1 and gathers_rows(tile, target.types),
        stream_k=stream_k is not None,
    )
    tiles_m, tiles_n = -(-problem.m // tile.block_m), -(-problem.n // tile.block_n)
    if tiles_m * tiles_n * tile.threads >= 2**32:
        return Fallback(f"{tiles_m} x {tiles_n} blocks of {tile.threads} threads do not fit the grid", "size")
    blocks = tiles_m * tiles_n * problem.batches
    why = (
        f"{blocks} blocks of {tile.block_m}x{tile.block_n} over {device.units} compute units"
        f"{f', each in {splits} slices of K' * (splits > 1)}"
        f"{f', {stream_k.tiles} tiles shared by {stream_k.streams} blocks' if stream_k else ''}: {reason}"
    )
    return Decision(config, _group(tiles_m, device), splits, k_slice, why, stream_k)


def _order_of_k(tile: Tile | MatrixTile) -> tuple[str, int, int]:
    """What decides in which order a tile adds up K: an instruction of another shape sums another part of K at once."""
    if isinstance(tile, MfmaTile):
        return "mfma", tile.block_k, tile.instruction
    return ("fma", tile.block_k, tile.slices) if isinstance(tile, Tile) else ("wmma", tile.block_k, 1)


def few_rows(problem: GemmProblem, device: Device) -> Decision | None:
    """The GEMV kernel, where the product has few rows and enough columns to keep the compute units busy."""
    if problem.types != F32 or problem.m > MOST_ROWS:
        return None
    a = gemv_access(problem.a, problem.m, problem)
    b = gemv_access(problem.b, problem.n, problem)
    tile = GemvTile(1 << (problem.m - 1).bit_length(), COLUMNS if b.contiguous == "k" else COLUMNS * b.vec)
    blocks = -(-problem.n // tile.block_n) * problem.batches
    if problem.m > 1 and b.contiguous == "k" and not (a.contiguous == "k" and a.vec >= b.vec):
        return None  # one load of A for each product
    if blocks < device.units // 2 or problem.k < 64:
        return None
    config = KernelConfig(tile, a, b, 1, problem.c.k == 1, len(problem.batch), False, problem.types)
    why = f"{problem.m} rows: bound by reading B, which {blocks} blocks do once"
    return Decision(config, 1, 1, problem.k, why)


def _group(tiles_m: int, device: Device) -> int:
    """Rows of tiles in a group: about square groups of the blocks that run at once keep the rows of A and columns of B
    they share in L2."""
    side = 1
    while side * side < device.units and side < 16:
        side *= 2
    return max(1, min(side, tiles_m))
