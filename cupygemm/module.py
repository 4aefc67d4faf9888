"""Source -> loaded function, through cupy.RawModule.

CuPy keeps compiled code in its disk cache, across processes; here only the loaded functions of this process are kept,
one set a device: a function belongs to the device that was current when its module was loaded, even where two devices
share an architecture.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import cupy

from cupygemm.arch import Arch
from cupygemm.config import KernelConfig
from cupygemm.source import kernel_source

_log = logging.getLogger("cupygemm")
_functions: dict[tuple[int, KernelConfig], Any] = {}
_lock = threading.Lock()


def function(config: KernelConfig, arch: Arch, device: int) -> Any:
    """The loaded kernel of `config` on `device`, which must be the current one; compiled on first use.

    Raises:
        cupy.cuda.compiler.CompileException: the compiler rejects the source; its log is in the message.
    """
    key = (device, config)
    found = _functions.get(key)
    if found is not None:
        return found
    # One thread compiles; the others wait for its result instead of compiling the same source.
    with _lock:
        if key not in _functions:
            begun = time.perf_counter()
            source = kernel_source(config, arch)
            module = cupy.RawModule(code=source.code, options=source.options)
            _functions[key] = module.get_function(source.name)
            _log.info("loaded %s for %s in %.2f s", source.name, arch.name, time.perf_counter() - begun)
        return _functions[key]


def forget() -> None:
    """Drops every loaded function, so that the next call loads it again (from CuPy's disk cache)."""
    with _lock:
        _functions.clear()
