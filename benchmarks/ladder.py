"""Every step of two tutorials on fast matrix products, run, checked and, on a real GPU, timed.

    python benchmarks/ladder.py --tutorial fp16 --size 8192
    python -m cupygemm.emulator --arch gfx1201 benchmarks/ladder.py --size 512

Operands are -1 and 1, so that the sums are small integers, exact in FP16 in whatever order they are added up: the check
is for equality. A is row-major; B is column-major in the FP16 tutorial and row-major in the FP32 one. An emulated GPU
shows registers, LDS, the check, and counts of what was issued in place of times: it does not run at any GPU's speed.
Counts are in thousands: instructions of all waves (VALU, of them matrix instructions, LDS, vector memory), cache lines
that they touch; then the share of LDS cycles that bank conflicts cost, and waves a SIMD.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys

import cupy
import numpy
import timing

from cupygemm import chosen, ladder, module
from cupygemm.emulator import Dispatch
from cupygemm.plan import current_device

TIMES = f"{'ms':>9s} {'TFLOP/s':>8s}"
COUNTS = " ".join(f"{x:>8s}" for x in ("VALU", "matrix", "LDS", "VMEM", "lines")) + " confl.% w/SIMD"


def main(arguments: list[str] | None = None) -> int:
    """Runs the ladder; 1 if a step is wrong."""
    options = parser().parse_args(arguments)
    ordinal = cupy.cuda.runtime.getDevice()
    arch = current_device(ordinal).arch
    try:
        name, timed = timing.check_device(), True
    except RuntimeError as refusal:
        name, timed = str(refusal), False
    size = options.size or (8192 if timed else 512)
    head = TIMES if timed else COUNTS
    print(f"{name}\n{arch.name}, M = N = K = {size}\n{'step':11s} {head} VGPRs    LDS scratch")
    wrong = 0
    for step in ladder.steps(options.tutorial, arch.wave):
        why = step.infeasible(arch)
        if why is not None:
            print(f"{step.name:11s} {why}")
            continue
        a, b, c = operands(step.types.operand, size, options.tutorial)
        decision = step.decision(chosen.matrix_problem(a, b, c, step.types))
        with profile() as profiled:
            chosen.run(decision, a, b, c)
        right = bool((c == expected(a, b)).all())
        wrong += not right
        figures = resources(module.function(decision.config, arch, ordinal))
        measured = times(decision, a, b, c, size) if timed else counts(profiled.dispatches[-1])
        print(f"{step.name:11s} {measured} {figures} "
              f"{'' if right else 'WRONG '}{step.title}", flush=True)  # fmt: skip
    return int(wrong > 0)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--tutorial", choices=["fp16", "fp32"], default="fp16")
    made.add_argument("--size", type=int, help="M, N and K; left out: 8192, or 512 on an emulated GPU")
    return made


def operands(element: str, size: int, tutorial: str) -> tuple[cupy.ndarray, cupy.ndarray, cupy.ndarray]:
    """A, B and an empty C, all size x size."""
    dtype = {"f16": numpy.float16, "f32": numpy.float32}[element]
    rng = numpy.random.default_rng(1)
    a, b = (cupy.asarray((rng.integers(0, 2, (size, size)) * 2 - 1).astype(dtype)) for _ in range(2))
    return a, b.T if tutorial == "fp16" else b, cupy.full((size, size), numpy.nan, dtype)


def expected(a: cupy.ndarray, b: cupy.ndarray) -> cupy.ndarray:
    """The product, by cupy.matmul in FP32, where every partial sum is exact."""
    return cupy.matmul(a.astype(numpy.float32), b.astype(numpy.float32)).astype(a.dtype)


def profile() -> contextlib.AbstractContextManager:
    """Counters of the launches inside, where the GPU is an emulated one."""
    import cupygemm.emulator as emulator

    return emulator.profile() if emulator.active_archs() else contextlib.nullcontext()


def counts(dispatch: Dispatch) -> str:
    """What a dispatch issued, under COUNTS."""
    d = dispatch
    numbers = (d.valu, d.matrix, d.lds, d.vmem_read + d.vmem_write, d.lines_read + d.lines_written)
    thousands = " ".join(f"{n / 1000:8.1f}" for n in numbers)
    return f"{thousands} {d.lds_bank_conflict:7.1f} {d.waves_per_simd:6g}"


def resources(function: cupy.RawKernel) -> str:
    """Vector registers of a lane, LDS of a block and scratch of a lane, in bytes, as the runtime states them."""
    return f"{function.num_regs:5d} {function.shared_size_bytes:6d} {function.local_size_bytes:7d}"


def times(decision: ladder.Decision, a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray, size: int) -> str:
    """Mean of 30 launches after 10 to warm up, as in the tutorial."""
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(40)]
    for begun, done in events:
        begun.record()
        chosen.run(decision, a, b, c)
        done.record()
    events[-1][1].synchronize()
    mean = statistics.fmean(cupy.cuda.get_elapsed_time(begun, done) for begun, done in events[10:])
    return f"{mean:9.3f} {2 * size**3 / mean / 1e9:8.2f}"


if __name__ == "__main__":
    sys.exit(main())
