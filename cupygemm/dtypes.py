"""NumPy's dtypes -> the element types of a kernel."""

from __future__ import annotations

import functools

import numpy

from cupygemm.problem import F32, Types

#: By NumPy's name: bfloat16 is a dtype of ml_dtypes, which need not be installed. Sums of int8 run in 32 bits; the
#: result is their low 8, as NumPy's is.
_TYPES = {
    "float32": F32,
    "float64": Types("f64", "f64", "f64"),
    "float16": Types("f16", "f32", "f16"),
    "bfloat16": Types("bf16", "f32", "bf16"),
    "int8": Types("i8", "i32", "i8"),
}

NAMES = tuple(_TYPES)


@functools.cache
def kernel_types(dtype: numpy.dtype, accumulate: str = "float32") -> Types | None:
    """The types of the kernels that multiply arrays of `dtype`, or None where there are no such kernels.

    Args:
        dtype: of both operands and the result.
        accumulate: "float16" keeps the running sums of float16 products in that type. Other products take no notice.
    """
    if dtype.name == "float16" and accumulate == "float16":
        return Types("f16", "f16", "f16")
    return _TYPES.get(dtype.name)
