"""The front door: arguments of matmul -> operands and target of one product, or cupy.matmul and the reason.

Whatever has no effect on the product itself (axes, order, casting to `out`) is the work of CuPy's own gufunc class,
laid over our product, so that it means what it means in the CuPy that is installed.
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import cupy
import numpy

from cupygemm import _arrays, _capture, recall
from cupygemm._options import config
from cupygemm._parts import Cut, parts
from cupygemm._preshuffle import Packed
from cupygemm.dispatch import Fallback
from cupygemm.module import KernelError
from cupygemm.plan import Layout, Plan, Shapes, carry_out, current_device, make_packed_plan, make_plan, types_on

#: CuPy's function, whatever the name cupy.matmul is made to mean later (see _patch.py).
cupy_matmul = cupy.matmul

_INT32_MAX = 2**31 - 1


def matmul(
    x1: cupy.ndarray,
    x2: cupy.ndarray | Packed,
    /,
    out: cupy.ndarray | tuple[cupy.ndarray | None] | None = None,
    *,
    axes: list[tuple[int, ...]] | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
    signature: Any = None,
) -> cupy.ndarray:
    """Matrix product of two arrays, as cupy.matmul and numpy.matmul define it.

    Args:
        x1: array of shape (..., M, K) or (K,).
        x2: array of shape (..., K, N) or (K,), or what `preshuffle` made of one of shape (K, N). Batch dimensions
            broadcast.
        out: where to put the result, alone or in a tuple: any strides, the result's shape, a type that the result can
            be cast to. May overlap the operands.
        axes: the dimensions that hold the matrices of x1, x2 and the result: a list of three tuples.
        axis, keepdims, signature: refused with an exception, as cupy.matmul does for a product of matrices.
        casting: how freely the result may be cast to `out`; "no", "equiv", "safe", "same_kind" or "unsafe".
        order: memory layout of a new result: "C" and "K" row-major, "F" Fortran order, "A" Fortran order where both
            operands have it.
        dtype: type of the result.

    Returns:
        Array of shape (..., M, N), without M or N where the operand was 1-D; `out` itself if it was given. The type is
        that to which NumPy promotes the operands' types. Sums run in FP32 for floating-point types of 32 bits or less,
        and the same operands give the same bits on every run. It lies on the operands' device, made on the current
        stream of that device.

    Raises:
        TypeError: an operand is not a cupy.ndarray, or the result cannot be cast to the type of `out`.
        ValueError: shapes do not match, an operand has no dimensions, the arrays are on different devices, or a keyword
            has a value that it cannot have.
        cupygemm.KernelError: a kernel does not compile, under config(strict=True) or where CuPy cannot take over.
    """
    plain = (
        axes is None
        and axis is None
        and not keepdims
        and casting == "same_kind"
        and order == "K"
        and dtype is None
        and signature is None
    )
    if plain and (known := recall.again(x1, x2, out)) is not None:
        return known
    if isinstance(out, tuple):
        out = _only(out)
    if isinstance(x2, Packed):
        if not plain:
            raise TypeError("a product with a packed operand takes no keyword but out")
        return _packed_product(x1, x2, out)
    _check_arrays(x1, x2, out)
    device = _common_device(x1, x2, out)
    if device != cupy.cuda.runtime.getDevice():
        with cupy.cuda.Device(device):
            return matmul(x1, x2, out, axes=axes, axis=axis, keepdims=keepdims, casting=casting, order=order,
                          dtype=dtype, signature=signature)  # fmt: skip
    if plain and (out is None or out.dtype == x1.dtype == x2.dtype):
        return _product(x1, x2, out)
    _check_choices(casting, order)
    return _gufunc(x1, x2, out=out, axes=axes, axis=axis, keepdims=keepdims, casting=casting, order=order, dtype=dtype,
                   signature=signature)  # fmt: skip


def plan(a: cupy.ndarray, b: cupy.ndarray) -> Plan:
    """What matmul(a, b) would do on the operands' device. Nothing is compiled, copied or launched."""
    _check_arrays(a, b, None)
    shapes = _shapes(a.shape, b.shape)
    device = current_device(_common_device(a, b, None))
    dtype = numpy.promote_types(a.dtype, b.dtype)
    types = types_on(device.arch, dtype, config.get().accumulate)
    if types is None:
        return Plan(device, None, None, Fallback(f"no kernel of ours for {a.dtype} x {b.dtype} on {device.arch.name}"))
    if shapes.k == 0 or 0 in shapes.result:
        return Plan(device, None, None, Fallback("nothing to multiply: the result is empty or all zeros"))
    layouts = (_contiguous_layout(x.shape) if conversions(x, dtype) else Layout.of(x) for x in (a, b))
    return make_plan(device, shapes, *layouts, _contiguous_layout(shapes.result), types, config.get().batch_invariant)


def conversions(x: cupy.ndarray, dtype: numpy.dtype) -> str | None:
    """Why an operand must be copied before a kernel for `dtype` can read it, or None."""
    if x.dtype != dtype:
        return f"converted from {x.dtype} to {dtype}"
    if not _arrays.is_element_aligned(x):
        return f"copied, since its strides {x.strides} or its address are no multiples of {x.itemsize} bytes"
    return None


def _only(out: tuple[Any, ...]) -> cupy.ndarray | None:
    if len(out) != 1:
        raise ValueError(f"The 'out' tuple must have exactly one entry, it has {len(out)}")
    if out[0] is not None and not isinstance(out[0], cupy.ndarray):
        raise TypeError("`out` tuple must contain `cupy.ndarray` or None")
    return out[0]


def _check_arrays(a: Any, b: Any, out: Any) -> None:
    for x, what in ((a, "first"), (b, "second")):
        if not isinstance(x, cupy.ndarray):
            raise TypeError(f"the {what} operand is a {type(x).__name__}, not a cupy.ndarray: use cupy.asarray")
        if x.ndim == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
    if out is not None and not isinstance(out, cupy.ndarray):
        raise TypeError("`out` must be a tuple or `cupy.ndarray`")


def _common_device(a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray | None) -> int:
    """The device of the arrays; kernels cannot count on reading another device's memory."""
    device = a.data.device_id
    other = b.data.device_id
    third = device if out is None else out.data.device_id
    if other != device or third != device:
        where = f"{device} and {other}" if out is None else f"{device} and {other}, out on {third}"
        raise ValueError(f"Array device must be the same for all arrays: operands are on devices {where}")
    return device


def _check_choices(casting: Any, order: Any) -> None:
    numpy.can_cast(numpy.float32, numpy.float32, casting)  # raises for a casting rule that does not exist
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if order.upper() not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")


def _product(a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray | None = None) -> cupy.ndarray:
    """The product proper, on the current device. The result's cast to the type of `out`, if any, is allowed."""
    shapes = _shapes(a.shape, b.shape)
    if out is not None and out.shape != shapes.result:
        raise ValueError(f"Output array has an invalid size: shape {out.shape}, expected {shapes.result}")
    dtype = a.dtype if a.dtype == b.dtype else numpy.promote_types(a.dtype, b.dtype)
    if types_on(current_device(cupy.cuda.runtime.getDevice()).arch, dtype, config.get().accumulate) is None:
        return _fall_back(a, b, out)
    if out is None:
        out = cupy.empty(shapes.result, dtype)
        if out.size == 0:
            return out
        target = out
    else:
        if out.size == 0:
            return out
        target = out if _writable_in_place(out, dtype, a, b) else cupy.empty(shapes.result, dtype)
    if shapes.k == 0:
        target.fill(0)
    else:
        first, second = _readable(a, dtype), _readable(b, dtype)
        _run(first, second, target, shapes)
        if first is not a or second is not b:
            _capture.keep(first, second)
    if target is not out:
        _store(target, out)
        _capture.keep(target)
    return out


def _packed_product(a: cupy.ndarray, b: Packed, out: cupy.ndarray | None) -> cupy.ndarray:
    _check_arrays(a, b.data, out)
    device = _common_device(a, b.data, out)
    if a.dtype != b.dtype:
        raise TypeError(f"the first operand is {a.dtype}, the packed one {b.dtype}: they must be of one type")
    shapes = _shapes(a.shape, b.shape)
    if out is not None and (out.shape != shapes.result or out.dtype != a.dtype):
        raise ValueError(f"out is {out.dtype} of shape {out.shape}; the result is {a.dtype} of shape {shapes.result}")
    with cupy.cuda.Device(device):
        types = types_on(current_device(device).arch, a.dtype, "float32")
        if types is None:
            raise TypeError(f"matmul does not multiply {a.dtype}: scaled_matmul does")
        result = cupy.empty(shapes.result, a.dtype)
        if result.size:
            first = _readable(a, a.dtype)
            todo = make_packed_plan(current_device(device), shapes, Layout.of(first), Layout.of(result), types,
                                    config.get().batch_invariant)  # fmt: skip
            if todo.fallback is not None:
                raise ValueError(f"{a.shape} times packed {b.shape}: {todo.fallback.reason}")
            carry_out(todo, device, first, b.data, result)
            _capture.keep(first, b.data)
        if out is None:
            return result
        _store(result, out)
        _capture.keep(result)
    return out


def _writable_in_place(out: cupy.ndarray, dtype: numpy.dtype, a: cupy.ndarray, b: cupy.ndarray) -> bool:
    if out.dtype != dtype or not _arrays.is_element_aligned(out) or _arrays.self_overlaps(out):
        return False
    return not (_arrays.overlap(out, a) or _arrays.overlap(out, b))


def _readable(x: cupy.ndarray, dtype: numpy.dtype) -> cupy.ndarray:
    if not _arrays.is_element_aligned(x):
        x = _arrays.aligned_copy(x)
    return x if x.dtype == dtype else x.astype(dtype)


def _store(result: cupy.ndarray, out: cupy.ndarray) -> None:
    if _arrays.is_element_aligned(out):
        cupy.copyto(out, result, casting="unsafe")
    else:
        _arrays.as_bytes(out)[...] = _arrays.as_bytes(result.astype(out.dtype, copy=False))


_gufunc = type(cupy_matmul)(_product, "(n?,k),(k,m?)->(n?,m?)", name="matmul", doc=matmul.__doc__,
                            supports_batched=True, supports_out=True)  # fmt: skip


@functools.lru_cache(maxsize=4096)
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


def _run(a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray, shapes: Shapes) -> None:
    """Multiplies with a kernel of ours if one can; element-aligned operands of one type, nothing empty."""
    ordinal = cupy.cuda.runtime.getDevice()
    device = current_device(ordinal)
    types = types_on(device.arch, a.dtype, config.get().accumulate)
    assert types is not None
    todo = make_plan(device, shapes, Layout.of(a), Layout.of(b), Layout.of(c), types, config.get().batch_invariant)
    if todo.fallback is not None:
        if todo.fallback.cut is None:
            _fall_back(a, b, c)
        else:
            _run_in_parts(a, b, c, shapes, todo.fallback.cut)
        return
    try:
        carry_out(todo, ordinal, a, b, c)
    except KernelError as error:
        if config.get().strict:
            raise
        _fall_back(a, b, c, error)


def _run_in_parts(a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray, shapes: Shapes, cut: Cut) -> None:
    for i, part in enumerate(parts(shapes, cut)):
        first, second, target = part.of_a(a, shapes), part.of_b(b, shapes), part.of_result(c, shapes)
        inner = _shapes(first.shape, second.shape)
        if part.dim == "k" and i > 0:
            addend = cupy.empty(c.shape, c.dtype)
            _run(first, second, addend, inner)
            cupy.add(c, addend, out=c)
            _capture.keep(addend)
        else:
            _run(first, second, target, inner)


def _fall_back(
    a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray | None, error: KernelError | None = None
) -> cupy.ndarray:
    """cupy.matmul, in place of a kernel that does not exist or (`error`) did not compile."""
    if max(a.shape + b.shape) > _INT32_MAX:
        # CuPy hands sizes to the vendor's library as 32-bit integers, without looking.
        raise ValueError(f"shapes {a.shape} and {b.shape}: cupy.matmul cannot multiply dimensions above {_INT32_MAX}")
    bfloat16 = "bfloat16" in (a.dtype.name, b.dtype.name)
    if bfloat16 and cupy.cuda.runtime.is_hip:
        # cupy.matmul ends the process there (an uncaught C++ exception).
        if error is not None:
            raise error
        return _through_float32(a, b, out)
    if error is not None:
        _warn_once(f"{error}; cupy.matmul does such products")
    if out is None:
        return cupy_matmul(a, b)
    # The cast to the type of `out` was allowed before; CuPy's shortcut around its checks wants equal types.
    casting = "same_kind" if a.dtype == b.dtype == out.dtype else "unsafe"
    cupy_matmul(a, b, out=out, casting=casting)
    return out


def _through_float32(a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray | None) -> cupy.ndarray:
    """A product of bfloat16 where neither we nor CuPy have a kernel for it. FP32 sums are rounded once, at the end."""
    product = _product(a.astype(numpy.float32), b.astype(numpy.float32))
    if out is None:
        return product.astype(numpy.promote_types(a.dtype, b.dtype))
    cupy.copyto(out, product, casting="unsafe")
    _capture.keep(product)
    return out


_warned: set[str] = set()


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        # From here over _fall_back, _run, _product and matmul to the caller.
        warnings.warn(text, RuntimeWarning, stacklevel=6)


def _contiguous_layout(shape: tuple[int, ...]) -> Layout:
    return Layout(shape, tuple(math.prod(shape[d + 1 :]) for d in range(len(shape))), 16)
