"""(GemmProblem, Device) -> Decision: the kernel to run and how to launch it, or the reason to leave the product to
cupy.matmul.

The choice of a tile is a rule over a table. The table (tables/*.json, one file an architecture family) lists tiles with
the share of the GPU's peak that a full grid of them reaches; the rule estimates, for each tile, how long the grid
takes: rounds of blocks over the compute units, times the work of a block, over that share. Tuning for an architecture
adds data, not code.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import json

from cupygemm.arch import Arch
from cupygemm.config import MAX_BATCH_RANK, KernelConfig, OperandAccess, Tile, infeasible
from cupygemm.problem import GemmProblem, Matrix, alignment

_INT32 = 2**31 - 1
_GRID_YZ = 65535


@dataclasses.dataclass(frozen=True)
class Device:
    """What a decision depends on: the architecture, and how many compute units (multiprocessors) this GPU has."""

    arch: Arch
    units: int


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A tile and the share of peak that a full grid of it reaches."""

    tile: Tile
    share: float


@dataclasses.dataclass(frozen=True)
class Decision:
    """The kernel to run for a (simplified) problem.

    Attributes:
        config: what to compile.
        group_m: rows of block tiles walked together.
        splits: slices of K; 1 unless config.split.
        k_slice: K range of a slice.
        why: one sentence on why this tile.
    """

    config: KernelConfig
    group_m: int
    splits: int
    k_slice: int
    why: str

    def tiles(self, problem: GemmProblem) -> tuple[int, int]:
        """Block tiles along M and N."""
        tile = self.config.tile
        return -(-problem.m // tile.block_m), -(-problem.n // tile.block_n)


@dataclasses.dataclass(frozen=True)
class Fallback:
    """Why cupy.matmul does the work."""

    reason: str


@functools.cache
def candidates(arch: Arch) -> tuple[Candidate, ...]:
    """The tiles of an architecture's family that are feasible on it, largest first."""
    folder = importlib.resources.files("cupygemm").joinpath("tables")
    name = arch.family if folder.joinpath(f"{arch.family}.json").is_file() else f"wave{arch.wave}"
    rows = json.loads(folder.joinpath(f"{name}.json").read_text())["f32"]
    found = []
    for row in rows:
        share = row.pop("share")
        tile = Tile(**row)
        if infeasible(tile, arch) is None:
            found.append(Candidate(tile, share))
    return tuple(sorted(found, key=lambda c: -c.tile.block_m * c.tile.block_n))


def decide(problem: GemmProblem, device: Device) -> Decision | Fallback:
    """Picks the kernel for a simplified problem with M, N, K and the batch all positive."""
    if max(problem.m, problem.n, problem.k) > _INT32:
        return Fallback(f"a dimension of {max(problem.m, problem.n, problem.k)} does not fit the kernel's 32-bit sizes")
    if len(problem.batch) > MAX_BATCH_RANK:
        return Fallback(f"{len(problem.batch)} batch dimensions do not merge; a kernel walks {MAX_BATCH_RANK}")
    if problem.batches > _GRID_YZ * _GRID_YZ:
        return Fallback(f"{problem.batches} matrices in the batch do not fit the grid")
    options = candidates(device.arch)
    if not options:
        return Fallback(f"no FP32 tile is feasible on {device.arch.name}")
    best = min(options, key=lambda c: _estimate(problem, device, c))
    tile = best.tile
    config = KernelConfig(
        tile=tile,
        a=operand_access(problem.a, problem.m, problem.k, tile.block_m, tile.block_k, problem.itemsize),
        b=operand_access(problem.b, problem.n, problem.k, tile.block_n, tile.block_k, problem.itemsize),
        c_vec=store_width(problem),
        c_unit=problem.c.k == 1 or problem.n == 1,
        batch_rank=len(problem.batch),
        split=False,
    )
    tiles_m, tiles_n = -(-problem.m // tile.block_m), -(-problem.n // tile.block_n)
    if tiles_m * tiles_n * tile.threads >= 2**32:
        return Fallback(f"{tiles_m} x {tiles_n} blocks of {tile.threads} threads do not fit the grid")
    blocks = tiles_m * tiles_n * problem.batches
    why = (
        f"{blocks} blocks of {tile.block_m}x{tile.block_n} over {device.units} compute units: "
        f"the least estimated time of {len(options)} tiles for {device.arch.family}"
    )
    return Decision(config, _group(tiles_m, device), 1, problem.k, why)


def _estimate(problem: GemmProblem, device: Device, candidate: Candidate) -> float:
    """Relative time of the grid. Blocks that share a unit slow one another down, so a round is one block a unit."""
    tile = candidate.tile
    blocks = -(-problem.m // tile.block_m) * -(-problem.n // tile.block_n) * problem.batches
    rounds = max(1.0, blocks / device.units) if blocks > 4 * device.units else -(-blocks // device.units)
    depth = (
        -(-problem.k // tile.block_k) * tile.block_k + 2 * tile.block_k
    )  # two tiles' worth to fill the pipeline and store
    return rounds * tile.block_m * tile.block_n * depth / candidate.share


def _group(tiles_m: int, device: Device) -> int:
    """Rows of tiles in a group: about square groups of the blocks that run at once keep the rows of A and columns of B
    they share in L2."""
    side = 1
    while side * side < device.units and side < 16:
        side *= 2
    return max(1, min(side, tiles_m))


def operand_access(x: Matrix, rows: int, k: int, block_rows: int, block_k: int, itemsize: int) -> OperandAccess:
    """How to read an operand of `rows` x `k`: the widest loads that its strides, extents and address allow.

    An index of extent 1 counts as contiguous, since its stride is never used.
    """
    batch_align = min((alignment(s * itemsize) for s in x.batch), default=16)

    def width(extent: int, unit_stride: int, other: int) -> int:
        if unit_stride != 1 and extent > 1:
            return 0
        if extent == 1:
            return 1
        for vec in (4, 2):
            size = vec * itemsize
            if extent % vec == 0 and x.align % size == 0 and other * itemsize % size == 0 and batch_align % size == 0:
                return vec
        return 1

    along_k = width(k, x.k, x.rows if rows > 1 else 0)
    along_rows = width(rows, x.rows, x.k if k > 1 else 0)
    vec = max(along_k, along_rows)
    unit = vec > 0
    contiguous = "k" if along_k == vec and (unit or abs(x.k) <= abs(x.rows)) else "rows"
    reach = (block_rows * abs(x.rows) + block_k * abs(x.k)) * itemsize
    wide = reach >= 2**31 or x.rows < 0 or x.k < 0
    return OperandAccess("k" if contiguous == "k" else "rows", max(vec, 1), unit, wide)


def store_width(problem: GemmProblem) -> int:
    """Columns of C that one store may move."""
    c = problem.c
    if c.k != 1:
        return 1
    batch_align = min((alignment(s * problem.itemsize) for s in c.batch), default=16)
    for vec in (4, 2):
        size = vec * problem.itemsize
        rows_fit = problem.m == 1 or c.rows * problem.itemsize % size == 0
        if problem.n % vec == 0 and rows_fit and c.align % size == 0 and batch_align % size == 0:
            return vec
    return 1
