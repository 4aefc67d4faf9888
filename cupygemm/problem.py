"""GemmProblem: one matrix product as a kernel sees it, made from shapes, strides and addresses alone.

C[batch] (M x N) = A[batch] (M x K) * B[batch] (K x N). All strides count elements and may be zero or negative.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

Ints = tuple[int, ...]

#: Element types by the names they have in kernels, and their sizes in bytes.
ITEMSIZE = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i8": 1, "i32": 4, "e4m3": 1, "e5m2": 1}


@dataclasses.dataclass(frozen=True)
class Types:
    """Element types of a product, by the names they have in kernels.

    Attributes:
        operand: of A and B.
        accumulate: of the running sums.
        result: of C.
        second: of B where it is another format of as many bytes than A's.
    """

    operand: str = "f32"
    accumulate: str = "f32"
    result: str = "f32"
    second: str | None = None

    @property
    def itemsize(self) -> int:
        """Bytes of an element of A and B."""
        return ITEMSIZE[self.operand]

    @property
    def result_itemsize(self) -> int:
        return ITEMSIZE[self.result]

    @property
    def name(self) -> str:
        """The operands' type; accumulators and result too where they are not the usual ones."""
        usual = {"i8": "i32", "f64": "f64"}.get(self.operand, "f32")
        sums = "" if self.accumulate == usual else f"_acc{self.accumulate}"
        operands = self.operand + (f"_{self.second}" if self.second else "")
        return f"{operands}{sums}{'' if self.result == self.operand else f'_to_{self.result}'}"


F32 = Types()


@dataclasses.dataclass(frozen=True)
class Matrix:
    """Strides of one operand: `rows` is the index that the operand shares with C (M of A, N of B), `k` the summed one.

    For C, `rows` is M and `k` stands for N. `align` is the largest power of two up to 16 that divides the address, in
    bytes.
    """

    rows: int
    k: int
    batch: Ints
    align: int


@dataclasses.dataclass(frozen=True)
class GemmProblem:
    """Sizes and layouts of a batch of matrix products; `batch` lists the extents, outermost first."""

    m: int
    n: int
    k: int
    batch: Ints
    a: Matrix
    b: Matrix
    c: Matrix
    types: Types = F32

    @property
    def batches(self) -> int:
        count = 1
        for extent in self.batch:
            count *= extent
        return count

    def transposed(self) -> GemmProblem:
        """The same numbers as C^T = B^T A^T."""
        flip = dataclasses.replace(self.c, rows=self.c.k, k=self.c.rows)
        return dataclasses.replace(self, m=self.n, n=self.m, a=self.b, b=self.a, c=flip)


def alignment(size: int) -> int:
    """The largest power of two up to 16 that divides an address or a stride in bytes; 16 for 0."""
    return min(16, abs(size) & -abs(size)) if size else 16


def simplified(problem: GemmProblem) -> tuple[GemmProblem, bool]:
    """An equal problem with the fewest batch dimensions, C row-major where it can be; and whether A and B changed
    places.

    Batch dimensions of extent 1 go, neighbours that all three operands step through evenly merge, and a batch whose
    matrices share B and lie below one another in A and C becomes more rows of one matrix.
    """
    swapped = _is_column_major(problem)
    if swapped:
        problem = problem.transposed()
    problem = _merge_batch(problem)
    return _without_unused_strides(_fold_batch_into_rows(problem)), swapped


def _without_unused_strides(problem: GemmProblem) -> GemmProblem:
    """Strides of 0 for operand dimensions of extent 1, whose strides may be anything. Lanes beyond the extent use them
    too, for loads that nobody reads, which should be aligned like all others."""

    def used(x: Matrix, rows: int) -> Matrix:
        return dataclasses.replace(x, rows=x.rows if rows > 1 else 0, k=x.k if problem.k > 1 else 0)

    return dataclasses.replace(problem, a=used(problem.a, problem.m), b=used(problem.b, problem.n))


def _is_column_major(problem: GemmProblem) -> bool:
    c = problem.c
    if c.k == 1 and problem.n > 1:
        return False
    return c.rows == 1 and problem.m > 1


def _merge_batch(problem: GemmProblem) -> GemmProblem:
    extents: list[int] = []
    strides: list[list[int]] = [[], [], []]
    matrices = (problem.a, problem.b, problem.c)
    for d, extent in enumerate(problem.batch):
        if extent == 1:
            continue
        step = [x.batch[d] for x in matrices]
        if extents and all(s[-1] == extent * now for s, now in zip(strides, step, strict=True)):
            extents[-1] *= extent
            for s, now in zip(strides, step, strict=True):
                s[-1] = now
        else:
            extents.append(extent)
            for s, now in zip(strides, step, strict=True):
                s.append(now)
    a, b, c = (dataclasses.replace(x, batch=tuple(s)) for x, s in zip(matrices, strides, strict=True))
    return dataclasses.replace(problem, batch=tuple(extents), a=a, b=b, c=c)


def _fold_batch_into_rows(problem: GemmProblem) -> GemmProblem:
    """Turns the innermost batch dimension into rows of A and C where B is the same throughout it."""
    while problem.batch:
        extent = problem.batch[-1]
        a, b, c = problem.a, problem.b, problem.c
        below = a.batch[-1] == problem.m * a.rows and c.batch[-1] == problem.m * c.rows
        if problem.m == 1:  # one row a matrix: the batch step is the row step
            a, c = dataclasses.replace(a, rows=a.batch[-1]), dataclasses.replace(c, rows=c.batch[-1])
            below = True
        if b.batch[-1] != 0 or not below or problem.m * extent >= 2**31:
            return problem
        problem = dataclasses.replace(
            problem,
            m=problem.m * extent,
            batch=problem.batch[:-1],
            a=dataclasses.replace(a, batch=a.batch[:-1]),
            b=dataclasses.replace(b, batch=b.batch[:-1]),
            c=dataclasses.replace(c, batch=c.batch[:-1]),
        )
    return problem


def element_strides(strides: Sequence[int], itemsize: int) -> Ints:
    """Byte strides as element strides.

    Raises:
        ValueError: a stride is not a multiple of the item size (a field of a structured array, say).
    """
    if any(s % itemsize for s in strides):
        raise ValueError(f"strides {tuple(strides)} are not multiples of the item size, {itemsize} bytes")
    return tuple(s // itemsize for s in strides)


def into_workspace(problem: GemmProblem) -> GemmProblem:
    """The problem with C replaced by one slice's place in the workspace: FP32, matrix after matrix, row-major."""
    size = problem.m * problem.n
    steps = tuple(size * math.prod(problem.batch[d + 1 :]) for d in range(len(problem.batch)))
    types = dataclasses.replace(problem.types, result="f32")
    return dataclasses.replace(problem, c=Matrix(problem.n, 1, steps, 16), types=types)
