"""Multiplies two matrices with cupygemm on the GPU that is here, or else on an emulated one, and checks the result.

    python examples/demo.py [--arch gfx1201] [--size 512]

--arch asks for an emulated AMD GPU even where a real GPU is present.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import pathlib
import time

import numpy


def real_gpu() -> bool:
    """A CUDA build of CuPy means an NVIDIA GPU; /dev/kfd is the kernel driver of AMD GPUs."""
    names = {d.metadata["Name"].lower() for d in importlib.metadata.distributions() if d.metadata["Name"]}
    return any(n.startswith("cupy-cuda") for n in names) or pathlib.Path("/dev/kfd").exists()


def main() -> None:
    """Runs the demo."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", help="emulate this AMD GPU (gfx1201, gfx1100, gfx942, ...)")
    parser.add_argument("--size", type=int, default=512, help="M, N and K (default 512)")
    options = parser.parse_args()

    emulated = options.arch or (None if real_gpu() else "gfx1201")
    if emulated:
        import cupygemm.emulator

        cupygemm.emulator.activate(emulated)
    import cupy

    import cupygemm

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    print(f"device   {properties['name'].decode()}")

    rng = numpy.random.default_rng(0)
    n = options.size
    a, b = (rng.standard_normal((n, n), numpy.float32) for _ in range(2))
    on_gpu = cupy.asarray(a), cupy.asarray(b)
    print(cupygemm.explain(*on_gpu))

    begun = time.perf_counter()
    result = cupygemm.matmul(*on_gpu).get()
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    again = cupygemm.matmul(*on_gpu).get()
    second = time.perf_counter() - begun

    exact = a.astype(numpy.float64) @ b.astype(numpy.float64)
    error = numpy.abs(result - exact).max() / numpy.abs(exact).max()
    where = "emulated: says nothing about a GPU's speed" if emulated else "host call to result on the host"
    print(f"time     first call {first:.3f} s with compilation, second {second:.3f} s ({where})")
    print(f"result   {n}x{n}x{n}, largest error {error:.1e} of the largest element, against float64")
    print(f"repeat   the same bits: {numpy.array_equal(result, again)}")
    if error > 1e-5 or not numpy.array_equal(result, again):
        raise SystemExit("the result is wrong")
    print("ok")


if __name__ == "__main__":
    main()
