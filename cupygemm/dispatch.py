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
import math
from typing import Literal

from cupygemm.arch import Arch
from cupygemm.gemv_tile import COLUMNS, MOST_ROWS, GemvTile
from cupygemm.kernel_config import MAX_BATCH_RANK, KernelConfig, OperandAccess, Tile, infeasible
from cupygemm.matrix_tile import MatrixTile
from cupygemm.mfma_tile import MfmaTile
from cupygemm.problem import F32, GemmProblem, Matrix, Types, alignment

_INT32 = 2**31 - 1
_GRID_YZ = 65535


@dataclasses.dataclass(frozen=True)
class Device:
    """What a decision depends on: the architecture, and how many compute units (multiprocessors) this GPU has."""

    arch: Arch
    units: int


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A tile and how well it does.

    Attributes:
        tile: the tile.
        share: share of peak that a grid reaches which fills every compute unit.
        alone: share of peak that one block reaches with a compute unit to itself; None where that is `share`.
        both_k: `share` where K is contiguous in both operands; None where that is `share`.
    """

    tile: Tile | MatrixTile
    share: float
    alone: float | None = None
    both_k: float | None = None


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
    """Why no kernel does the work in one piece.

    Attributes:
        reason: in words.
        cut: what to cut in parts so that a kernel can do each: "k", the "batch", or the longest of M, N and the batch
            ("size"). None where cutting does not help; then cupy.matmul does the work.
    """

    reason: str
    cut: Literal["k", "batch", "size"] | None = None


#: The tables' keys by operand type.
_TABLES = {
    "f64": "f64",
    "f32": "f32",
    "f16": "16bit",
    "bf16": "16bit",
    "i8": "8bit",
    "e4m3": "float8",
    "e5m2": "float8",
}


@functools.cache
def candidates(arch: Arch, types: Types = F32) -> tuple[Candidate, ...]:
    """The tiles for these types that are feasible on an architecture, largest first."""
    found = []
    for row in _table(arch, _TABLES[types.operand]):
        speed = {key: row.pop(key, None) for key in ("share", "alone", "both_k")}
        tile = (Tile if "lanes_m" in row else MfmaTile if "instruction" in row else MatrixTile)(**row)
        if infeasible(tile, arch, types) is None:
            found.append(Candidate(tile, **speed))
    return tuple(sorted(found, key=lambda c: -c.tile.block_m * c.tile.block_n))


def _table(arch: Arch, key: str) -> list[dict]:
    """The rows of the family's table, or else of the one for every target with waves of this size."""
    folder = importlib.resources.files("cupygemm").joinpath("tables")
    for name in (arch.family, f"wave{arch.wave}"):
        file = folder.joinpath(f"{name}.json")
        if file.is_file() and (rows := json.loads(file.read_text()).get(key)):
            return rows
    return []


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
    slices = (1,) if batch_invariant or one_slice else _slices(problem, options)
    choices = [
        (_cycles(problem, device, c, s) * (1 if s == 1 else _costs(device).doubt), i, s)
        for i, c in enumerate(options)
        for s in slices
        if s == 1 or s * _blocks(problem, c.tile) <= 4 * device.units
    ]
    _, index, splits = min(choices)
    reason = f"the least estimated time of {len(options)} tiles for {device.arch.family}"
    return build(problem, device, options[index].tile, splits, reason)


def build(
    problem: GemmProblem, device: Device, tile: Tile | MatrixTile, splits: int, reason: str
) -> Decision | Fallback:
    """The kernel with this tile and at most `splits` slices of K for a problem; `reason` ends its account of itself."""
    k_slice = _k_slice(problem.k, tile, splits)
    splits = -(-problem.k // k_slice)
    target = problem if splits == 1 else into_workspace(problem)
    unaligned = device.arch.unaligned_vectors
    c_vec, c_aligned = store_access(target, unaligned)
    config = KernelConfig(
        tile=tile,
        a=_access(problem.a, problem.m, tile.block_m, problem, tile, unaligned),
        b=_access(problem.b, problem.n, tile.block_n, problem, tile, unaligned),
        c_vec=c_vec,
        c_unit=problem.c.k == 1 or problem.n == 1 or splits > 1,
        batch_rank=len(problem.batch),
        split=splits > 1,
        types=target.types,
        c_aligned=c_aligned,
        gathered=c_vec > 1 and gathers_rows(tile, target.types),
    )
    tiles_m, tiles_n = -(-problem.m // tile.block_m), -(-problem.n // tile.block_n)
    if tiles_m * tiles_n * tile.threads >= 2**32:
        return Fallback(f"{tiles_m} x {tiles_n} blocks of {tile.threads} threads do not fit the grid", "size")
    blocks = tiles_m * tiles_n * problem.batches
    why = (
        f"{blocks} blocks of {tile.block_m}x{tile.block_n} over {device.units} compute units"
        f"{f', each in {splits} slices of K' * (splits > 1)}: {reason}"
    )
    return Decision(config, _group(tiles_m, device), splits, k_slice, why)


def _order_of_k(tile: Tile | MatrixTile) -> tuple[str, int, int]:
    """What decides in which order a tile adds up K: an instruction of another shape sums another part of K at once."""
    if isinstance(tile, MfmaTile):
        return "mfma", tile.block_k, tile.instruction
    return ("fma", tile.block_k, tile.slices) if isinstance(tile, Tile) else ("wmma", tile.block_k, 1)


def few_rows(problem: GemmProblem, device: Device) -> Decision | None:
    """The GEMV kernel, where the product has few rows and enough columns to keep the compute units busy."""
    if problem.types != F32 or problem.m > MOST_ROWS:
        return None
    a = _gemv_access(problem.a, problem.m, problem)
    b = _gemv_access(problem.b, problem.n, problem)
    tile = GemvTile(1 << (problem.m - 1).bit_length(), COLUMNS if b.contiguous == "k" else COLUMNS * b.vec)
    blocks = -(-problem.n // tile.block_n) * problem.batches
    if problem.m > 1 and b.contiguous == "k" and not (a.contiguous == "k" and a.vec >= b.vec):
        return None  # one load of A for each product
    if blocks < device.units // 2 or problem.k < 64:
        return None
    config = KernelConfig(tile, a, b, 1, problem.c.k == 1, len(problem.batch), False, problem.types)
    why = f"{problem.m} rows: bound by reading B, which {blocks} blocks do once"
    return Decision(config, 1, 1, problem.k, why)


def _gemv_access(x: Matrix, rows: int, problem: GemmProblem) -> OperandAccess:
    # The kernel's offsets have 64 bits in any case, so that `wide` would only make two kernels of one.
    access = operand_access(x, rows, problem.k, 1, 1, problem.types.itemsize)
    return dataclasses.replace(access, wide=False)


def into_workspace(problem: GemmProblem) -> GemmProblem:
    """The problem with C replaced by one slice's place in the workspace: FP32, matrix after matrix, row-major."""
    size = problem.m * problem.n
    steps = tuple(size * math.prod(problem.batch[d + 1 :]) for d in range(len(problem.batch)))
    types = dataclasses.replace(problem.types, result="f32")
    return dataclasses.replace(problem, c=Matrix(problem.n, 1, steps, 16), types=types)


#: FMAs that a compute unit does in a clock.
_FMAS = 128
#: The same of matrix instructions with 16-bit operands; bytes go twice as fast.
_MATRIX_FMAS = {"rdna3": 256, "rdna4": 512, "cdna1": 512, "cdna2": 512, "cdna3": 1024, "cdna4": 2048}


def _matrix_fmas(arch: Arch, itemsize: int) -> int:
    """FMAs that the matrix units of a compute unit do in a clock on operands of this size. In float32 and float64 they
    are as fast as the vector units; float64 is half as fast on CDNA 4."""
    if itemsize >= 4:
        return _FMAS // 2 if arch.family == "cdna4" and itemsize == 8 else _FMAS
    return _MATRIX_FMAS[arch.family] * 2 // itemsize


@dataclasses.dataclass(frozen=True)
class Costs:
    """What a grid costs beyond its FMAs, in clocks.

    Attributes:
        block: from a block's start to its first FMA, and from its last FMA to its end, without the stores.
        stored_bytes: bytes of C that a block stores in a clock.
        second_launch: the kernel that adds up slices of K, its workspace, and a launch that is no graph (_graphs.py).
        doubt: how many times the estimate for a product in slices must fit into that for one without.
    """

    block: float
    stored_bytes: float
    second_launch: float
    doubt: float


# Fitted to timings of 27 tiles and 68 products, and of K slices, on an H200 (sm_90) at 1.9 GHz. The tile that they lead
# to takes 0.9 % longer than the fastest of the 27 (geometric mean of the products), 4.6 % at most.
_NVIDIA = Costs(700, 16.5, 12000, 1.25)
# No more than an order of magnitude.
_AMD = Costs(700, math.inf, 6400, 1.0)
#: Bytes that a compute unit moves in a clock, where the operands are small enough to come from the L2 cache.
_BYTES = 33
#: Clocks from asking for data until it is in LDS, out of the L2 cache and, for operands of more bytes, from memory.
_LATENCY, _FROM_MEMORY, _CACHED_BYTES = 300, 800, 40e6
_MOST_WORKSPACE = 2**28


def _costs(device: Device) -> Costs:
    return _AMD if device.arch.is_amd else _NVIDIA


def _slices(problem: GemmProblem, options: tuple[Candidate, ...]) -> tuple[int, ...]:
    """Numbers of K slices to consider."""
    room = _MOST_WORKSPACE // (problem.m * problem.n * problem.batches * 4)
    most = min(room, problem.k // 128, 64)
    if problem.types.accumulate != "f32":  # the workspace holds FP32
        most = 1
    return tuple(s for s in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if s <= max(1, most))


def _blocks(problem: GemmProblem, tile: Tile | MatrixTile) -> int:
    return -(-problem.m // tile.block_m) * -(-problem.n // tile.block_n) * problem.batches


def _k_slice(k: int, tile: Tile | MatrixTile, splits: int) -> int:
    return k if splits == 1 else -(-k // (splits * tile.block_k)) * tile.block_k


def _cycles(problem: GemmProblem, device: Device, candidate: Candidate, splits: int) -> float:
    """Estimated clocks of the grid, and of adding up the slices.

    Blocks that share a unit slow one another down, so a round is one block a unit; but one block alone does not keep a
    unit as busy as several.
    """
    tile, full = candidate.tile, candidate.share
    if candidate.both_k and problem.a.k == problem.b.k == 1:
        full = candidate.both_k
    alone = candidate.alone or full
    blocks, units = splits * _blocks(problem, tile), device.units
    fmas = _FMAS
    if isinstance(tile, MatrixTile):
        fmas = _matrix_fmas(device.arch, tile.itemsize)
        # HIP counts pairs of compute units on RDNA, and a block keeps to one of the pair.
        units *= 2 if device.arch.family.startswith("rdna") else 1
    rounds = max(1.0, blocks / units) if blocks > 16 * units else -(-blocks // units)
    depth = -(-_k_slice(problem.k, tile, splits) // tile.block_k) * tile.block_k
    share = min(full, alone * rounds)
    work = rounds * tile.block_m * tile.block_n * depth * _copy_overhead(problem, tile) / (fmas * share)
    costs = _costs(device)
    around = costs.block + problem.types.result_itemsize * tile.block_m * tile.block_n / costs.stored_bytes
    cycles = work + around * max(1.0, rounds * alone / full)
    moved = problem.m * problem.k + problem.k * problem.n + problem.m * problem.n
    moved *= problem.types.itemsize * problem.batches
    cycles = max(cycles, moved / (_BYTES * device.units), _waiting(tile, depth // tile.block_k, rounds, moved))
    if splits > 1:
        partial = problem.m * problem.n * problem.batches * (2 * splits + 1)
        partial *= 4 // min(4, store_width(into_workspace(problem)))  # single elements move a quarter as fast
        cycles += costs.second_launch + 4 * partial / (_BYTES * device.units)
    return cycles


def _waiting(tile: Tile | MatrixTile, steps: int, rounds: float, moved: int) -> float:
    """Clocks in which blocks that do nothing but wait for their copies would walk `steps` tiles of K: copies are under
    way for as many tiles as there are buffers, but for the one that is read and the one that was."""
    if isinstance(tile, MatrixTile) or tile.staging != "async":
        return 0.0
    latency = _FROM_MEMORY if moved > _CACHED_BYTES else _LATENCY
    return steps * latency / (tile.buffers - 2) * max(1.0, rounds / tile.min_waves)


def _copy_overhead(problem: GemmProblem, tile: Tile | MatrixTile) -> float:
    """How much longer a tile takes for the instructions that copy its operands.

    Asynchronous copies that transpose move one element each. A copy takes 3 issue slots with its address; copies of
    single elements wait for one another, B's (as measured) a little more than A's.
    """
    if isinstance(tile, MatrixTile) or tile.staging != "async":
        return 1.0
    copies = 0.0
    sides = ((problem.a, problem.m, tile.block_m, 5.0), (problem.b, problem.n, tile.block_n, 5.5))
    for x, rows, block, single in sides:
        access = _access(x, rows, block, problem, tile)
        vec = 1 if access.contiguous == "k" else access.vec
        copies += block / vec * (single if vec == 1 else 3)
    return 1.0 + copies / (tile.block_m * tile.block_n)


def _group(tiles_m: int, device: Device) -> int:
    """Rows of tiles in a group: about square groups of the blocks that run at once keep the rows of A and columns of B
    they share in L2."""
    side = 1
    while side * side < device.units and side < 16:
        side *= 2
    return max(1, min(side, tiles_m))


def _access(
    x: Matrix, rows: int, block_rows: int, problem: GemmProblem, tile: Tile | MatrixTile, unaligned: bool = False
) -> OperandAccess:
    access = operand_access(x, rows, problem.k, block_rows, tile.block_k, problem.types.itemsize, unaligned)
    return dataclasses.replace(access, whole=isinstance(tile, MatrixTile) and rows >= block_rows)


def operand_access(
    x: Matrix, rows: int, k: int, block_rows: int, block_k: int, itemsize: int, unaligned: bool = False
) -> OperandAccess:
    """How to read an operand of `rows` x `k`: the widest loads that its strides, extents and address allow, or if
    `unaligned` vectors are allowed, that its extents do.

    An index of extent 1 counts as contiguous, since its stride is never used.
    """
    batch_align = min((alignment(s * itemsize) for s in x.batch), default=16)

    def width(extent: int, unit_stride: int, other: int) -> int:
        if unit_stride != 1 and extent > 1:
            return 0
        if extent == 1:
            return 1
        for size in (16, 8, 4, 2):
            vec = size // itemsize
            aligned = x.align % size == 0 and other * itemsize % size == 0 and batch_align % size == 0
            if vec > 1 and extent % vec == 0 and aligned:
                return vec
        return 1

    along_k = width(k, x.k, x.rows if rows > 1 else 0)
    along_rows = width(rows, x.rows, x.k if k > 1 else 0)
    vec = max(along_k, along_rows)
    unit = vec > 0
    contiguous = "k" if along_k == vec and (unit or abs(x.k) <= abs(x.rows)) else "rows"
    reach = (block_rows * abs(x.rows) + block_k * abs(x.k)) * itemsize
    wide = reach >= 2**31 or x.rows < 0 or x.k < 0
    access = OperandAccess("k" if contiguous == "k" else "rows", max(vec, 1), unit, wide)
    most = 16 // itemsize
    long_enough = k >= most if contiguous == "k" else rows >= max(block_rows, most)
    if unaligned and unit and vec < most and long_enough:
        return dataclasses.replace(access, vec=most, aligned=False)
    return access


def store_width(problem: GemmProblem) -> int:
    """Columns of C that one store may move."""
    c = problem.c
    if c.k != 1:
        return 1
    itemsize = problem.types.result_itemsize
    batch_align = min((alignment(s * itemsize) for s in c.batch), default=16)
    for vec in (8, 4, 2):
        size = vec * itemsize
        rows_fit = problem.m == 1 or c.rows * itemsize % size == 0
        if size <= 16 and problem.n % vec == 0 and rows_fit and c.align % size == 0 and batch_align % size == 0:
            return vec
    return 1


def gathers_rows(tile: Tile | MatrixTile, types: Types, lds_bytes: int | None = None) -> bool:
    """Whether waves gather rows of C in LDS: where matrix instructions leave short pieces of many rows to a lane,
    the rows of a wave's part are longer than those, and they fit in LDS (`lds_bytes`, if not the tile's)."""
    if not isinstance(tile, MatrixTile) or types.accumulate == "f64":
        return False
    height = tile.instruction if isinstance(tile, MfmaTile) else 16
    row = tile.block_n // tile.waves_n * types.result_itemsize
    waves = tile.waves_m * tile.waves_n
    return row >= 64 and waves * height * (row + 16) <= (tile.lds_bytes if lds_bytes is None else lds_bytes)


def store_access(problem: GemmProblem, unaligned: bool) -> tuple[int, bool]:
    """Columns of C that one store moves, and whether they are aligned; as operand_access."""
    vec, most = store_width(problem), min(8, 16 // problem.types.result_itemsize)
    if unaligned and problem.c.k == 1 and vec < most <= problem.n:
        return most, False
    return vec, True
