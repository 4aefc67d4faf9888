"""Case -> operands, checked results and times of both libraries."""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
from collections.abc import Callable

import cupy
import numpy
from suite import Case

import cupygemm

#: Peak TFLOP/s comes from the package's own table of architectures.
from cupygemm.plan import current_device


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds from the call to the finished result: median, and half of the middle half's width."""

    median: float
    spread: float


@dataclasses.dataclass(frozen=True)
class Row:
    """What was seen for a case.

    Attributes:
        case: the product.
        dtype: of the operands.
        kernel: ours, or "cupy.matmul" where the dispatcher hands the product over.
        ours, theirs: times.
        error: largest |result - float64| over the bound of a K-term sum in FP32; at most 1 is right.
        repeatable: a second run gave the same bits.
    """

    case: Case
    dtype: str
    kernel: str
    ours: Times
    theirs: Times
    error: float
    repeatable: bool

    @property
    def ratio(self) -> float:
        """Time of cupy.matmul over time of cupygemm.matmul."""
        return self.theirs.median / self.ours.median

    @property
    def own(self) -> bool:
        return self.kernel != "cupy.matmul"


def check_device() -> str:
    """The name of the GPU.

    Raises:
        RuntimeError: the GPU is emulated; its run times say nothing about any GPU.
    """
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())["name"].decode()
    if name.startswith("Emulated") or "cupygemm.emulator" in sys.modules:
        raise RuntimeError(f"{name!r} is emulated: it computes what a GPU would, but not at any GPU's speed")
    return name


def peak_tflops() -> float | None:
    """Peak FP32 rate of the current GPU's architecture, if known."""
    return current_device(cupy.cuda.runtime.getDevice()).arch.peak_f32


def measure(case: Case, dtype: str, seconds: float) -> Row:
    """Times cupy.matmul and cupygemm.matmul on the same arrays, in turns, for about `seconds`."""
    a, b = operands(case, dtype)
    ours = cupygemm.matmul(a, b)
    error = worst_error(a, b, ours)
    repeatable = bool((cupygemm.matmul(a, b) == ours).all())
    del ours
    explanation = cupygemm.explain(a, b)
    times = in_turns(lambda: cupygemm.matmul(a, b), lambda: cupy.matmul(a, b), seconds)
    return Row(case, dtype, explanation.kernel, *times, error, repeatable)


def operands(case: Case, dtype: str) -> tuple[cupy.ndarray, cupy.ndarray]:
    """Random normal operands of the case's layouts."""
    rng = cupy.random.default_rng(1)
    lead = (case.batch,) if case.batch else ()

    def matrix(rows: int, columns: int, order: str, lead: tuple[int, ...]) -> cupy.ndarray:
        shape = (rows, columns) if order == "r" else (columns, rows)
        x = rng.standard_normal((*lead, *shape), dtype=numpy.float32).astype(dtype)
        return x if order == "r" else x.swapaxes(-1, -2)

    a = matrix(case.m, case.k, case.layout[0], lead)
    b = matrix(case.k, case.n, case.layout[1], () if case.shared_b else lead)
    return a, b


def worst_error(a: cupy.ndarray, b: cupy.ndarray, result: cupy.ndarray, most: int = 256) -> float:
    """The largest error over its bound, in a sample of rows and matrices.

    The bound is that of tests/products.py: rounding errors of K additions in FP32, adding up as a random walk, and of
    the result's own type.
    """
    if a.ndim > 2:
        a, result = a[:8], result[:8]
        b = b[:8] if b.ndim > 2 else b
    step = -(-a.shape[-2] // most)
    a, result = a[..., ::step, :].astype(numpy.float64), result[..., ::step, :]
    b = b.astype(numpy.float64)
    unit = 2.0**-24 * (4 + a.shape[-1] ** 0.5 / 2)
    bound = unit * (abs(a) @ abs(b))
    want = a @ b
    if result.dtype != numpy.float32:
        bound += abs(want) * float(numpy.finfo(result.dtype).eps)
    return float((abs(result.astype(numpy.float64) - want) / bound).max())


def in_turns(ours: Callable[[], object], theirs: Callable[[], object], seconds: float) -> tuple[Times, Times]:
    """Times both, call by call in turns, so that clocks and temperature are the same for both."""
    stream = cupy.cuda.get_current_stream()

    def once(call: Callable[[], object]) -> float:
        begun = time.perf_counter()
        call()
        stream.synchronize()
        return time.perf_counter() - begun

    for _ in range(5):
        once(ours), once(theirs)
    pair = max(once(ours) + once(theirs), 1e-6)
    count = max(9, min(1000, int(seconds / pair)))
    samples = [(once(ours), once(theirs)) for _ in range(count)]
    return _summary([s[0] for s in samples]), _summary([s[1] for s in samples])


def _summary(samples: list[float]) -> Times:
    low, middle, high = statistics.quantiles(samples, n=4)
    return Times(middle, (high - low) / 2)
