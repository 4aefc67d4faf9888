"""(problem, device, tile, slices of K) -> estimated clocks: rounds of blocks over the compute units, times the work of
a block, over the share of peak that the tile reaches."""

from __future__ import annotations

import dataclasses
import math

from cupygemm.access import store_width, tile_access, tiles_overlap
from cupygemm.arch import Arch
from cupygemm.kernel_config import Tile
from cupygemm.matrix_tile import MatrixTile
from cupygemm.problem import F32, GemmProblem, into_workspace
from cupygemm.stream_k import StreamK, last_round
from cupygemm.tiles import Candidate, Device

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
        stream_doubt: the same for a product in streams (stream_k.py).
    """

    block: float
    stored_bytes: float
    second_launch: float
    doubt: float
    stream_doubt: float


# Fitted to timings of 27 tiles and 68 products, and of K slices, on an H200 (sm_90) at 1.9 GHz. The tile that they lead
# to takes 0.9 % longer than the fastest of the 27 (geometric mean of the products), 4.6 % at most.
_NVIDIA = Costs(700, 16.5, 12000, 1.25, 1.0)
# No more than an order of magnitude; the second launch as on NVIDIA.
_AMD = Costs(700, math.inf, 12000, 1.0, 1.15)
#: Bytes that a compute unit moves in a clock, where the operands are small enough to come from the L2 cache.
_BYTES = 33
#: Clocks from asking for data until it is in LDS, out of the L2 cache and, for operands of more bytes, from memory.
_LATENCY, _FROM_MEMORY, _CACHED_BYTES = 300, 800, 40e6
_MOST_WORKSPACE = 2**28


def costs_on(device: Device) -> Costs:
    """What a grid costs beyond its FMAs on a GPU of this vendor."""
    return _AMD if device.arch.is_amd else _NVIDIA


def slice_counts(problem: GemmProblem, options: tuple[Candidate, ...]) -> tuple[int, ...]:
    """Numbers of K slices to consider."""
    room = _MOST_WORKSPACE // (problem.m * problem.n * problem.batches * 4)
    most = min(room, problem.k // 128, 64)
    if problem.types.accumulate != "f32":  # the workspace holds FP32
        most = 1
    return tuple(s for s in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if s <= max(1, most))


def blocks_of(problem: GemmProblem, tile: Tile | MatrixTile) -> int:
    """Block tiles of all matrices of the batch."""
    return -(-problem.m // tile.block_m) * -(-problem.n // tile.block_n) * problem.batches


def k_slice_of(k: int, tile: Tile | MatrixTile, splits: int) -> int:
    """K range of a slice: a multiple of the K tile."""
    return k if splits == 1 else -(-k // (splits * tile.block_k)) * tile.block_k


def cycles(problem: GemmProblem, device: Device, candidate: Candidate, splits: int) -> float:
    """Estimated clocks of the grid, and of adding up the slices.

    Blocks that share a unit slow one another down, so a round is one block a unit; but one block alone does not keep a
    unit as busy as several.
    """
    tile, units = candidate.tile, _units(device, candidate.tile)
    blocks = splits * blocks_of(problem, tile)
    rounds = max(1.0, blocks / units) if blocks > 16 * units else -(-blocks // units)
    steps = -(-k_slice_of(problem.k, tile, splits) // tile.block_k)
    turns = max(1.0, rounds / tile.min_waves)
    clocks = _main_loop(problem, device, candidate, _Load(steps, rounds, rounds, rounds, turns))
    if splits > 1:
        clocks += _sum(problem, device, problem.m * problem.n * problem.batches * (2 * splits + 1))
    return clocks


def streams_of(problem: GemmProblem, device: Device, tile: Tile | MatrixTile) -> StreamK | None:
    """How to cut the last round of tiles in streams; None but for float32 products of FMAs into C with columns side by
    side, where no two tiles compute the same element: they would round it differently."""
    if not isinstance(tile, Tile) or problem.c.k != 1 or problem.types != F32:
        return None
    if tiles_overlap(problem, tile, device.arch.unaligned_vectors):
        return None
    cut = last_round(blocks_of(problem, tile), -(-problem.k // tile.block_k), tile.block_k, _places(device, tile))
    if cut is None or cut.blocks * tile.threads >= 2**32:  # more than a grid holds
        return None
    return cut if 4 * cut.pieces * cut.tiles * tile.block_m * tile.block_n <= _MOST_WORKSPACE else None


def stream_cycles(problem: GemmProblem, device: Device, candidate: Candidate, stream_k: StreamK) -> float:
    """As `cycles`, for tiles in streams: a unit has its share of the whole tiles and as many streams as come to
    the busiest one."""
    tile, units, streams = candidate.tile, device.units, stream_k.streams
    longest = (stream_k.share + (stream_k.longer > 0)) / stream_k.steps
    at_once = max(1.0, streams / units)
    running = max(at_once, _places(device, tile) / units) if stream_k.whole else at_once
    load = _Load(
        stream_k.steps,
        rounds=stream_k.whole / units + longest * at_once,
        parts=(streams + stream_k.tiles + stream_k.whole) / units,
        running=running,
        turns=stream_k.whole / _places(device, tile) + longest,
    )
    clocks = _main_loop(problem, device, candidate, load)
    pieces = streams + 2 * stream_k.tiles  # written by the streams and read again; the tiles written
    return clocks + _sum(problem, device, pieces * tile.block_m * tile.block_n)


def _places(device: Device, tile: Tile | MatrixTile) -> int:
    """Blocks that run at a time, as far as is promised: on AMD GPUs one a unit."""
    return device.units * (1 if device.arch.is_amd else tile.min_waves)


def _units(device: Device, tile: Tile | MatrixTile) -> int:
    """Compute units that blocks are handed to: HIP counts pairs of them on RDNA, and a block of matrix instructions
    keeps to one of the pair."""
    paired = isinstance(tile, MatrixTile) and device.arch.family.startswith("rdna")
    return device.units * 2 if paired else device.units


@dataclasses.dataclass(frozen=True)
class _Load:
    """What a compute unit has to do.

    Attributes:
        steps: K tiles of a block tile.
        rounds: block tiles.
        parts: times that it starts and stores a block tile or a piece of one.
        running: blocks that share the unit, or that it computes where that is fewer.
        turns: block tiles one after another.
    """

    steps: int
    rounds: float
    parts: float
    running: float
    turns: float


def _main_loop(problem: GemmProblem, device: Device, candidate: Candidate, load: _Load) -> float:
    """Clocks until all sums are stored."""
    tile, full = candidate.tile, candidate.share
    if candidate.both_k and problem.a.k == problem.b.k == 1:
        full = candidate.both_k
    alone = candidate.alone or full
    fmas: float = _matrix_fmas(device.arch, tile.itemsize) if isinstance(tile, MatrixTile) else _FMAS
    fmas *= min(full, alone * load.running)
    work = load.rounds * tile.block_m * tile.block_n * load.steps * tile.block_k * _copy_overhead(problem, tile) / fmas
    costs = costs_on(device)
    around = costs.block + problem.types.result_itemsize * tile.block_m * tile.block_n / costs.stored_bytes
    clocks = work + around * max(1.0, load.parts * alone / full)
    moved = problem.m * problem.k + problem.k * problem.n + problem.m * problem.n
    moved *= problem.types.itemsize * problem.batches
    return max(clocks, moved / (_BYTES * device.units), _waiting(tile, load.steps * load.turns, moved))


def _sum(problem: GemmProblem, device: Device, elements: int) -> float:
    """Clocks of a second kernel that moves so many elements of partial products and of C."""
    elements *= 4 // min(4, store_width(into_workspace(problem)))  # single elements move a quarter as fast
    return costs_on(device).second_launch + 4 * elements / (_BYTES * device.units)


def _waiting(tile: Tile | MatrixTile, steps: float, moved: int) -> float:
    """Clocks in which blocks that do nothing but wait for their copies would walk `steps` tiles of K: copies are under
    way for as many tiles as there are buffers, but for the one that is read and the one that was."""
    if isinstance(tile, MatrixTile) or tile.staging != "async":
        return 0.0
    latency = _FROM_MEMORY if moved > _CACHED_BYTES else _LATENCY
    return steps * latency / (tile.buffers - 2)


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
        access = tile_access(x, rows, block, problem, tile)
        vec = 1 if access.contiguous == "k" else access.vec
        copies += block / vec * (single if vec == 1 else 3)
    return 1.0 + copies / (tile.block_m * tile.block_n)
