"""(shapes, layouts, dtypes, device) -> Plan, the kernel that makes a product, or why cupy.matmul does; its launch."""

from __future__ import annotations

import dataclasses
import functools
import logging

import cupy
import numpy

from cupygemm import _capture, launch, module, recall
from cupygemm.arch import Arch, amd_arch, nvidia_arch
from cupygemm.dispatch import Decision, Fallback, decide, few_rows
from cupygemm.dtypes import kernel_types
from cupygemm.kernel_config import KernelConfig, SumConfig
from cupygemm.packing import on_packed
from cupygemm.problem import F32, GemmProblem, Matrix, Types, alignment, element_strides, simplified
from cupygemm.tiles import Device, candidates

_log = logging.getLogger("cupygemm")


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


@functools.cache
def types_on(arch: Arch, dtype: numpy.dtype, accumulate: str) -> Types | None:
    """The types of the kernels that multiply arrays of `dtype`, or None where cupy.matmul is to do it in any case:
    float64, unless there are matrix instructions for it."""
    types = kernel_types(dtype, accumulate)
    if types is not None and types.operand == "f64" and not candidates(arch, types):
        return None
    return types


@functools.lru_cache(maxsize=4096)
def make_plan(
    device: Device, shapes: Shapes, a: Layout, b: Layout, c: Layout, types: Types = F32, batch_invariant: bool = False
) -> Plan:
    """Decides for one combination of shapes and layouts. M, N, K and the batch are positive."""
    problem, swapped = simplified(_problem(shapes, a, b, c, types))
    turned = problem.transposed()
    if problem.n < problem.m and not batch_invariant and few_rows(turned, device):
        problem, swapped = turned, not swapped
    answer = decide(problem, device, batch_invariant)
    name = answer.reason if isinstance(answer, Fallback) else answer.config.name
    _log.info("%s x %s on %s: %s", a.shape, b.shape, device.arch.name, name)
    if isinstance(answer, Fallback):
        return Plan(device, None, None, answer)
    return Plan(device, problem, answer, None, swapped)


@functools.lru_cache(maxsize=4096)
def make_packed_plan(
    device: Device, shapes: Shapes, a: Layout, c: Layout, types: Types, batch_invariant: bool = False
) -> Plan:
    """As make_plan, for a second operand that is packed: the tile that an array in its place would be given."""
    b = Layout((shapes.k, shapes.n), (1, shapes.k), 16)
    problem, swapped = simplified(_problem(shapes, a, b, c, types))
    problem = problem.transposed() if swapped else problem
    answer = decide(problem, device, batch_invariant)
    if isinstance(answer, Fallback):
        return Plan(device, None, None, answer)
    return Plan(device, *on_packed(problem, answer), None)


def kernels(plan: Plan) -> tuple[KernelConfig | SumConfig, ...]:
    """What must be compiled to carry out a plan; nothing for a fallback."""
    if plan.decision is None or plan.problem is None:
        return ()
    total = launch.sum_config(plan.problem, plan.decision)
    return (plan.decision.config, total) if total else (plan.decision.config,)


def prepare(plan: Plan, ordinal: int) -> launch.ProductLaunch:
    """The plan's launches on device `ordinal`, which is the current one; compiles kernels that are not loaded yet.

    Raises:
        KernelError: a kernel does not compile or load.
    """
    assert plan.decision is not None
    assert plan.problem is not None
    function, *total = (module.function(kernel, plan.device.arch, ordinal) for kernel in kernels(plan))
    return launch.ProductLaunch(function, total[0] if total else None, plan.problem, plan.decision)


def carry_out(plan: Plan, ordinal: int, a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray) -> None:
    """Enqueues the plan's kernels on the current stream; `ordinal` is the current device.

    Raises:
        KernelError: a kernel does not compile or load.
    """
    launches = prepare(plan, ordinal)
    first, second = (b, a) if plan.swapped else (a, b)
    workspace = launches.run(first.data.ptr, second.data.ptr, c.data.ptr, cupy.cuda.get_current_stream().ptr)
    if workspace is not None:
        _capture.keep(workspace)
    recall.remember(a, b, c, launches, plan.swapped, ordinal)


def _problem(shapes: Shapes, a: Layout, b: Layout, c: Layout, types: Types) -> GemmProblem:
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
        types,
    )
