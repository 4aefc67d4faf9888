"""The kernels we ship, run on the native executor without CuPy: a kernel's listing, edited or not, and the products
that lead through all of its code.

Operands hold small nonzero integers, so that every product is exact, and each array lies in memory of its own with
nothing known beside it: one byte past its end is out of bounds.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import ml_dtypes
import numpy as np

from cupygemm import dispatch, ladder, launch
from cupygemm.arch import Arch, amd_arch
from cupygemm.dispatch import Decision, Device
from cupygemm.emulator.executor import ExecutorError
from cupygemm.emulator.listing import Listing, parse_listing
from cupygemm.emulator.program import INSN_BYTES, Program, assemble, create_kernel, kernel_facts
from cupygemm.gemv_tile import GemvTile
from cupygemm.kernel_config import KernelConfig, OperandAccess, SumConfig, Tile
from cupygemm.matrix_tile import MatrixTile
from cupygemm.problem import F32, GemmProblem, Matrix, Types
from tests.static import listing
from tools.mutate import Mutant

from .harness import executor, opcode_index

_GUARD = 4096
#: What C holds beforehand. Not NaN, which is what a product of too many columns would put there.
_UNTOUCHED = 57344
#: Which of a tile's products have no gaps between rows; elsewhere NaNs lie there.
_DENSE = (1, 2)
#: Backward branches of a wave: far more than any product here takes, few enough to end an endless loop at once.
_BUDGET = 20000
_TYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """One launch: the kernel's inputs and what it must write.

    Attributes:
        grid: workgroups.
        args: the argument block but for the addresses.
        a, b: inputs as they lie in memory.
        want: what C must hold; _UNTOUCHED where nothing may be written.
    """

    grid: tuple[int, int, int]
    args: np.ndarray
    a: np.ndarray
    b: np.ndarray
    want: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A shipped kernel and the launches that try it."""

    arch: Arch
    config: KernelConfig | SumConfig
    threads: int
    runs: tuple[Run, ...]

    @property
    def listing(self) -> str:
        return listing(self.config, self.arch)

    @functools.cached_property
    def decoded(self) -> tuple[Listing, Program]:
        parsed = parse_listing(self.listing)
        return parsed, assemble(parsed, opcode_index(), target=self.arch.name)

    def verdict(self, mutant: Mutant | None = None) -> str:
        """ "" if every launch gives the right numbers without a report, else the report, or "wrong result"."""
        handle = self._kernel(mutant)
        try:
            for run in self.runs:
                got = _launch(handle, run, self.threads)
                if isinstance(got, str):
                    return got
                if not np.array_equal(got, run.want, equal_nan=True):
                    return "wrong result"
            return ""
        finally:
            executor().destroy_kernel(handle)

    def _kernel(self, mutant: Mutant | None) -> int:
        parsed, program = self.decoded
        edited = Listing(**{f.name: getattr(parsed, f.name) for f in dataclasses.fields(Listing)})
        if mutant is not None:
            edited.lines = list(parsed.lines)
            insns = bytearray(program.insns)
            for line, text in mutant.edits:
                edited.lines[line] = text
                self._patch(insns, line, text)
            program = dataclasses.replace(program, listing=edited, insns=bytes(insns))
        return create_kernel(executor(), program, kernel_facts(parsed, self.config.name, self.arch.name))

    def _patch(self, insns: bytearray, line: int, text: str) -> None:
        """Decodes one line anew: a mutant has as many instructions as the kernel."""
        parsed, program = self.decoded
        at = next(n for n, s in enumerate(parsed.statements) if s.line == line)
        statements = [dataclasses.replace(s, line=line) for s in parse_listing(text).statements]
        alone = Listing(lines=[*[""] * line, text], statements=statements)
        new = assemble(alone, opcode_index(), target=self.arch.name)
        start, end = program.starts[at], program.starts[at + 1]
        nothing = assemble(parse_listing("\ts_nop 0"), opcode_index(), target=self.arch.name).insns
        if new.unknown or new.insn_count > end - start:
            raise ValueError(f"line {line + 1}: {text.strip()} does not take the place of {parsed.lines[line].strip()}")
        insns[start * INSN_BYTES : end * INSN_BYTES] = new.insns + nothing * (end - start - new.insn_count)


def _launch(handle: int, run: Run, threads: int) -> np.ndarray | str:
    """What C holds afterwards, or the report."""
    arrays = {"a": _guarded(run.a), "b": _guarded(run.b), "c": _guarded(np.full_like(run.want, _UNTOUCHED))}
    args = run.args.copy()
    known = []
    try:
        for name, array in arrays.items():
            args[name] = array.ctypes.data
            if array.nbytes:
                executor().add_memory(array.ctypes.data, array.nbytes)
                known.append(array.ctypes.data)
        executor().launch(handle, run.grid, (threads, 1, 1), args.tobytes(), threads=1, check=True, budget=_BUDGET)
    except ExecutorError as error:
        return str(error)
    finally:
        for address in known:
            executor().remove_memory(address)
    return arrays["c"]


def _guarded(values: np.ndarray) -> np.ndarray:
    """A copy whose neighbourhood belongs to no other array; aligned to 256 bytes."""
    room = np.empty(values.nbytes + 2 * _GUARD + 256, np.uint8)
    start = _GUARD + -(room.ctypes.data + _GUARD) % 256
    inside = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    inside[...] = values
    return inside


def problem_of(
    m: int, n: int, k: int, layout: str = "rr", types: Types = F32, batch: int = 0, pad: int = 0, align: int = 16
) -> GemmProblem:
    """A product of matrices; "r" is row-major, "c" column-major, for A and B in turn. ``batch`` matrices of each, or
    one without a batch if 0. ``pad`` elements lie between the rows (columns, if column-major) of all three."""

    def strides(order: str, rows: int, columns: int) -> tuple[int, int, int]:
        """Of rows, of columns and of matrices."""
        inner, outer = (columns, rows) if order == "r" else (rows, columns)
        steps = (inner + pad, 1) if order == "r" else (1, inner + pad)
        return *steps, (inner + pad) * outer

    extents = (batch,) if batch else ()
    (a_m, a_k, a_step), (b_k, b_n, b_step), (c_m, c_n, c_step) = (
        strides(order, *shape) for order, shape in zip(layout + "r", ((m, k), (k, n), (m, n)), strict=True)
    )
    a, b, c = (
        Matrix(rows, columns, (step,) if batch else (), align)
        for rows, columns, step in ((a_m, a_k, a_step), (b_n, b_k, b_step), (c_m, c_n, c_step))
    )
    return GemmProblem(m, n, k, extents, a, b, c, types)


def product(problem: GemmProblem, decision: Decision, seed: int = 0) -> Run:
    """The launch of a kernel for a product, split along K or not."""
    rng = np.random.default_rng(seed)
    batch, types = problem.batches, problem.types
    a, b = (_integers(rng, batch, rows, problem.k) for rows in (problem.m, problem.n))
    target = problem if decision.splits == 1 else dispatch.into_workspace(problem)
    slices = [slice(s * decision.k_slice, (s + 1) * decision.k_slice) for s in range(decision.splits)]
    want = np.stack([a[:, :, s] @ b[:, :, s].transpose(0, 2, 1) for s in slices])
    matrices = (
        (a, problem.a, types.operand, np.nan),
        (b, problem.b, types.operand, np.nan),
        (want, target.c, target.types.result, _UNTOUCHED),
    )
    return Run(
        launch.grid(problem, decision),
        launch.arguments(target, decision),
        *(_stored(x.reshape(-1, *x.shape[-2:]), at, gap).astype(_TYPES[name]) for x, at, name, gap in matrices),
    )


def _integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.integers(1, 4, shape) * rng.choice([-1, 1], shape)).astype(np.float32)


def _stored(x: np.ndarray, at: Matrix, gap: float) -> np.ndarray:
    """Matrices as they lie in memory, one after another, ``gap`` between rows and nothing after the last element."""
    if at.k != 1:
        x = x.transpose(0, 2, 1)
    batch, outer, inner = x.shape
    step = max(inner, at.rows if at.k == 1 else at.k)  # strides of extent 1 may be anything
    flat = np.full((batch, outer, step), gap, np.float32)
    flat[:, :, :inner] = x
    return flat.reshape(-1)[: flat.size - (step - inner)]


def case(products: list[tuple[GemmProblem, Decision]], arch: Arch) -> Case:
    """One kernel with several products. Raises ValueError if they do not share it."""
    configs = {d.config for _, d in products}
    if len(configs) != 1:
        raise ValueError(f"{len(configs)} kernels: {', '.join(sorted(c.name for c in configs))}")
    config = configs.pop()
    runs = tuple(product(p, d, seed) for seed, (p, d) in enumerate(products))
    return Case(arch, config, config.tile.threads, runs)


def sizes_of(tile, units: tuple[int, int, int], whole: bool) -> list[tuple[int, int, int]]:
    """M, N and K, multiples of ``units``: ragged in all three over three tiles each way; one tile filled exactly; one K
    tile exactly, and one with the least possible after it; then part of a tile, such that the last row, column and K
    index fall on every lane and register of some size. ``whole``: M and N fill a tile at least."""
    m, n, k = tile.block_m, tile.block_n, tile.block_k
    odd = [unit if unit > 1 else 3 for unit in units]
    sizes = [
        (2 * m + m // 2 + odd[0], 2 * n + n // 2 + odd[1], 2 * k + k // 2 - odd[2]),
        (m, n, 3 * k),
        (m, n, k),
        (m, n, k + units[2]),
    ]
    counts = [size // unit for size, unit in zip((m, n, 2 * k), units, strict=True)]
    for i in range(32):
        rest = [unit * (1 + _step(i, count)) for count, unit in zip(counts, units, strict=True)]
        sizes.append((rest[0] + m * whole, rest[1] + n * whole, rest[2]))
    return [(max(m, 2), max(n, 2), max(k, 2)) for m, n, k in sizes]  # an extent of 1 is another kernel's


def _step(i: int, count: int) -> int:
    """The i-th of some numbers below ``count`` that soon meet every residue in every quarter.

    Steps by an odd number near the golden section, and every 8 steps by a quarter.
    """
    return (i * (int(count * 0.618) | 1) + (i // 8 * (count // 4) if count > 32 else 0)) % count


def tile_case(arch_name: str, tile, layout: str = "rr", types: Types = F32, unit: int | None = None) -> Case:
    """A tile with the widest loads, or with loads of ``unit`` elements."""
    arch, whole = amd_arch(arch_name), isinstance(tile, MatrixTile)
    unit = unit or 16 // types.itemsize
    of_m = unit if layout[0] == "c" else 1
    products = [
        problem_of(*size, layout, types, pad=unit * (i not in _DENSE), align=unit * types.itemsize)
        for i, size in enumerate(sizes_of(tile, (of_m, unit, unit), whole))
    ]
    return case([(p, ladder.decision(tile, p, group_m=2)) for p in products], arch)


def split_case(arch_name: str, tile, splits: int = 3) -> Case:
    """A tile whose blocks each take a slice of K, in a batch of two."""
    arch = amd_arch(arch_name)
    m, n, k = tile.block_m, tile.block_n, tile.block_k
    sizes = [(2 * m + 4, 3 * n + 4, splits * 2 * k - 4), (m, n, splits * k), (m, n, splits * 3 * k)]
    sizes += [(m - i, n - n // 2 + 4 * i, (splits - 1) * k + 4 * (i + 1)) for i in range(8)]
    products = [problem_of(*size, batch=2, pad=4 * (i % 2)) for i, size in enumerate(sizes)]
    decisions = [dispatch.build(p, Device(arch, 4), tile, splits, "asked for") for p in products]
    return case([(p, d) for p, d in zip(products, decisions, strict=True) if isinstance(d, Decision)], arch)


def gemv_case(arch_name: str) -> Case:
    """The kernel for three and four rows."""
    arch = amd_arch(arch_name)
    sizes = ((3, 520, 1300), (3, 260, 68), (3, 256, 64), (4, 264, 132))
    products = [problem_of(*size, pad=4 * (i % 2)) for i, size in enumerate(sizes)]
    decisions = [dispatch.decide(p, Device(arch, 2)) for p in products]
    return case([(p, d) for p, d in zip(products, decisions, strict=True) if isinstance(d, Decision)], arch)


def sum_case(arch_name: str) -> Case:
    """The kernel that adds up the slices of K."""
    runs = []
    for seed, (m, n, splits) in enumerate(
        ((37, 36, 2), (16, 64, 12), (16, 68, 19), (8, 32, 8), (8, 32, 9), (8, 32, 1))
    ):
        problem = problem_of(m, n, 64, batch=2)
        config = launch.sum_config(problem)
        partial = _integers(np.random.default_rng(seed), splits, 2, m, n)
        blocks = -(-m * n // (config.c_vec * launch.SUM_THREADS))
        args = _sum_arguments(problem, splits)
        runs.append(Run((blocks, 2, 1), args, partial, np.zeros(0, np.float32), partial.sum(0)))
    return Case(amd_arch(arch_name), config, launch.SUM_THREADS, tuple(runs))


def _sum_arguments(problem: GemmProblem, splits: int) -> np.ndarray:
    """As ProductLaunch makes them; the kernel has no use for a tile."""
    tile = GemvTile(1, 32)
    access = OperandAccess("k", 1, True, False)
    decision = Decision(KernelConfig(tile, access, access, 1, True, 1, True), 1, splits, 32, "")
    args = launch.arguments(problem, decision)
    args["grid_y"] = problem.batches
    return args


def cases(arch_name: str) -> dict[str, Callable[[], Case]]:
    """The kernels of the mutation proof, by short names: FP32's largest and smallest tile with more than one wave, odd
    sizes, one wave, split-K and its sum, few rows, loads straight to LDS, matrix instructions; the largest, a middle
    and the smallest tile for FP16."""
    arch = amd_arch(arch_name)
    f32 = [c.tile for c in dispatch.candidates(arch)]
    simt = [t for t in f32 if isinstance(t, Tile) and t.staging == "registers"]
    several = [t for t in simt if t.threads > arch.wave]
    large, small = several[0], several[-1]
    part = functools.partial
    found: dict[str, Callable[[], Case]] = {
        "f32-large": part(tile_case, arch_name, large),
        "f32-large-odd": part(tile_case, arch_name, large, unit=1),
        "f32-small": part(tile_case, arch_name, small, "cr"),
        "f32-one-wave": part(tile_case, arch_name, simt[-1]),
        "f32-split": part(split_case, arch_name, small),
        "f32-sum": part(sum_case, arch_name),
        "f32-gemv": part(gemv_case, arch_name),
    }
    direct = [s.tile for s in ladder.steps("fp32", arch.wave) if s.tile.staging == "direct" and not s.infeasible(arch)]
    for tile in direct[:1]:
        found["f32-direct"] = part(tile_case, arch_name, tile, "cr")
    for types in (F32, Types("f16", "f32", "f16")):
        tiles = [c.tile for c in dispatch.candidates(arch, types) if isinstance(c.tile, MatrixTile)]
        name = f"{types.operand}-matrix"
        if tiles:
            middle = next((t for t in tiles if t.block_m * t.block_n <= 64 * 128), tiles[-1])
            found[f"{name}-large"] = part(tile_case, arch_name, tiles[0], types=types)
            found[f"{name}-middle"] = part(tile_case, arch_name, middle, "rc", types=types)
            found[f"{name}-small"] = part(tile_case, arch_name, tiles[-1], types=types)
    return found
