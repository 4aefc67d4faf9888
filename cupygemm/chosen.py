"""A product with a kernel of one's own choice instead of the dispatcher's: for benchmarks and tests."""

from __future__ import annotations

import cupy

from cupygemm.dispatch import Decision
from cupygemm.plan import Plan, current_device, prepare
from cupygemm.problem import GemmProblem, Matrix, Types, alignment


def matrix_problem(a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray, types: Types) -> GemmProblem:
    """The problem c = a @ b of three matrices."""

    def matrix(x: cupy.ndarray) -> Matrix:
        return Matrix(x.strides[0] // x.itemsize, x.strides[1] // x.itemsize, (), alignment(x.data.ptr))

    return GemmProblem(c.shape[0], c.shape[1], a.shape[1], (), matrix(a), matrix(b.T), matrix(c), types)


def run(what: Decision, a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray) -> None:
    """Enqueues c = a @ b with the given kernel on the current stream.

    Raises:
        KernelError: the kernel does not compile or load.
    """
    ordinal = cupy.cuda.runtime.getDevice()
    device = current_device(ordinal)
    problem = matrix_problem(a, b, c, what.config.types)
    launches = prepare(Plan(device, problem, what, None), ordinal)
    launches.run(a.data.ptr, b.data.ptr, c.data.ptr, cupy.cuda.get_current_stream().ptr)
