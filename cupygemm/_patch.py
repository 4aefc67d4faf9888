"""patch(): cupy.matmul, cupy.dot and cupy.tensordot become cupygemm's, for programs that cannot be edited."""

from __future__ import annotations

import math
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy

from cupygemm._matmul import matmul
from cupygemm.plan import current_device, types_on

_cupy_dot, _cupy_tensordot = cupy.dot, cupy.tensordot


def patch() -> Patch:
    """Replaces CuPy's matrix products by ours, at once and until undone.

    Replaced are cupy.matmul, cupy.linalg.matmul, and cupy.dot and cupy.tensordot where they are a product of matrices
    that there are kernels for. numpy.matmul, numpy.dot and numpy.tensordot follow when they are given CuPy arrays,
    since those ask cupy for its function of that name; so does CuPy's own code that calls these functions by name, such
    as cupy.einsum and cupy.linalg.matrix_power. Not replaced: `a @ b`, `a @= b` and `a.dot(b)`, which belong to CuPy's
    array class, and names that a program imported before (`from cupy import matmul`).

    Returns:
        A Patch: leave its `with` block, or call its `undo()`, to put CuPy's functions back. Patches nest, in any order
        and from any thread: the functions stay replaced until the last patch is undone.
    """
    handle = Patch()
    _apply()
    return handle


class Patch:
    """One application of `patch()`."""

    def __init__(self) -> None:
        self._active = True

    def undo(self) -> None:
        """Takes this patch back. A second call does nothing."""
        if self._active:
            self._active = False
            _withdraw()

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, *exception: object) -> None:
        self.undo()


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """cupy.dot; a product of ours where that means the same."""
    if _has_kernels(a, b) and _is_matrix_product(a, b) and (out is None or _fits_dot(a, b, out)):
        return matmul(a, b, out)
    return _cupy_dot(a, b, out)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """cupy.tensordot; a product of ours of the reshaped arrays where it sums over at least one axis."""
    paired = _paired_axes(a, b, axes) if _has_kernels(a, b) else None
    if paired is None:
        return _cupy_tensordot(a, b, axes)
    a_axes, b_axes = paired
    a_free = [d for d in range(a.ndim) if d not in a_axes]
    b_free = [d for d in range(b.ndim) if d not in b_axes]
    k = math.prod(a.shape[d] for d in a_axes)
    rows = [a.shape[d] for d in a_free]
    columns = [b.shape[d] for d in b_free]
    left = a.transpose(*a_free, *a_axes).reshape(math.prod(rows), k)
    right = b.transpose(*b_axes, *b_free).reshape(k, math.prod(columns))
    return matmul(left, right).reshape(*rows, *columns)


def _has_kernels(a: Any, b: Any) -> bool:
    if not (isinstance(a, cupy.ndarray) and isinstance(b, cupy.ndarray)):
        return False
    try:
        dtype = numpy.promote_types(a.dtype, b.dtype)
    except TypeError:
        return False
    return types_on(current_device(a.data.device_id).arch, dtype, "float32") is not None


def _is_matrix_product(a: cupy.ndarray, b: cupy.ndarray) -> bool:
    """True if dot means matmul: from three dimensions of `b` on, it pairs every matrix of `a` with every one of `b`."""
    return a.ndim > 0 and 0 < b.ndim <= 2 and a.shape[-1] == b.shape[0]


def _fits_dot(a: cupy.ndarray, b: cupy.ndarray, out: Any) -> bool:
    """cupy.dot asks more of `out` than matmul does; what it refuses is left to it to refuse."""
    if not isinstance(out, cupy.ndarray) or out.shape != a.shape[:-1] + b.shape[1:]:
        return False
    return out.flags.c_contiguous and out.dtype == numpy.promote_types(a.dtype, b.dtype)


def _paired_axes(a: cupy.ndarray, b: cupy.ndarray, axes: Any) -> tuple[list[int], list[int]] | None:
    """The axes to sum over, non-negative, or None where cupy.tensordot had better look at them itself."""
    if isinstance(axes, Sequence):
        if len(axes) != 2:
            return None
        pair = [list(x) if isinstance(x, Sequence) else [x] for x in axes]
    elif isinstance(axes, int):
        pair = [list(range(a.ndim - axes, a.ndim)), list(range(axes))]
    else:
        return None
    normal = []
    for x, own in ((a, pair[0]), (b, pair[1])):
        if not all(isinstance(d, int) and -x.ndim <= d < x.ndim for d in own):
            return None
        normal.append([d % x.ndim for d in own])
    first, second = normal
    distinct = len(set(first)) == len(first) == len(second) == len(set(second))
    if not first or not distinct or any(a.shape[i] != b.shape[j] for i, j in zip(first, second, strict=True)):
        return None
    return first, second


_REPLACEMENTS: tuple[tuple[types.ModuleType, str, Callable[..., Any]], ...] = (
    (cupy, "matmul", matmul),
    (cupy.linalg, "matmul", matmul),
    (cupy, "dot", dot),
    (cupy, "tensordot", tensordot),
)
_lock = threading.Lock()
_depth = 0
_originals: list[Any] = []


def _apply() -> None:
    global _depth
    with _lock:
        if _depth == 0:
            _originals[:] = [getattr(module, name) for module, name, _ in _REPLACEMENTS]
            for module, name, ours in _REPLACEMENTS:
                setattr(module, name, ours)
        _depth += 1


def _withdraw() -> None:
    global _depth
    with _lock:
        _depth -= 1
        if _depth == 0:
            for (module, name, _), original in zip(_REPLACEMENTS, _originals, strict=True):
                setattr(module, name, original)
