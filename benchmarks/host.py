"""What a call costs the host: the time until cupygemm.matmul and cupy.matmul return, the GPU not being waited for.

    python benchmarks/host.py

Bursts of calls with the same arrays, those of the two libraries in turns, the GPU idle at the start of each; what is
shown is the median burst, in microseconds a call. An emulated GPU is refused.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import cupy
import numpy
import timing

import cupygemm

#: Calls in a burst: fewer than the driver queues, so that the host never waits for the GPU.
_CALLS = 300
_BURSTS = 40


def main() -> int:
    """Prints the table; returns the exit status."""
    try:
        print(f"{timing.check_device()}, float32, us a call: cupy.matmul, cupygemm.matmul, share")
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{'n x n x n':>10} {'a new result':>24} {'out=':>24}")
    for n in (64, 128, 256, 512):
        a, b = (cupy.random.default_rng(1).standard_normal((n, n), dtype=numpy.float32) for _ in range(2))
        out = cupy.empty((n, n), numpy.float32)
        new = in_turns(lambda a=a, b=b: cupy.matmul(a, b), lambda a=a, b=b: cupygemm.matmul(a, b))
        into = in_turns(
            lambda a=a, b=b, out=out: cupy.matmul(a, b, out=out),
            lambda a=a, b=b, out=out: cupygemm.matmul(a, b, out=out),
        )
        print(f"{n:10}" + "".join(f"{x:10.2f} {y:7.2f} {y / x:6.3f}" for x, y in (new, into)))
    return 0


def in_turns(theirs: Callable[[], object], ours: Callable[[], object]) -> tuple[float, float]:
    """Microseconds a call of either."""
    seen: tuple[list[float], list[float]] = ([], [])
    for _ in range(_BURSTS):
        for call, times in zip((theirs, ours), seen, strict=True):
            times.append(burst(call))
    return statistics.median(seen[0]), statistics.median(seen[1])


def burst(call: Callable[[], object]) -> float:
    """Microseconds a call, the GPU idle before and waited for after."""
    for _ in range(5):
        call()
    cupy.cuda.get_current_stream().synchronize()
    begun = time.perf_counter()
    for _ in range(_CALLS):
        call()
    seconds = time.perf_counter() - begun
    cupy.cuda.get_current_stream().synchronize()
    return 1e6 * seconds / _CALLS


if __name__ == "__main__":
    sys.exit(main())
