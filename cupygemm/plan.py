"""(shapes, layouts, dtypes, device) -> Plan: the kernel that makes a product, or why cupy.matmul does; and its launch."""

from __future__ import annotations

import dataclasses
import functools

import cupy

from cupygemm import launch, module
from cupygemm.arch import amd_arch, nvidia_arch
from cupygemm.dispatch import Decision, Device, Fallback, decide
from cupygemm.problem import GemmProblem, Matrix, alignment, element_strides, simplified


@dataclasses.dataclass(frozen=True)
class Shapes:
    """A product in NumPy's terms, 1-D operands made 2-D: batch extents, M, N, K, and the result's shape."""

    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    result: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where an array's elements lie: shape, strides in elements, alignment of the address."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    align: int

    @staticmethod
    def of(x: cupy.ndarray) -> Layout:
        """The layout of an array.

        Raises:
            ValueError: a stride is not a multiple of the item size.
        """
        return Layout(x.shape, element_strides(x.strides, x.itemsize), alignment(x.data.ptr))


@dataclasses.dataclass(frozen=True)
class Plan:
    """What matmul does for a pair of operands: a kernel (`problem` and `decision`) or cupy.matmul (`fallback`).

    `swapped`: the kernel computes the transposed product, so A and B change places.
    """

    device: Device
    problem: GemmProblem | None
    decision: Decision | None
    fallback: Fallback | None
    swapped: bool = False


@functools.cache
def current_device(ordinal: int) -> Device:
    """Architecture and size of a GPU."""
    properties = cupy.cuda.runtime.getDeviceProperties(ordinal)
    if cupy.cuda.runtime.is_hip:
        arch = amd_arch(properties["gcnArchName"].decode())
    else:
        arch = nvidia_arch(cupy.cuda.Device(ordinal).compute_capability)
    return Device(arch, properties["multiProcessorCount"])


@functools.lru_cache(maxsize=4096)
def make_plan(device: Device, shapes: Shapes, a: Layout, b: Layout, c: Layout) -> Plan:
    """Decides for one combination of shapes and layouts. M, N, K and the batch are positive."""
    problem, swapped = simplified(_problem(shapes, a, b, c))
    answer = decide(problem, device)
    if isinstance(answer, Fallback):
        return Plan(device, None, None, answer)
    return Plan(device, problem, answer, None, swapped)


def carry_out(plan: Plan, ordinal: int, a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray) -> None:
    """Launches the plan's kernel on the current stream; `ordinal` is the current device.

    Raises:
        cupy.cuda.compiler.CompileException: the kernel does not compile.
    """
    assert plan.decision is not None
    assert plan.problem is not None
    function = module.function(plan.decision.config, plan.device.arch, ordinal)
    first, second = (b, a) if plan.swapped else (a, b)
    launch.launch(function, plan.problem, plan.decision, first.data.ptr, second.data.ptr, c.data.ptr)


def _problem(shapes: Shapes, a: Layout, b: Layout, c: Layout) -> GemmProblem:
    rank = len(shapes.batch)

    def batch(x: Layout, core: int) -> tuple[int, ...]:
        """Strides over the common batch dimensions: 0 where `x` is broadcast."""
        own = len(x.shape) - core
        steps = (0 if n == 1 else s for n, s in zip(x.shape[:own], x.strides[:own], strict=True))
        return (0,) * (rank - own) + tuple(steps)

    a_1d, b_1d = len(a.shape) == 1, len(b.shape) == 1
    a_rows, a_k = (0, a.strides[0]) if a_1d else a.strides[-2:]
    b_k, b_n = (b.strides[0], 0) if b_1d else b.strides[-2:]
    core = list(c.strides[rank:])
    c_n = 0 if b_1d else core.pop()
    c_m = 0 if a_1d else core.pop()
    return GemmProblem(
        shapes.m,
        shapes.n,
        shapes.k,
        shapes.batch,
        Matrix(a_rows, a_k, batch(a, 1 if a_1d else 2), a.align),
        Matrix(b_n, b_k, batch(b, 1 if b_1d else 2), b.align),
        Matrix(c_m, c_n, c.strides[:rank], c.align),
    )
