"""The front door: NumPy's meaning of matmul -> shapes and layouts, or cupy.matmul and the reason."""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy

from cupygemm.dispatch import Fallback
from cupygemm.plan import Layout, Plan, Shapes, carry_out, current_device, make_plan


def matmul(a: cupy.ndarray, b: cupy.ndarray, /, out: cupy.ndarray | None = None) -> cupy.ndarray:
    """Matrix product of two arrays, as cupy.matmul and numpy.matmul define it.

    Args:
        a: array of shape (..., M, K) or (K,).
        b: array of shape (..., K, N) or (K,). Batch dimensions broadcast.
        out: where to put the result; any strides, the result's shape.

    Returns:
        Array of shape (..., M, N), without M or N where the operand was 1-D; `out` itself if it was given. FP32
        products accumulate in FP32 and give the same bits on every run.

    Raises:
        TypeError: an operand is not a cupy.ndarray, or the result cannot be cast to `out`'s dtype.
        ValueError: shapes do not match, or an operand has no dimensions.
    """
    _check_operands(a, b, out)
    shapes = _shapes(a.shape, b.shape)
    if out is not None and out.shape != shapes.result:
        raise ValueError(f"Output array has an invalid size: shape {out.shape}, expected {shapes.result}")
    if a.dtype != numpy.float32 or b.dtype != numpy.float32 or (out is not None and out.dtype != numpy.float32):
        return _fall_back(a, b, out)
    if out is None:
        out = cupy.empty(shapes.result, numpy.float32)
        target = out
    else:
        aliased = cupy.shares_memory(out, a) or cupy.shares_memory(out, b)
        target = cupy.empty(shapes.result, numpy.float32) if aliased or _self_overlaps(out) else out
    if out.size:
        if shapes.k == 0:
            target.fill(0)
        else:
            _run(a, b, target, shapes)
    if target is not out:
        out[...] = target
    return out


def plan(a: cupy.ndarray, b: cupy.ndarray) -> Plan:
    """What matmul(a, b) would do. Nothing is compiled or launched."""
    _check_operands(a, b, None)
    shapes = _shapes(a.shape, b.shape)
    device = current_device(cupy.cuda.runtime.getDevice())
    if a.dtype != numpy.float32 or b.dtype != numpy.float32:
        return Plan(device, None, None, Fallback(f"no kernel of ours for {a.dtype} x {b.dtype}; FP32 only"))
    if shapes.k == 0 or 0 in shapes.result:
        return Plan(device, None, None, Fallback("nothing to multiply: the result is empty or all zeros"))
    strides = _contiguous_strides(shapes.result)
    return make_plan(device, shapes, Layout.of(a), Layout.of(b), Layout(shapes.result, strides, 16))


def _check_operands(a: Any, b: Any, out: Any) -> None:
    for x, what in ((a, "first"), (b, "second")):
        if not isinstance(x, cupy.ndarray):
            raise TypeError(f"the {what} operand is a {type(x).__name__}, not a cupy.ndarray: use cupy.asarray")
        if x.ndim == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
    if out is not None and not isinstance(out, cupy.ndarray):
        raise TypeError(f"`out` must be a cupy.ndarray, not {type(out).__name__}")


def _shapes(a: tuple[int, ...], b: tuple[int, ...]) -> Shapes:
    a2 = a if len(a) > 1 else (1, *a)
    b2 = b if len(b) > 1 else (*b, 1)
    if a2[-1] != b2[-2]:
        raise ValueError(f"shapes {a} and {b} not aligned: {a2[-1]} (dim {len(a) - 1}) != {b2[-2]}")
    try:
        batch = numpy.broadcast_shapes(a2[:-2], b2[:-2])
    except ValueError:
        raise ValueError(f"operands could not be broadcast together with remapped shapes: {a}, {b}") from None
    m, n = a2[-2], b2[-1]
    return Shapes(batch, m, n, a2[-1], batch + (m,) * (len(a) > 1) + (n,) * (len(b) > 1))


def _fall_back(a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray | None) -> cupy.ndarray:
    bfloat16 = "bfloat16" in (a.dtype.name, b.dtype.name)
    if bfloat16 and cupy.cuda.runtime.is_hip:
        # cupy.matmul ends the process there (an uncaught C++ exception).
        raise TypeError(f"{a.dtype} x {b.dtype}: there is no kernel for bfloat16 yet, and cupy.matmul has none on HIP")
    return cupy.matmul(a, b) if out is None else cupy.matmul(a, b, out=out)


def _run(a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray, shapes: Shapes) -> None:
    ordinal = cupy.cuda.runtime.getDevice()
    todo = make_plan(current_device(ordinal), shapes, Layout.of(a), Layout.of(b), Layout.of(c))
    if todo.fallback is not None:
        cupy.matmul(a, b, out=c)
    else:
        carry_out(todo, ordinal, a, b, c)


def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def _self_overlaps(x: cupy.ndarray) -> bool:
    """True if two elements of `x` may share an address (a broadcast or as_strided view)."""
    reach = x.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (extent - 1)
    return False
