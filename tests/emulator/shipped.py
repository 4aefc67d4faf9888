"""The kernels we ship, each with the products that lead through all of its code: what the mutation proof is about."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from cupygemm import dispatch, ladder, launch
from cupygemm.arch import Arch, amd_arch
from cupygemm.dispatch import Decision
from cupygemm.estimate import blocks_of
from cupygemm.gemv_tile import GemvTile
from cupygemm.kernel_config import Finish, KernelConfig, OperandAccess, SumConfig, Tile
from cupygemm.matrix_tile import MatrixTile
from cupygemm.mfma_tile import MfmaTile
from cupygemm.packing import on_packed
from cupygemm.problem import F32, GemmProblem, Types
from cupygemm.stream_k import StreamK
from cupygemm.tiles import Device, candidates

from .bare import Case, Run
from .exact import integers, pieces_and_sum, problem_of, product

#: Which of a tile's products have no gaps between rows; elsewhere NaNs lie there.
_DENSE = (1, 2)

Product = tuple[GemmProblem, Decision]
Size = tuple[int, int, int]


def case(products: list[Product], arch: Arch, more: list[Product] | None = None) -> Case:
    """One kernel with several products, and more of them for what those do not tell from the kernel; the first two
    of the latter have large numbers. Raises ValueError if they do not share a kernel."""
    more = more or []
    configs = {d.config for _, d in products + more}
    if len(configs) != 1:
        raise ValueError(f"{len(configs)} kernels: {', '.join(sorted(c.name for c in configs))}")
    config = configs.pop()

    def make_more() -> tuple[Run, ...]:
        return tuple(product(p, d, arch, seed, seed < 2) for seed, (p, d) in enumerate(more))

    runs = tuple(product(p, d, arch, seed, seed == 1) for seed, (p, d) in enumerate(products))
    return Case(arch, config, config.tile.threads, runs, make_more)


def build(arch: Arch, tile, problem: GemmProblem, splits: int = 1) -> Decision:
    """The kernel that the dispatcher makes of a tile on a GPU of 4 units."""
    decision = dispatch.build(problem, Device(arch, 4), tile, splits, "asked for")
    assert isinstance(decision, Decision), decision
    return decision


def sizes_of(tile, units: Size, least: Size) -> list[Size]:
    """M, N and K, multiples of ``units``: ragged in all three over three tiles each way, and four of K, so that a main
    loop that leaves its last turn to others has two; one tile filled exactly; one K tile exactly, and one with the
    least possible after it; then part of a tile more than ``least``, such that the last row, column and K index fall
    on every lane and register of some size."""
    m, n, k = tile.block_m, tile.block_n, tile.block_k
    odd = [unit if unit > 1 else 3 for unit in units]
    sizes = [
        (2 * m + m // 2 + odd[0], 2 * n + n // 2 + odd[1], 3 * k + k // 2 - odd[2]),
        (m, n, 5 * k),
        (m, n, k),
        (m, n, k + units[2]),
    ]
    sizes += _parts(tile, units, least, range(32))
    return [(max(m, 2), max(n, 2), max(k, 2)) for m, n, k in sizes]  # an extent of 1 is another kernel's


def edges_of(tile, units: Size, least: Size) -> list[Size]:
    """Every number of rows, of columns and of K up to a tile more than ``least``, or two K tiles, that is a multiple of
    ``units``, one extent at a time: an edge is a comparison with one extent, so that there are no others.

    The first two reach past two K tiles.
    """
    (m, n, k), (low_m, low_n, low_k) = (tile.block_m, tile.block_n, tile.block_k), least
    few = max(units[2], min(low_k or k, k))
    sizes = [(m + low_m, n + low_n, 2 * k + units[2]), (m + low_m, n + low_n, 3 * k - units[2])]
    sizes += [(low_m + i, n + low_n, few) for i in range(units[0], m + 1, units[0])]
    sizes += [(m + low_m, low_n + i, few) for i in range(units[1], n + 1, units[1])]
    sizes += [(m + low_m, n + low_n, low_k + i) for i in range(units[2], 2 * k + 1, units[2])]
    return [(max(m, 2), max(n, 2), max(k, 2)) for m, n, k in sizes]


def _parts(tile, units: Size, least: Size, steps: range) -> list[Size]:
    extents = (tile.block_m, tile.block_n, 2 * tile.block_k)
    counts = [size // unit for size, unit in zip(extents, units, strict=True)]
    found = []
    for i in steps:
        m, n, k = (x + u * (1 + _step(i, c)) for u, c, x in zip(units, counts, least, strict=True))
        found.append((m, n, k))
    return found


def _step(i: int, count: int) -> int:
    """The i-th of some numbers below ``count`` that soon meet every residue in every quarter.

    Steps by an odd number near the golden section, and every 8 steps by a quarter.
    """
    return (i * (int(count * 0.618) | 1) + (i // 8 * (count // 4) if count > 32 else 0)) % count


def tile_case(
    arch_name: str,
    tile,
    layout: str = "rr",
    types: Types = F32,
    unit: int | None = None,
    finish: Finish | None = None,
    pack: bool = False,
) -> Case:
    """A tile with the widest loads, or with loads of ``unit`` elements; with an epilogue, or with B packed."""
    arch, whole, built = amd_arch(arch_name), isinstance(tile, MatrixTile), unit is None
    unit = unit or 16 // types.itemsize
    least = (tile.block_m * whole, tile.block_n * (whole and not pack), 0)
    units = (unit if layout[0] == "c" else 1, unit, 1 if layout == "cr" else unit)

    def make(size: Size, pad: int) -> Product:
        problem = problem_of(*size, layout, types, pad=pad, align=unit * types.itemsize)
        decision = build(arch, tile, problem) if built else ladder.decision(tile, problem, group_m=2)
        if pack:
            problem, decision = on_packed(problem, decision)
        return problem, dataclasses.replace(decision, config=dataclasses.replace(decision.config, finish=finish))

    sizes = sizes_of(tile, units, least)
    products = [make(size, unit * (i not in _DENSE)) for i, size in enumerate(sizes)]
    return case(products, arch, [make(size, unit) for size in edges_of(tile, units, least)])


def unaligned_case(arch_name: str, tile, layout: str, types: Types = F32) -> Case:
    """A tile whose vectors begin at any element: odd sizes and addresses."""
    arch, whole, most = amd_arch(arch_name), isinstance(tile, MatrixTile), 16 // types.itemsize
    least = (tile.block_m * (whole or layout[0] == "c"), tile.block_n * (whole or layout[1] == "r"), most)

    def make(size: Size, pad: int) -> Product:
        m, n, k = (max(x, most) for x in size)
        problem = problem_of(m, n, k, layout, types, pad=pad, align=types.itemsize)
        return problem, build(arch, tile, problem)

    products = [make(size, 3 * (i not in _DENSE)) for i, size in enumerate(sizes_of(tile, (1, 1, 1), least))]
    return case(products, arch, [make(size, 3) for size in edges_of(tile, (1, 1, 1), least)])


def part_case(arch_name: str, tile, types: Types) -> Case:
    """A tile of matrix instructions whose rows A does not fill."""
    arch, unit = amd_arch(arch_name), 16 // types.itemsize
    extents = (tile.block_m - 1, tile.block_n // unit, 2 * tile.block_k // unit)
    steps = [tuple(_step(i, count) for count in extents) for i in range(32)]
    sizes = [(2 + m % (extents[0] - 1), tile.block_n + n * unit, (1 + k) * unit) for m, n, k in steps]
    sizes += [(extents[0], 2 * tile.block_n + unit, 5 * tile.block_k)]
    edges = edges_of(tile, (1, unit, unit), (0, tile.block_n, 0))
    edges = [(min(m, extents[0]), n, k) for m, n, k in edges]

    def make(size: Size, pad: int) -> Product:
        problem = problem_of(*size, types=types, pad=pad)
        return problem, build(arch, tile, problem)

    products = [make(size, unit * (i not in _DENSE)) for i, size in enumerate(sizes)]
    return case(products, arch, [make(size, unit) for size in edges])


def split_case(arch_name: str, tile, splits: int = 3) -> Case:
    """A tile whose blocks each take a slice of K, in a batch of two."""
    arch = amd_arch(arch_name)
    m, n, k = tile.block_m, tile.block_n, tile.block_k
    sizes = [(2 * m + 4, 3 * n + 4, splits * 2 * k - 4), (m, n, splits * k), (m, n, splits * 3 * k)]
    sizes += [(m - i, n - n // 2 + 4 * i, (splits - 1) * k + 4 * (i + 1)) for i in range(8)]
    edges = [(m, n, (splits - 1) * k + k) for m, n, k in edges_of(tile, (1, 4, 4), (0, 0, 0))]
    products, more = (
        [(p, build(arch, tile, p, splits)) for p in (problem_of(*s, batch=2, pad=4 * (i % 2)) for i, s in enumerate(x))]
        for x in (sizes, edges)
    )
    found = case(products, arch, [(p, d) for p, d in more if d.splits == splits])
    return dataclasses.replace(found, runs=(*found.runs, _in_layers(found.runs[0])))


def _streams(arch_name: str, tile, sizes: list[Size]) -> list[Product]:
    """Products in a batch of two of which about half of the tiles are in streams: fewer of them than tiles, a few more,
    and so many that some begin and end inside of a tile."""
    found = []
    for i, size in enumerate(sizes):
        problem = problem_of(*size, batch=2, pad=4 * (i % 2))
        blocks, steps = blocks_of(problem, tile), -(-problem.k // tile.block_k)
        tiles = max(1, blocks - 1 - i % 2)
        streams = min(tiles * steps, (max(2, tiles * 2 // 3), tiles + 1, tiles * 3 + 1)[i % 3])
        found.append((problem, _cut(arch_name, tile, problem, StreamK(tiles, streams, steps, blocks - tiles))))
    return found


def _cut(arch_name: str, tile, problem: GemmProblem, stream_k: StreamK) -> Decision:
    decision = dispatch.build(problem, Device(amd_arch(arch_name), 4), tile, 1, "asked for", stream_k)
    assert isinstance(decision, Decision), decision
    return decision


def stream_case(arch_name: str, tile) -> Case:
    """A tile of which blocks share some, in a batch of two."""
    m, n, k = tile.block_m, tile.block_n, tile.block_k
    sizes = [(2 * m + 4, 2 * n + 4, 5 * k - 4), (m, n, 4 * k), (m, n, 7 * k), (m + 4, n, 6 * k)]
    sizes += [(m - i, n - n // 2 + 4 * i, 3 * k + 4 * (i + 1)) for i in range(8)]
    edges = [(m, n, 2 * k + k_) for m, n, k_ in edges_of(tile, (1, 4, 4), (0, 0, 0))]
    return case(_streams(arch_name, tile, sizes), amd_arch(arch_name), _streams(arch_name, tile, edges))


def stream_sum_case(arch_name: str, tile) -> Case:
    """The kernel that adds up the pieces of tiles that streams met in."""
    m, n, k = tile.block_m, tile.block_n, tile.block_k
    sizes = [(2 * m + 4, 2 * n + 4, 9 * k), (m, n, 12 * k), (m - 3, n - 8, 7 * k), (2 * m, n + 4, 30 * k)]
    products = _streams(arch_name, tile, sizes)
    # The last longer stream ends with a tile; all pieces that are added up at once, and one more or less.
    cuts = [(2, 7, 12), *((1, streams, 30) for streams in (8, 9, 10, 16, 17, 18))]
    for tiles, streams, steps in cuts:
        problem = problem_of(m, n * 2, steps * k, batch=1)
        products.append((problem, _cut(arch_name, tile, problem, StreamK(tiles, streams, steps, 2 - tiles))))
    config = SumConfig(4, True, 1, stream_k=True)
    chunks = -(-tile.block_m * tile.block_n // config.block_elements)
    runs = []
    for seed, (problem, decision) in enumerate(products):
        pieces, want = pieces_and_sum(np.random.default_rng(seed), problem, decision)
        args = launch.arguments(problem, decision)
        runs.append(Run((chunks, decision.stream_k.tiles, 1), args, {"pieces": pieces}, want))
    runs.append(dataclasses.replace(runs[0], grid=(chunks + 1, *runs[0].grid[1:])))  # blocks that find no work
    return Case(amd_arch(arch_name), config, config.threads, tuple(runs))


def _in_layers(run: Run) -> Run:
    """The same launch with the matrices and slices over grid dimension z too, in which some blocks find no work."""
    x, y, _ = run.grid
    args = run.args.copy()
    args["grid_y"] = y - 2
    return dataclasses.replace(run, grid=(x, y - 2, 2), args=args)


def gemv_case(arch_name: str) -> Case:
    """The kernel for three and four rows. The last product has more, though no such product gets this kernel: its tiles
    have numbers above 0."""
    arch = amd_arch(arch_name)
    sizes = ((3, 520, 1300), (3, 260, 68), (3, 256, 64), (4, 264, 132))
    products = [problem_of(*size, pad=4 * (i % 2)) for i, size in enumerate(sizes)]
    decisions = [dispatch.decide(p, Device(arch, 2)) for p in products]
    found = [(p, d) for p, d in zip(products, decisions, strict=True) if isinstance(d, Decision)]
    tall = problem_of(14, 264, 1300, pad=4)
    found.append((tall, dataclasses.replace(found[0][1], group_m=3, k_slice=1300)))
    more = [problem_of(*size, pad=4) for size in [(4, 32, k) for k in range(4, 2200, 4)]]
    more += [problem_of(m, n, 64, pad=4) for m in (3, 4) for n in range(4, 68, 4)]
    more += [problem_of(m, 32, k, pad=4) for m in range(3, 13) for k in (64, 1300)]
    return case(found, arch, [(p, dataclasses.replace(found[0][1], k_slice=p.k, group_m=3)) for p in more])


def sum_case(arch_name: str, lanes: int) -> Case:
    """The kernel that adds up the slices of K; more slices than 8 turns of all lanes where there are several."""
    more = (33, 128, 144, 145, 160, 161, 401) if lanes > 1 else ()
    runs = []
    for seed, (m, n, splits) in enumerate(
        ((37, 36, 2), (16, 64, 12), (16, 68, 19), (8, 32, 8), (8, 32, 9), (8, 32, 1), *((8, 32, s) for s in more))
    ):
        problem = problem_of(m, n, 64, batch=2)
        config = SumConfig(4, True, 1, lanes=lanes)
        partial = integers(np.random.default_rng(seed), splits, 2, m, n)
        blocks = -(-m * n // config.block_elements)
        args = _sum_arguments(problem, splits)
        runs.append(Run((blocks, 2, 1), args, {"a": partial}, partial.sum(0)))
    layers = runs[0].args.copy()
    layers["grid_y"] = 1
    runs += [dataclasses.replace(runs[0], grid=(runs[0].grid[0], 1, z), args=layers) for z in (2, 3)]
    return Case(amd_arch(arch_name), config, config.threads, tuple(runs))


def _sum_arguments(problem: GemmProblem, splits: int) -> np.ndarray:
    """As ProductLaunch makes them; the kernel has no use for a tile."""
    tile = GemvTile(1, 32)
    access = OperandAccess("k", 1, True, False)
    decision = Decision(KernelConfig(tile, access, access, 1, True, 1, True), 1, splits, 32, "")
    args = launch.arguments(problem, decision)
    args["grid_y"] = problem.batches
    return args


def cases(arch_name: str) -> dict[str, Callable[[], Case]]:
    """The kernels of the mutation proof, by short names."""
    return _simt_cases(arch_name) | _matrix_cases(arch_name)


def _simt_cases(arch_name: str) -> dict[str, Callable[[], Case]]:
    """FP32's largest and smallest tile with more than one wave, element by element and from any address; one wave,
    split-K and its sums, stream-K and its sum, few rows, loads straight to LDS."""
    arch = amd_arch(arch_name)
    tiles = [c.tile for c in candidates(arch)]
    simt = [t for t in tiles if isinstance(t, Tile) and t.staging == "registers"]
    several = [t for t in simt if t.threads > arch.wave]
    large, small = several[0], several[-1]
    part = functools.partial
    found: dict[str, Callable[[], Case]] = {
        "f32-large": part(tile_case, arch_name, large),
        "f32-large-odd": part(tile_case, arch_name, large, unit=1),
        "f32-unaligned": part(unaligned_case, arch_name, large, "rr"),
        "f32-small": part(tile_case, arch_name, small, "cr"),
        "f32-one-wave": part(tile_case, arch_name, simt[-1]),
        "f32-split": part(split_case, arch_name, small),
        "f32-sum": part(sum_case, arch_name, 1),
        "f32-sum-lanes": part(sum_case, arch_name, 16),
        "f32-stream": part(stream_case, arch_name, small),
        "f32-stream-sum": part(stream_sum_case, arch_name, small),
        "f32-gemv": part(gemv_case, arch_name),
    }
    steps = [s for s in ladder.steps("fp32", arch.wave) if isinstance(s.tile, Tile)]
    direct = [s.tile for s in steps if s.tile.staging == "direct" and not s.infeasible(arch)]
    for tile in direct[:1]:
        found["f32-direct"] = part(tile_case, arch_name, tile, "cr")
    return found


def _matrix_cases(arch_name: str) -> dict[str, Callable[[], Case]]:
    """Matrix instructions: the largest, a middle and the smallest tile for FP32 and FP16, and FP16 with few rows,
    from any address, and straight to LDS; a tile each for the other types, with scales, bias and activation, with
    block scales, and with B packed."""
    arch, part = amd_arch(arch_name), functools.partial
    found: dict[str, Callable[[], Case]] = {}

    def tiles(types: Types) -> list[MatrixTile]:
        return [c.tile for c in candidates(arch, types) if isinstance(c.tile, MatrixTile)]

    def middle(types: Types) -> MatrixTile:
        return next(t for t in tiles(types) if t.block_m * t.block_n <= 64 * 128)

    f16, bf16 = Types("f16", "f32", "f16"), Types("bf16", "f32", "bf16")
    for types in (F32, f16):
        if choice := tiles(types):
            name = f"{types.operand}-matrix"
            found[f"{name}-large"] = part(tile_case, arch_name, choice[0], types=types)
            found[f"{name}-middle"] = part(tile_case, arch_name, middle(types), "rc", types)
            found[f"{name}-small"] = part(tile_case, arch_name, choice[-1], types=types)
    found["f16-part"] = part(part_case, arch_name, middle(f16), f16)
    found["f16-unaligned"] = part(unaligned_case, arch_name, middle(f16), "rc", f16)
    if direct := [t for t in tiles(f16) if isinstance(t, MfmaTile) and t.direct]:
        found["f16-direct"] = part(tile_case, arch_name, direct[-1], "rc", f16)
    found["bf16"] = part(tile_case, arch_name, middle(bf16), "cr", bf16)
    i8 = Types("i8", "i32", "i8")
    found["i8"] = part(tile_case, arch_name, middle(i8), "rr", i8)
    e4m3 = Types("e4m3", "f32", "bf16")
    scaled = e4m3 if tiles(e4m3) else Types("i8", "i32", "bf16")
    if tiles(e4m3):
        found["e4m3"] = part(tile_case, arch_name, middle(e4m3), "rc", e4m3, finish=Finish(True, False, None))
    found["scaled"] = part(tile_case, arch_name, middle(scaled), "rr", scaled, finish=Finish(True, True, "relu"))
    if arch.family == "cdna3":
        f64 = Types("f64", "f64", "f64")
        found["f64"] = part(tile_case, arch_name, middle(f64), types=f64)
    if arch.family == "cdna4":
        blocks = Finish(False, False, None, True)
        found["blocks"] = part(tile_case, arch_name, middle(e4m3), "rc", e4m3, finish=blocks)
    if arch.family.startswith("cdna"):
        found["packed"] = part(tile_case, arch_name, middle(f16), "rr", f16, pack=True)
    return found
