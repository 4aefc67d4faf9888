"""GemmProblem: batch dimensions merge only where the addresses stay the same."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cupygemm.problem import GemmProblem, Matrix, alignment, element_strides, simplified


def addresses(problem: GemmProblem) -> set[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """For every element of C: the addresses of the row of A and of the column of B that make it, and its own."""
    found = set()
    for index in itertools.product(*map(range, problem.batch)):
        a, b, c = (sum(i * s for i, s in zip(index, x.batch, strict=True)) for x in (problem.a, problem.b, problem.c))
        for m in range(problem.m):
            for n in range(problem.n):
                row = tuple(a + m * problem.a.rows + k * problem.a.k for k in range(problem.k))
                column = tuple(b + n * problem.b.rows + k * problem.b.k for k in range(problem.k))
                found.add((row, column, c + m * problem.c.rows + n * problem.c.k))
    return found


strides = st.sampled_from([-7, -1, 0, 1, 2, 3, 6, 12, 24])


@st.composite
def problems(draw: st.DrawFn) -> GemmProblem:
    rank = draw(st.integers(0, 3))
    batch = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    m, n, k = (draw(st.integers(1, 3)) for _ in range(3))

    def matrix(rows: int, columns: int) -> Matrix:
        if draw(st.booleans()):  # contiguous, as most are
            steps, step = [], rows * columns
            for extent in reversed(batch):
                steps.append(step)
                step *= extent
            inner = (columns, 1) if draw(st.booleans()) else (1, rows)
            return Matrix(*inner, tuple(reversed(steps)), 16)
        return Matrix(draw(strides), draw(strides), tuple(draw(strides) for _ in batch), 16)

    a, b, c = matrix(m, k), matrix(n, k), matrix(m, n)
    return GemmProblem(m, n, k, batch, a, b, c)


@given(problems())
def test_simplified_is_the_same_product(problem):
    simple, swapped = simplified(problem)
    got = addresses(simple)
    if swapped:
        got = {(row, column, c) for column, row, c in got}
    assert got == addresses(problem)
    assert len(simple.batch) <= len(problem.batch)


def test_a_contiguous_batch_collapses_to_one_dimension():
    x = Matrix(8, 1, (64 * 5, 64), 16)
    simple, _ = simplified(GemmProblem(8, 8, 8, (4, 5), x, x, x))
    assert simple.batch == (20,)
    assert simple.a.batch == (64,)


def test_a_batch_that_shares_b_becomes_rows():
    x, shared = Matrix(8, 1, (64 * 5, 64), 16), Matrix(1, 8, (0, 0), 16)
    simple, swapped = simplified(GemmProblem(8, 8, 8, (4, 5), x, shared, x))
    assert simple.batch == ()
    assert simple.m == 8 * 20
    assert not swapped


def test_a_column_major_result_is_computed_transposed():
    row, column = Matrix(8, 1, (), 16), Matrix(1, 8, (), 16)
    _, swapped = simplified(GemmProblem(8, 8, 8, (), row, row, column))
    assert swapped


@pytest.mark.parametrize(("size", "want"), [(0, 16), (1, 1), (6, 2), (12, 4), (24, 8), (4096, 16), (-12, 4)])
def test_alignment(size, want):
    assert alignment(size) == want


def test_strides_that_are_no_multiples_of_the_item():
    assert element_strides((40, 4, -8, 0), 4) == (10, 1, -2, 0)
    with pytest.raises(ValueError, match=r"\(6,\).*4 bytes"):
        element_strides((6,), 4)
