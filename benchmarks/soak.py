"""Many products of mixed shapes from several threads and streams, with random frees between; every result is checked.

    python benchmarks/soak.py --calls 100000 --threads 4

Operands are -1, 0 and 1, so that every sum is exact. A result C is right if C v = A (B v) for a vector v of random
integers from 1 to 999, in exact arithmetic: one wrong element always shows, and several go unseen only where their
errors cancel for that v. Ends with status 1 after a wrong result, or if CuPy's pool holds more live memory at the end
than at the beginning.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import multiprocessing.pool
import sys
import time

import cupy
import numpy

import cupygemm
from cupygemm import _spare

_SIZES = (1, 2, 7, 16, 17, 31, 64, 65, 100, 128, 130, 256, 300, 512)
_DTYPES = ("float32", "float32", "float16", "float64")
_STORED = 2**20


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The same random numbers on the host and, in each type, on the GPU."""

    host: numpy.ndarray
    device: dict[str, cupy.ndarray]

    @staticmethod
    def drawn(rng: numpy.random.Generator) -> Numbers:
        host = rng.integers(-1, 2, _STORED).astype(numpy.float64)
        return Numbers(host, {dtype: cupy.asarray(host.astype(dtype)) for dtype in set(_DTYPES)})


@dataclasses.dataclass(frozen=True)
class Operand:
    """A matrix or a batch of them, and what it holds."""

    host: numpy.ndarray
    device: cupy.ndarray


def soak(seed: int, calls: int, device: int, largest: int) -> int:
    """Makes `calls` products on a stream of its own; returns how many were wrong."""
    rng = numpy.random.default_rng(seed)
    sizes = [size for size in _SIZES if size <= largest]
    kept: list[tuple[Operand, Operand, cupy.ndarray]] = []
    wrong = 0
    with cupy.cuda.Device(device):
        numbers = Numbers.drawn(rng)
        cupy.cuda.Device().synchronize()
        with cupy.cuda.Stream(non_blocking=True):
            for _ in range(calls):
                a, b = _operands(rng, numbers, sizes)
                shape = (*a.device.shape[:-1], b.device.shape[-1])
                out = cupy.full(shape, numpy.nan, a.device.dtype) if rng.random() < 0.3 else None
                kept.append((a, b, cupygemm.matmul(a.device, b.device, out=out)))
                while kept and rng.random() < 0.6:
                    wrong += not _is_right(rng, *kept.pop(rng.integers(len(kept))))
            wrong += sum(not _is_right(rng, *product) for product in kept)
    return wrong


def _operands(rng: numpy.random.Generator, numbers: Numbers, sizes: list[int]) -> tuple[Operand, Operand]:
    """Operands of random extents and layouts, each a view of the stored numbers or a copy."""
    m, n, k = (int(size) for size in rng.choice(sizes, 3))
    batch = (int(rng.integers(2, 4)),) if rng.random() < 0.2 else ()
    dtype = str(rng.choice(_DTYPES))
    operands = []
    for rows, columns in ((m, k), (k, n)):
        turned, copied = rng.random() < 0.5, rng.random() < 0.5
        shape = (*batch, columns, rows) if turned else (*batch, rows, columns)
        length = int(numpy.prod(shape))
        begin = 4 * int(rng.integers(0, (_STORED - length) // 4))
        host, on_gpu = (x[begin : begin + length].reshape(shape) for x in (numbers.host, numbers.device[dtype]))
        on_gpu = on_gpu.copy() if copied else on_gpu
        operands.append(Operand(host.swapaxes(-1, -2), on_gpu.swapaxes(-1, -2)) if turned else Operand(host, on_gpu))
    return operands[0], operands[1]


def _is_right(rng: numpy.random.Generator, a: Operand, b: Operand, c: cupy.ndarray) -> bool:
    v = rng.integers(1, 1000, (b.host.shape[-1], 1)).astype(numpy.float64)
    return bool((c.get().astype(numpy.float64) @ v == a.host @ (b.host @ v)).all())


def main() -> int:
    """Runs the soak on all threads; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0, help="of the first thread; the others follow it")
    parser.add_argument("--largest", type=int, default=512, help="longest dimension")
    arguments = parser.parse_args()
    share = arguments.calls // arguments.threads
    soak(999, 50, arguments.device, arguments.largest)  # what libraries allocate once
    before = _live_bytes()
    begun = time.perf_counter()
    with multiprocessing.pool.ThreadPool(arguments.threads) as threads:
        jobs = [(arguments.seed + i, share, arguments.device, arguments.largest) for i in range(arguments.threads)]
        wrong = sum(threads.starmap(soak, jobs))
    leaked = max(0, _live_bytes() - before)
    seconds = time.perf_counter() - begun
    print(f"{share * arguments.threads} products in {seconds:.0f} s: {wrong} wrong, {leaked} bytes leaked")
    return int(wrong > 0 or leaked > 0)


def _live_bytes() -> int:
    _spare.forget()  # results that are kept for the next call
    gc.collect()
    cupy.cuda.Device().synchronize()
    return cupy.get_default_memory_pool().used_bytes()


if __name__ == "__main__":
    sys.exit(main())
