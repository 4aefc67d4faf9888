"""Arrays of 8-bit numbers with scales: quantisation on the GPU, and what the formats are called.

CuPy has no 8-bit floats, but can hold views of uint8 arrays under ml_dtypes' dtypes. Such views can be sliced,
transposed, reshaped and passed to kernels.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import cupy
import numpy

from cupygemm.arch import Arch
from cupygemm.plan import current_device
from cupygemm.source import compile_options, headers_digest

_THREADS = 256  # kQuantizeThreads of kernels/quantize.hpp
_ELEMENTS = {"float32": "float", "float16": "f16", "bfloat16": "bf16"}

#: QuantizeArgs of kernels/quantize.hpp.
_ARGS = numpy.dtype(
    [
        ("x", "u8"),
        ("out", "u8"),
        ("scale", "u8"),
        ("outer", "i8"),
        ("length", "i8"),
        ("inner", "i8"),
        ("largest", "f4"),
    ],
    align=True,
)


@dataclasses.dataclass(frozen=True)
class Format:
    """An 8-bit format.

    Attributes:
        struct: its name in kernels/quantize.hpp.
        largest: the largest finite number.
        kernel: the operand type of kernels that multiply it.
        fnuz: the flavour without infinities and -0 (CDNA 3); the others are OCP's.
    """

    struct: str
    largest: float
    kernel: str
    fnuz: bool = False


#: By NumPy's name of the dtype.
FORMATS = {
    "float8_e4m3fn": Format("E4m3fn", 448.0, "e4m3"),
    "float8_e5m2": Format("E5m2", 57344.0, "e5m2"),
    "float8_e4m3fnuz": Format("E4m3fnuz", 240.0, "e4m3", fnuz=True),
    "float8_e5m2fnuz": Format("E5m2fnuz", 57344.0, "e5m2", fnuz=True),
    "int8": Format("Int8Code", 127.0, "i8"),
}


def quantize(x: cupy.ndarray, dtype: Any, axis: int | None = None) -> tuple[cupy.ndarray, cupy.ndarray]:
    """`x` in an 8-bit format, times a scale: x is about q * scale.

    Args:
        x: array of float32, float16 or bfloat16.
        dtype: int8, or one of ml_dtypes' float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz.
        axis: the axis along which numbers share a scale: for the operands of scaled_matmul the one of K, -1 of `a` and
            -2 of `b`. None: one scale for all.

    Returns:
        q: array of x's shape, C-contiguous. Rounded to nearest, ties to even; infinities become the largest number, NaN
            stays NaN (0 in int8).
        scale: float32, x's shape with 1 in place of `axis`, or () where axis is None: the largest finite magnitude over
            the format's largest number; 1 where all numbers are zero.

    Raises:
        TypeError: x or dtype is of another type.
        ValueError: there is no such axis.
    """
    name = numpy.dtype(dtype).name
    if name not in FORMATS:
        raise TypeError(f"cannot quantise to {name}: only to {', '.join(FORMATS)}")
    if not isinstance(x, cupy.ndarray) or x.dtype.name not in _ELEMENTS:
        what = x.dtype.name if isinstance(x, cupy.ndarray) else type(x).__name__
        raise TypeError(f"cannot quantise {what}: only CuPy arrays of {', '.join(_ELEMENTS)}")
    if axis is not None and not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis {axis} of an array of {x.ndim} dimensions")
    x = cupy.ascontiguousarray(x)
    codes = cupy.empty(x.shape, numpy.uint8)
    if axis is None:
        extents, shape = (1, x.size, 1), ()
    else:
        axis %= x.ndim
        extents = (math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    scale = cupy.ones(shape, numpy.float32)
    if x.size:
        args = numpy.zeros((), _ARGS)
        args["x"], args["out"], args["scale"] = x.data.ptr, codes.data.ptr, scale.data.ptr
        args["outer"], args["length"], args["inner"] = extents
        args["largest"] = FORMATS[name].largest
        element = _ELEMENTS[x.dtype.name]
        _launch(f"find_scale<{element}>", extents[0] * extents[2], args)
        _launch(f"quantize<{element}, {FORMATS[name].struct}>", -(-x.size // _THREADS), args)
    return codes.view(dtype), scale


def widened(x: cupy.ndarray) -> cupy.ndarray:
    """An array of 8-bit floats as float16, which holds every number of every format exactly."""
    return _map(x, f"widen<{FORMATS[x.dtype.name].struct}, f16>", numpy.float16)


def halved_to_fnuz(x: cupy.ndarray) -> cupy.ndarray:
    """An array of float8_e4m3fn as codes of float8_e4m3fnuz that stand for half the numbers, exactly."""
    return _map(x, "halve_to_fnuz", numpy.uint8)


def _map(x: cupy.ndarray, body: str, dtype: Any) -> cupy.ndarray:
    """Applies a kernel element by element; the result keeps an operand's order, row-major or column-major."""
    if x.ndim == 2 and x.flags.f_contiguous and not x.flags.c_contiguous:
        return _map(x.T, body, dtype).T
    source = cupy.ascontiguousarray(x.view(numpy.uint8))
    out = cupy.empty(source.shape, dtype)
    if source.size:
        args = numpy.zeros((), _ARGS)
        args["x"], args["out"], args["length"] = source.data.ptr, out.data.ptr, source.size
        _launch(body, -(-source.size // _THREADS), args)
    return out


def _launch(body: str, blocks: int, args: numpy.ndarray) -> None:
    ordinal = cupy.cuda.runtime.getDevice()
    kernel = _kernel(body, current_device(ordinal).arch, ordinal)
    kernel((min(blocks, 65536), -(-blocks // 65536)), (_THREADS,), (args,))


@functools.cache
def _kernel(body: str, arch: Arch, ordinal: int) -> Any:
    """The loaded kernel; a function belongs to one device, so `ordinal` is part of what it is found by."""
    name = "cupygemm_" + body.replace("<", "_").replace(", ", "_").replace(">", "").lower()
    code = f"""// {arch.name}, headers {headers_digest()}
#include "quantize.hpp"
using namespace cg;
CG_KERNEL(kQuantizeThreads, 1) void {name}(const QuantizeArgs args) {{ {body}(args); }}
"""
    return cupy.RawModule(code=code, options=compile_options(arch)).get_function(name)
