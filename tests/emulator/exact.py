"""Products whose numbers are exact: their operands as they lie in memory, and what C must hold.

Operands hold small nonzero integers, and scales are powers of two, so that every sum is exact in FP32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import ml_dtypes
import numpy as np

from cupygemm import launch
from cupygemm.arch import Arch
from cupygemm.dispatch import Decision
from cupygemm.kernel_config import Finish
from cupygemm.packing import chunks_of
from cupygemm.problem import F32, GemmProblem, Matrix, Types, into_workspace

from .bare import Run, untouched

_TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i32": np.int32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
_FNUZ = {"e4m3": ml_dtypes.float8_e4m3fnuz, "e5m2": ml_dtypes.float8_e5m2fnuz}
_BLOCK = 32  # numbers along K that share an E8M0 scale


def element_type(name: str, arch: Arch) -> np.dtype:
    """The dtype of a kernel's element type; the float8 flavour is the architecture's."""
    return np.dtype((_FNUZ if arch.family == "cdna3" else {}).get(name) or _TYPES[name])


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


def product(problem: GemmProblem, decision: Decision, arch: Arch, seed: int = 0, large: bool = False) -> Run:
    """The launch of a kernel for a product, split along K or not, with scales, bias and activation or not.

    ``large``: all numbers are positive, so that sums are rounded to C's type; and where there is no epilogue, the last
    numbers along K of one row of A and one column of B are infinities if the type has them, which no zero beyond them
    in the other operand hides.
    """
    rng = np.random.default_rng(seed)
    batch, config = problem.batches, decision.config
    operand = element_type(problem.types.operand, arch)
    a, b = (integers(rng, batch, rows, problem.k) for rows in (problem.m, problem.n))
    if problem.types.operand in ("e4m3", "e5m2"):
        a, b = (x * rng.choice([1, 1.125 if operand.name.startswith("float8_e4m3") else 1.25], x.shape) for x in (a, b))
        a, b = (x.astype(operand).astype(np.float32) for x in (a, b))
    if large:
        a, b = abs(a), abs(b)
        if config.finish is None and operand.name in ("float64", "float32", "float16", "bfloat16"):
            a[:, 0, -1] = b[:, -1, -1] = np.inf
    target = problem if decision.splits == 1 else into_workspace(problem)
    result = element_type(target.types.result, arch)
    gap = 101 if operand.kind == "i" else np.nan
    inputs = {
        "a": _stored(a, problem.a, gap).astype(operand),
        "b": packed(b[0].astype(operand)) if config.b.packed else _stored(b, problem.b, gap).astype(operand),
    }
    args = launch.arguments(target, decision)
    if decision.stream_k:
        return _in_streams(problem, decision, a, b, args, inputs)
    if config.finish is None:
        slices = [slice(s * decision.k_slice, (s + 1) * decision.k_slice) for s in range(decision.splits)]
        with np.errstate(invalid="ignore"):
            want = np.stack([a[:, :, s] @ b[:, :, s].transpose(0, 2, 1) for s in slices])
        want = want.reshape(-1, problem.m, problem.n)
    else:
        want, more, args = _finished(a[0], b[0], config.finish, args, rng)
        inputs |= more
    want = want.astype(np.int32) if result.kind == "i" else want  # sums of int8 wrap
    stored = _stored(want.astype(result), target.c, untouched(result))
    unaligned = not (config.a.aligned and config.b.aligned and config.c_aligned)
    return Run(launch.grid(problem, decision), args, inputs, stored, unaligned)


def _in_streams(
    problem: GemmProblem,
    decision: Decision,
    a: np.ndarray,
    b: np.ndarray,
    args: np.ndarray,
    inputs: dict[str, np.ndarray],
) -> Run:
    """The launch of a kernel with tiles in streams: C holds whole tiles, and nothing of the others, whose pieces are in
    the workspace."""
    with np.errstate(invalid="ignore"):
        want = a @ b.transpose(0, 2, 1)
    pieces = np.full(_workspace(decision), untouched(np.dtype(np.float32)), np.float32)
    for part in _parts_of(problem, decision):
        at, rows, columns = part.at
        k = slice(part.k, part.k + part.depth)
        if part.piece is not None:
            want[at, rows, columns] = untouched(want.dtype)
            x, y = a[at, rows, k], b[at, columns, k]
            with np.errstate(invalid="ignore"):
                pieces[part.piece, part.tile, : len(x), : len(y)] = x @ y.T
    stored = _stored(want, problem.c, untouched(want.dtype))
    return Run(launch.grid(problem, decision), args, inputs, stored, False, {"pieces": pieces})


def pieces_and_sum(rng: np.random.Generator, problem: GemmProblem, decision: Decision) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of tiles, and what C must hold after they are added up: nothing of what is not in pieces."""
    pieces = np.full(_workspace(decision), np.nan, np.float32)
    want = np.full((problem.batches, problem.m, problem.n), untouched(np.dtype(np.float32)), np.float32)
    for part in _parts_of(problem, decision):
        if part.piece is not None:
            at, rows, columns = part.at
            numbers = integers(rng, *pieces.shape[2:])
            pieces[part.piece, part.tile] = numbers
            inside = want[at, rows, columns]
            numbers = numbers[: inside.shape[0], : inside.shape[1]]
            want[at, rows, columns] = numbers if part.piece == 0 else inside + numbers
    return pieces, _stored(want, problem.c, untouched(want.dtype))


@dataclasses.dataclass(frozen=True)
class _Part:
    """What a stream computes of a tile: `depth` numbers along K from `k` on. `at` is its place in C: matrix, rows and
    columns. `piece` is None where that is the whole tile."""

    tile: int
    at: tuple[int, slice, slice]
    k: int
    depth: int
    piece: int | None


def _workspace(decision: Decision) -> tuple[int, int, int, int]:
    tile, cut = decision.config.tile, decision.stream_k
    return cut.pieces, cut.tiles, tile.block_m, tile.block_n


def _parts_of(problem: GemmProblem, decision: Decision) -> list[_Part]:
    """By stream, and in the order of K inside of one."""
    tile, cut = decision.config.tile, decision.stream_k
    tiles_m, tiles_n = decision.tiles(problem)
    order = list(tiles_in_order(tiles_m, tiles_n, decision.group_m))
    begun = [0] * cut.tiles
    found = []
    for stream in range(cut.streams):
        step, end = cut.begin(stream), cut.begin(stream + 1)
        while step < end:
            number, first = divmod(step, cut.steps)
            count = min(end - step, cut.steps - first)
            batch, inside = divmod(number, tiles_m * tiles_n)
            m, n = order[inside]
            at = batch, slice(m * tile.block_m, (m + 1) * tile.block_m), slice(n * tile.block_n, (n + 1) * tile.block_n)
            piece = None if count == cut.steps else begun[number]
            begun[number] += 1
            found.append(_Part(number, at, first * tile.block_k, count * tile.block_k, piece))
            step += count
    return found


def tiles_in_order(tiles_m: int, tiles_n: int, group_m: int) -> Iterator[tuple[int, int]]:
    """Block tiles as kernels/order.hpp numbers them: column by column inside of a group of rows."""
    for first in range(0, tiles_m, group_m):
        for n in range(tiles_n):
            for m in range(first, min(first + group_m, tiles_m)):
                yield m, n


def integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.integers(1, 4, shape) * rng.choice([-1, 1], shape)).astype(np.float32)


def _stored(x: np.ndarray, at: Matrix, gap: float) -> np.ndarray:
    """Matrices as they lie in memory, one after another, ``gap`` between rows and nothing after the last element."""
    if at.k != 1:
        x = x.transpose(0, 2, 1)
    batch, outer, inner = x.shape
    step = max(inner, at.rows if at.k == 1 else at.k)  # strides of extent 1 may be anything
    flat = np.full((batch, outer, step), gap, x.dtype)
    flat[:, :, :inner] = x
    return flat.reshape(-1)[: flat.size - (step - inner)]


def packed(b: np.ndarray) -> np.ndarray:
    """B of shape (N, K) in the order of kernels/packed.hpp."""
    n, k = b.shape
    size = b.dtype.itemsize
    chunks = chunks_of(k, size)
    filled = np.zeros((-(-n // 32) * 32, chunks * 16 // size), b.dtype)
    filled[:n, :k] = b
    groups = filled.view(np.uint8).reshape(-1, 16, chunks, 16)
    return np.ascontiguousarray(groups.transpose(0, 2, 1, 3)).reshape(-1)


def _finished(
    a: np.ndarray, b: np.ndarray, finish: Finish, plain: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """C of one matrix, the arrays that the epilogue reads, and the argument block."""
    args = np.zeros((), launch.SCALED_ARGS)
    for name in plain.dtype.names or ():
        args[name] = plain[name]
    more: dict[str, np.ndarray] = {}
    if finish.blocks:
        codes = [rng.integers(125, 130, (len(x), -(-x.shape[1] // _BLOCK))).astype(np.uint8) for x in (a, b)]
        more |= {"blocks_a": _words(codes[0]), "blocks_b": _words(codes[1])}
        a, b = (
            x * np.repeat(2.0 ** (c - 127.0), _BLOCK, 1)[:, : x.shape[1]] for x, c in zip((a, b), codes, strict=True)
        )
    want = a @ b.T
    if finish.scaled:
        row, column = (rng.choice([0.5, 1, 2, 4], len(x)).astype(np.float32) for x in (a, b))
        more |= {"scale_a": row, "scale_b": column}
        args["scale_a_step"] = args["scale_b_step"] = 1
        want = want * row[:, None] * column
    if finish.bias:
        more["bias"] = (rng.integers(-64, 65, len(b)) / 2).astype(np.float32)
        want = want + more["bias"]
    if finish.activation == "relu":
        want = np.maximum(want, 0)
    elif finish.activation is not None:
        raise ValueError(f"{finish.activation} is not exact")
    return want[None], more, args


def _words(codes: np.ndarray) -> np.ndarray:
    """Codes of shape (rows, blocks) as kernels/block_scaled.hpp reads them: words by K tile, then by row."""
    rows, blocks = codes.shape
    filled = np.full((-(-blocks // 4), rows, 4), 127, np.uint8)
    for first in range(4):
        part = codes[:, first::4]
        filled[: part.shape[1], :, first] = part.T
    return filled.view(np.uint32).reshape(-1)
