"""cupygemm: matrix multiplication for CuPy arrays on AMD GPUs, with kernels of its own.

CuPy is imported on first use of a name, not with the package: cupygemm.emulator must be able to set up its GPU before.
"""

import importlib
import typing

from cupygemm._version import __version__

if typing.TYPE_CHECKING:
    from cupygemm._capture import release_captured
    from cupygemm._explain import Explanation, explain
    from cupygemm._matmul import matmul
    from cupygemm._options import Options
    from cupygemm._patch import Patch, patch
    from cupygemm._preshuffle import Packed, preshuffle
    from cupygemm._quantize import quantize
    from cupygemm._scaled import explain_scaled, linear, scaled_matmul
    from cupygemm._warmup import warmup
    from cupygemm.module import KernelError

_HOMES = {
    "Explanation": "_explain",
    "KernelError": "module",
    "Options": "_options",
    "Packed": "_preshuffle",
    "Patch": "_patch",
    "config": "_options",
    "explain": "_explain",
    "explain_scaled": "_scaled",
    "linear": "_scaled",
    "matmul": "_matmul",
    "patch": "_patch",
    "preshuffle": "_preshuffle",
    "quantize": "_quantize",
    "release_captured": "_capture",
    "scaled_matmul": "_scaled",
    "warmup": "_warmup",
}

__all__ = [
    "Explanation",
    "KernelError",
    "Options",
    "Packed",
    "Patch",
    "__version__",
    "explain",
    "explain_scaled",
    "linear",
    "matmul",
    "patch",
    "preshuffle",
    "quantize",
    "release_captured",
    "scaled_matmul",
    "warmup",
]


def __getattr__(name: str) -> typing.Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cupygemm' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"cupygemm.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOMES))
