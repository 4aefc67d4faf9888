"""Source -> loaded function, through cupy.RawModule.

CuPy keeps compiled code in its disk cache, across processes; here only the loaded functions of this process are kept,
one set a device: a function belongs to the device that was current when its module was loaded, even where two devices
share an architecture.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from typing import Any

import cupy
from cupy.cuda.compiler import CompileException
from cupy_backends.cuda.api.driver import CUDADriverError

from cupygemm.arch import Arch
from cupygemm.kernel_config import KernelConfig, SumConfig
from cupygemm.source import KernelSource, kernel_source

_log = logging.getLogger("cupygemm")


class KernelError(RuntimeError):
    """A kernel does not compile or load. The message names kernel and architecture and carries the first error of the
    compiler's log; the whole log is in the exception that caused this one."""


_functions: dict[tuple[int, KernelConfig | SumConfig], Any] = {}
_failures: dict[tuple[int, KernelConfig | SumConfig], Exception] = {}
#: Launches prepared from loaded functions (recall.py).
launches: dict[tuple, Any] = {}
#: Graphs of such launches (_graphs.py), the one used last at the end.
graphs: dict[tuple, Any] = {}
_lock = threading.Lock()

# CuPy checks that a cache entry is what was once written, not that the driver can load it. Where it cannot, this
# changes the key, so that the source is compiled anew.
_NOTES = ("", "// compiled again: the code object in the cache did not load\n")


def function(config: KernelConfig | SumConfig, arch: Arch, device: int) -> Any:
    """The loaded kernel of `config` on `device`, which must be the current one; compiled on first use.

    Raises:
        KernelError: the kernel does not compile or load; remembered, so that it is tried only once.
    """
    key = (device, config)
    found = _functions.get(key)
    if found is not None:
        return found
    # One thread compiles; the others wait for its result instead of compiling the same source.
    with _lock:
        if key not in _functions:
            begun = time.perf_counter()
            try:
                if key in _failures:
                    raise _failures[key]
                _functions[key] = _load(kernel_source(config, arch))
            except (CompileException, CUDADriverError) as error:
                _failures[key] = error
                text = f"kernel {config.name} for {arch.name} does not compile or load: {_first_error(str(error))}"
                raise KernelError(text) from error
            _log.info("loaded %s for %s in %.2f s", config.name, arch.name, time.perf_counter() - begun)
        return _functions[key]


def is_loaded(config: KernelConfig | SumConfig, device: int) -> bool:
    """True if `function` would return at once."""
    return (device, config) in _functions


def forget() -> None:
    """Drops every loaded function and remembered failure, so that the next call loads the kernel again (from CuPy's
    disk cache, if it is there)."""
    with _lock:
        _functions.clear()
        _failures.clear()
        launches.clear()
        graphs.clear()


def _load(source: KernelSource) -> Any:
    for note in _NOTES:
        try:
            return cupy.RawModule(code=source.code + note, options=source.options).get_function(source.name)
        except CUDADriverError:
            if note:
                raise
    raise AssertionError("unreachable")


def _first_error(log: str) -> str:
    """The first line of a compiler's log that reports an error, or else the first line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["no message"]
    return next((line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)), lines[0])
