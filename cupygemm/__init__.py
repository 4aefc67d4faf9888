"""cupygemm: matrix multiplication for CuPy arrays on AMD GPUs, with kernels of its own.

CuPy is imported on first use of a name, not with the package: cupygemm.emulator must be able to set up its GPU before.
"""

import importlib
import typing

from cupygemm._version import __version__

if typing.TYPE_CHECKING:
    from cupygemm._explain import Explanation, explain
    from cupygemm._matmul import matmul

_HOMES = {"Explanation": "_explain", "explain": "_explain", "matmul": "_matmul"}

__all__ = ["Explanation", "__version__", "explain", "matmul"]


def __getattr__(name: str) -> typing.Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cupygemm' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"cupygemm.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOMES))
