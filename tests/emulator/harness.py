"""Runs HIP source or assembly text on the native executor alone: no CuPy, no stand-in runtime, its own memory map.

``Kernel.from_hip(source, arch)`` compiles with ziglang's clang; ``Kernel.from_assembly(text, arch)`` takes bare
instructions or a whole listing, edited or not, without assembling it. ``launch`` takes numpy arrays (device memory is
theirs) and numpy scalars.
"""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Sequence

import numpy as np

from cupygemm.emulator import build
from cupygemm.emulator.executor import Counters, Executor
from cupygemm.emulator.listing import Listing, parse_listing
from cupygemm.emulator.program import OpcodeIndex, assemble, create_kernel, kernel_facts

ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201")
_HIP_FLAGS = [
    "-x",
    "hip",
    "--cuda-device-only",
    "-nogpulib",
    "-nogpuinc",
    "-nostdinc",
    "-nostdinc++",
    "-O3",
    "-std=c++17",
    "-fuse-cuid=none",
    "-gline-tables-only",
]
PRELUDE = """
#ifndef __global__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#endif
"""


@functools.cache
def executor() -> Executor:
    """The executor; CUPYGEMM_EXECUTOR_LIBRARY names a library built otherwise (with a sanitizer, say)."""
    path = os.environ.get("CUPYGEMM_EXECUTOR_LIBRARY")
    return Executor(path or str(build.build() / "libamdhip64.so.7"))


@functools.cache
def opcode_index() -> OpcodeIndex:
    return OpcodeIndex(executor().opcodes)


def zig(*command: str, folder: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a tool of ziglang; the caller looks at the return code."""
    return subprocess.run(
        [build.toolchain().zig, *command],
        cwd=folder,
        env=build.zig_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@functools.cache
def compile_hip(source: str, arch: str, *options: str) -> str:
    """The listing that clang makes of HIP source."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "k.hip").write_text(PRELUDE + source)
        done = zig("clang", *_HIP_FLAGS, f"--offload-arch={arch}", *options, "-S", "k.hip", "-o", "k.s", folder=folder)
        if done.returncode:
            raise ValueError(done.stderr)
        return (pathlib.Path(folder) / "k.s").read_text()


class Kernel:
    """A kernel ready to launch."""

    def __init__(self, listing: Listing, arch: str, name: str = "") -> None:
        self.arch = arch
        self.listing = listing
        self.program = assemble(listing, opcode_index(), target=arch)
        self.facts = kernel_facts(listing, name or next(iter(listing.directives), "kernel"), arch)
        self.handle = create_kernel(executor(), self.program, self.facts)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            executor().destroy_kernel(self.handle)

    @classmethod
    def from_hip(cls, source: str, arch: str, *options: str, name: str = "") -> Kernel:
        return cls(parse_listing(compile_hip(source, arch, *options)), arch, name)

    @classmethod
    def from_assembly(cls, text: str, arch: str, name: str = "") -> Kernel:
        return cls(parse_listing(text), arch, name)

    def launch(
        self,
        grid: Sequence[int] | int,
        block: Sequence[int] | int,
        *arguments: np.ndarray | np.generic,
        dynamic_lds: int = 0,
        threads: int = 1,
        check: bool = False,
        budget: int = 0,
        counters: Counters | None = None,
    ) -> None:
        """Arrays are visible to the kernel with exactly their bytes. Raises ExecutorError with the report."""
        packed = pack_arguments(arguments)
        packed += bytes(max(0, self.facts.kernarg_bytes - len(packed)))
        arrays = {a.ctypes.data: a for a in arguments if isinstance(a, np.ndarray) and a.nbytes}
        for address, array in arrays.items():
            executor().add_memory(address, array.nbytes)
        try:
            executor().launch(
                self.handle,
                _three(grid),
                _three(block),
                packed,
                dynamic_lds=dynamic_lds,
                threads=threads,
                check=check,
                budget=budget,
                counters=counters,
            )
        finally:
            for address in arrays:
                executor().remove_memory(address)


def pack_arguments(arguments: Sequence[np.ndarray | np.generic]) -> bytes:
    """Kernel argument block: pointers and scalars at their natural alignment."""
    block = b""
    for argument in arguments:
        data = np.uint64(argument.ctypes.data).tobytes() if isinstance(argument, np.ndarray) else argument.tobytes()
        block += bytes(-len(block) % len(data)) + data
    return block


def _three(size: Sequence[int] | int) -> tuple[int, int, int]:
    values = (size,) if isinstance(size, int) else tuple(size)
    return (*values, 1, 1, 1)[:3]  # type: ignore[return-value]
