"""Many products of mixed shapes from several threads and streams, with random frees between; every result is checked.

    python benchmarks/soak.py --calls 100000 --threads 4

Operands are small integers, so that every element of a result must be exact. Ends with status 1 after a wrong result,
or if CuPy's pool holds more live memory at the end than at the beginning.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing.pool
import sys
import time

import cupy
import numpy

import cupygemm

_SIZES = (1, 2, 7, 16, 17, 31, 64, 65, 100, 128, 130, 256, 300, 512)
_DTYPES = ("float32", "float32", "float16", "float64")


def soak(seed: int, calls: int, device: int, largest: int) -> int:
    """Makes `calls` products on a stream of its own; returns how many were wrong."""
    rng = numpy.random.default_rng(seed)
    sizes = [size for size in _SIZES if size <= largest]
    kept: list[tuple[cupy.ndarray, cupy.ndarray, cupy.ndarray]] = []
    wrong = 0
    with cupy.cuda.Device(device), cupy.cuda.Stream(non_blocking=True):
        for _ in range(calls):
            a, b = _operands(rng, sizes)
            out = cupy.full(_result_shape(a, b), numpy.nan, a.dtype) if rng.random() < 0.3 else None
            kept.append((a, b, cupygemm.matmul(a, b, out=out)))
            while kept and rng.random() < 0.6:
                wrong += not _is_right(*kept.pop(rng.integers(len(kept))))
        wrong += sum(not _is_right(*product) for product in kept)
    return wrong


def _operands(rng: numpy.random.Generator, sizes: list[int]) -> tuple[cupy.ndarray, cupy.ndarray]:
    m, n, k = (int(size) for size in rng.choice(sizes, 3))
    batch = (int(rng.integers(2, 4)),) if rng.random() < 0.2 else ()
    dtype = rng.choice(_DTYPES)
    arrays = []
    for rows, columns in ((m, k), (k, n)):
        turned = rng.random() < 0.5
        shape = (*batch, columns, rows) if turned else (*batch, rows, columns)
        x = cupy.asarray(rng.integers(-1, 2, shape).astype(dtype))
        arrays.append(x.swapaxes(-1, -2) if turned else x)
    return arrays[0], arrays[1]


def _result_shape(a: cupy.ndarray, b: cupy.ndarray) -> tuple[int, ...]:
    return (*a.shape[:-1], b.shape[-1])


def _is_right(a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray) -> bool:
    want = numpy.matmul(a.get().astype(numpy.float64), b.get().astype(numpy.float64))
    return bool((c.get() == want).all())


def main() -> int:
    """Runs the soak on all threads; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--largest", type=int, default=512, help="longest dimension")
    arguments = parser.parse_args()
    share = arguments.calls // arguments.threads
    soak(999, 50, arguments.device, arguments.largest)  # what libraries allocate once
    before = _live_bytes()
    begun = time.perf_counter()
    with multiprocessing.pool.ThreadPool(arguments.threads) as threads:
        jobs = [(seed, share, arguments.device, arguments.largest) for seed in range(arguments.threads)]
        wrong = sum(threads.starmap(soak, jobs))
    leaked = max(0, _live_bytes() - before - 2**20)  # one result of up to 1 MiB is allocated ahead
    seconds = time.perf_counter() - begun
    print(f"{share * arguments.threads} products in {seconds:.0f} s: {wrong} wrong, {leaked} bytes leaked")
    return int(wrong > 0 or leaked > 0)


def _live_bytes() -> int:
    gc.collect()
    cupy.cuda.Device().synchronize()
    return cupy.get_default_memory_pool().used_bytes()


if __name__ == "__main__":
    sys.exit(main())
