"""An AMD GPU in software: unmodified CuPy (cupy-rocm-7-0) on a machine without a GPU, executing the machine code a GPU
would.

    import cupygemm.emulator
    cupygemm.emulator.activate("gfx1201")
    import cupy

It is not a timing model: how long something takes here says nothing about a GPU.
"""

from __future__ import annotations

import sys

from . import build, rocm, targets
from .compiler import compilations
from .profiling import Dispatch, Profile
from .runtime import Options, Runtime

__all__ = ["Dispatch", "Profile", "activate", "active_archs", "compilations", "profile"]

_runtime: Runtime | None = None
_options = Options()


def activate(*archs: str, check: bool = False, defer: bool = False, seed: int = 0) -> None:
    """Makes CuPy, imported afterwards in this process, run on emulated GPUs, one a named arch, numbered from 0.

    Parameters: ``archs`` such as "gfx1201" or "gfx942" (see ``targets.TARGETS``), gfx1201 if none is named; ``check``
    runs every launch under the checkers and gives each array an allocation of its own; ``defer`` carries out work on
    streams only when something waits for it, in a random order drawn from ``seed``.

    A repeated call with the same arguments does nothing. Raises RuntimeError if CuPy is imported already or the
    arguments differ from those of an earlier call, ValueError for an unknown arch, build.BuildError if the native part
    cannot be built.
    """
    global _runtime, _options
    rows = tuple(targets.target(arch) for arch in archs or ("gfx1201",))
    options = Options(check, defer, seed)
    if _runtime:
        if (_runtime.targets, _options) == (rows, options):
            return
        raise RuntimeError(f"the emulated GPU is active already, with {', '.join(active_archs())} and {_options}")
    if "cupy" in sys.modules or "cupy_backends" in sys.modules:
        raise RuntimeError("cupy is imported already: call cupygemm.emulator.activate before importing cupy")
    folder = build.build()
    rocm.use(rocm.make_root(build.cache_root()))
    _runtime, _options = Runtime(folder, rows, options), options
    if check:
        _bypass_memory_pool()


def active_archs() -> tuple[str, ...]:
    """The arch of each emulated device; empty if none is active."""
    return tuple(target.arch for target in _runtime.targets) if _runtime else ()


def profile() -> Profile:
    """Counts every launch inside a ``with`` statement:

        with cupygemm.emulator.profile() as profiled:
            c = cupygemm.matmul(a, b)
        print(profiled.dispatches[-1].lds_conflicts)

    Results stay the same; launches take about twice as long. Raises RuntimeError if no GPU is emulated.
    """
    if _runtime is None:
        raise RuntimeError("no GPU is emulated: call cupygemm.emulator.activate first")
    return Profile(_runtime.hip, _runtime.targets)


def _bypass_memory_pool() -> None:
    """CuPy's pool hands out parts of larger allocations, past whose ends an access would go unnoticed: do without
    it."""
    import cupy

    cupy.cuda.set_allocator(None)
    cupy.cuda.set_pinned_memory_allocator(None)
