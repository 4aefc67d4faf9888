"""Questions about where arrays lie, answered on the host from shapes, strides and addresses; and copies that make an
array readable for a kernel."""

from __future__ import annotations

import cupy
import numpy

# Enough for any pair of regular views; a harder case counts as overlapping, which costs a copy and is never wrong.
_OVERLAP_WORK = 10_000


def overlap(x: cupy.ndarray, y: cupy.ndarray) -> bool:
    """True if the arrays may have a byte in common. Interleaved views that do not touch, such as the left and right
    half of a matrix, have none."""
    if not cupy.may_share_memory(x, y):
        return False
    try:
        return numpy.shares_memory(_footprint(x), _footprint(y), max_work=_OVERLAP_WORK)  # type: ignore[arg-type]
    except numpy.exceptions.TooHardError:
        return True


def _footprint(x: cupy.ndarray) -> numpy.ndarray:
    """A NumPy array with the address and strides of `x`, for NumPy's overlap solver; its elements are never read."""

    class Described:
        __array_interface__ = {  # noqa: RUF012
            "version": 3,
            "data": (x.data.ptr, True),
            "shape": (*x.shape, x.itemsize),
            "strides": (*x.strides, 1),
            "typestr": "|u1",
        }

    return numpy.asarray(Described())


def self_overlaps(x: cupy.ndarray) -> bool:
    """True if two elements of `x` may share an address (a broadcast or as_strided view)."""
    reach = x.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (extent - 1)
    return False


def is_element_aligned(x: cupy.ndarray) -> bool:
    """True if the address and all strides are multiples of the item size, as kernels take for granted.

    A view of one field of an array of structures may not be.
    """
    size = x.itemsize
    return not (x.data.ptr % size or any(s % size for s in x.strides))


def as_bytes(x: cupy.ndarray) -> cupy.ndarray:
    """The bytes of `x` as one more dimension, without a copy: the view through which an array that is not
    element-aligned can be copied."""
    return cupy.ndarray((*x.shape, x.itemsize), numpy.uint8, x.data, strides=(*x.strides, 1))


def aligned_copy(x: cupy.ndarray) -> cupy.ndarray:
    """A C-contiguous copy of an array that need not be element-aligned."""
    return cupy.ascontiguousarray(as_bytes(x)).view(x.dtype).reshape(x.shape)
