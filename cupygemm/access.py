"""(operand, tile) -> how a kernel reads it, and how it stores C: the widest loads and stores that strides, extents and
addresses allow."""

from __future__ import annotations

import dataclasses

from cupygemm.kernel_config import OperandAccess, Tile
from cupygemm.matrix_tile import MatrixTile
from cupygemm.mfma_tile import MfmaTile
from cupygemm.problem import GemmProblem, Matrix, Types, alignment


def tile_access(
    x: Matrix, rows: int, block_rows: int, problem: GemmProblem, tile: Tile | MatrixTile, unaligned: bool = False
) -> OperandAccess:
    """How a kernel with this tile reads an operand of `rows` x K, of which `block_rows` make a block tile."""
    access = operand_access(x, rows, problem.k, block_rows, tile.block_k, problem.types.itemsize, unaligned)
    return dataclasses.replace(access, whole=isinstance(tile, MatrixTile) and rows >= block_rows)


def tiles_overlap(problem: GemmProblem, tile: Tile, unaligned: bool) -> bool:
    """Whether the last block tile is moved back to end with the operand, and so computes rows (columns) that another
    computes too (kernels/operand.hpp)."""
    sides = ((problem.a, problem.m, tile.block_m), (problem.b, problem.n, tile.block_n))
    found = (tile_access(x, rows, block, problem, tile, unaligned) for x, rows, block in sides)
    return any(access.contiguous == "rows" and not access.aligned for access in found)


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


def gemv_access(x: Matrix, rows: int, problem: GemmProblem) -> OperandAccess:
    """How the kernel for few rows reads an operand of `rows` x K."""
    # The kernel's offsets have 64 bits in any case, so that `wide` would only make two kernels of one.
    access = operand_access(x, rows, problem.k, 1, 1, problem.types.itemsize)
    return dataclasses.replace(access, wide=False)
