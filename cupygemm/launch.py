"""Decision and addresses -> a kernel launch: grid, argument block, stream."""

from __future__ import annotations

from typing import Any

import numpy

from cupygemm.config import MAX_BATCH_RANK
from cupygemm.dispatch import Decision
from cupygemm.problem import GemmProblem

_RANK = (MAX_BATCH_RANK,)

#: GemmArgs of kernels/args.hpp, field by field.
ARGS = numpy.dtype(
    [
        ("a", "u8"),
        ("b", "u8"),
        ("c", "u8"),
        ("a_m", "i8"),
        ("a_k", "i8"),
        ("b_k", "i8"),
        ("b_n", "i8"),
        ("c_m", "i8"),
        ("c_n", "i8"),
        ("a_batch", "i8", _RANK),
        ("b_batch", "i8", _RANK),
        ("c_batch", "i8", _RANK),
        ("split_stride", "i8"),
        ("m", "i4"),
        ("n", "i4"),
        ("k", "i4"),
        ("k_slice", "i4"),
        ("splits", "i4"),
        ("batches", "i4"),
        ("batch_size", "i4", _RANK),
        ("tiles_m", "i4"),
        ("tiles_n", "i4"),
        ("group_m", "i4"),
        ("grid_y", "i4"),
    ],
    align=True,
)

_GRID_Y = 65535


def arguments(problem: GemmProblem, decision: Decision) -> numpy.ndarray:
    """The argument block of a launch, but for the three addresses."""
    args = numpy.zeros((), ARGS)
    a, b, c = problem.a, problem.b, problem.c
    args["a_m"], args["a_k"] = a.rows, a.k
    args["b_n"], args["b_k"] = b.rows, b.k
    args["c_m"], args["c_n"] = c.rows, c.k
    for d in range(len(problem.batch)):  # the kernel counts from the innermost dimension
        args["a_batch"][d] = a.batch[-1 - d]
        args["b_batch"][d] = b.batch[-1 - d]
        args["c_batch"][d] = c.batch[-1 - d]
        args["batch_size"][d] = problem.batch[-1 - d]
    args["m"], args["n"], args["k"] = problem.m, problem.n, problem.k
    args["k_slice"], args["splits"] = decision.k_slice, decision.splits
    args["batches"] = problem.batches
    args["tiles_m"], args["tiles_n"] = decision.tiles(problem)
    args["group_m"] = decision.group_m
    args["grid_y"] = grid(problem, decision)[1]
    return args


def grid(problem: GemmProblem, decision: Decision) -> tuple[int, int, int]:
    """Blocks in each grid dimension: tiles in x; matrices and K slices in y and z, at most 65,535 each."""
    tiles_m, tiles_n = decision.tiles(problem)
    layers = problem.batches * decision.splits
    y = min(layers, _GRID_Y)
    return tiles_m * tiles_n, y, -(-layers // y)


def launch(function: Any, problem: GemmProblem, decision: Decision, a: int, b: int, c: int) -> None:
    """Enqueues the kernel on the current stream of the current device. `a`, `b`, `c` are addresses."""
    args = arguments(problem, decision)
    args["a"], args["b"], args["c"] = a, b, c
    function(grid(problem, decision), (decision.config.tile.threads,), (args,))
