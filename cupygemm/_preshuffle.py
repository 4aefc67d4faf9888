"""Operands B in the order in which matrix instructions take them, made once and multiplied many times.

Where a weight is multiplied again and again, its fragments need not pass through LDS each time: `preshuffle` lays them
out so that each lane loads its part straight into registers (kernels/packed.hpp).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import cupy
import numpy

from cupygemm.arch import Arch
from cupygemm.packing import chunks_of, packed_bytes, packed_types
from cupygemm.plan import current_device
from cupygemm.problem import element_strides
from cupygemm.source import compile_options, headers_digest

_THREADS = 256  # kPackThreads of kernels/preshuffle.hpp
#: A block's columns must be within reach of 32-bit offsets.
_MOST_K_BYTES = 2**22

#: PackArgs of kernels/preshuffle.hpp.
_ARGS = numpy.dtype([(name, "u8" if name in ("b", "out") else "i8")
                     for name in ("b", "out", "k", "n", "b_k", "b_n", "chunks", "total")])  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Packed:
    """An operand B of matmul or scaled_matmul, as `preshuffle` makes it.

    Attributes:
        shape: (K, N), that of the array it was made from.
        dtype: its type.
        arch: the GPU architecture it was made on.
        data: the packed bytes, on the device that multiplies it.
    """

    shape: tuple[int, int]
    dtype: numpy.dtype
    arch: str
    data: cupy.ndarray

    @property
    def ndim(self) -> int:
        return 2

    @property
    def nbytes(self) -> int:
        """Bytes on the device: K is filled up to a multiple of 256 bytes, N to one of 32."""
        return self.data.nbytes

    def __repr__(self) -> str:
        return f"Packed(shape={self.shape}, dtype={self.dtype}, arch={self.arch!r})"


def preshuffle(b: cupy.ndarray) -> Packed:
    """Packs the second operand of products, on its GPU; `matmul(a, packed)` then gives the bits of `matmul(a, b)`.

    Args:
        b: array of shape (K, N) in any layout: float16, bfloat16, int8, or the float8 flavour that the GPU multiplies.

    Raises:
        TypeError: b is of another type, or its GPU has no kernels for packed operands.
        ValueError: b is not a matrix, is empty, or K is too long.
    """
    if not isinstance(b, cupy.ndarray):
        raise TypeError(f"b must be a cupy.ndarray, not a {type(b).__name__}")
    if b.ndim != 2 or b.size == 0:
        raise ValueError(f"b has shape {b.shape}; it must be (K, N), both positive")
    if b.shape[0] * b.itemsize > _MOST_K_BYTES:
        raise ValueError(f"K = {b.shape[0]} is too long to be packed: at most {_MOST_K_BYTES // b.itemsize}")
    device = b.data.device_id
    with cupy.cuda.Device(device):
        arch = current_device(device).arch
        _refuse(b.dtype, arch)
        return Packed(b.shape, b.dtype, arch.name, _packed_bytes(b, arch, device))


def _refuse(dtype: numpy.dtype, arch: Arch) -> None:
    """Raises TypeError unless `arch` multiplies packed operands of `dtype`."""
    known = packed_types(arch)
    if not known:
        raise TypeError(
            f"{arch.name} has no kernels for packed operands: MFMA alone takes them (gfx90a, gfx942, gfx950)"
        )
    if dtype.name not in known:
        raise TypeError(f"{arch.name} cannot multiply packed {dtype.name}: only {', '.join(known)}")


def _packed_bytes(b: cupy.ndarray, arch: Arch, ordinal: int) -> cupy.ndarray:
    (k, n), size = b.shape, b.itemsize
    chunks, out = chunks_of(k, size), cupy.empty(packed_bytes(k, n, size), numpy.uint8)
    args = numpy.zeros((), _ARGS)
    args["b"], args["out"], args["k"], args["n"] = b.data.ptr, out.data.ptr, k, n
    args["b_k"], args["b_n"] = element_strides(b.strides, size)
    args["chunks"], args["total"] = chunks, out.size // 16
    blocks = -(-out.size // 16 // _THREADS)
    _pack_kernel(f"u{8 * size}", arch, ordinal)((min(blocks, 65536), -(-blocks // 65536)), (_THREADS,), (args,))
    return out


@functools.cache
def _pack_kernel(word: str, arch: Arch, ordinal: int) -> Any:
    """The loaded kernel; a function belongs to one device, so `ordinal` is part of what it is found by."""
    name = f"cupygemm_pack_{word}"
    code = f"""// {arch.name}, headers {headers_digest()}
#include "preshuffle.hpp"
using namespace cg;
CG_KERNEL(kPackThreads, 1) void {name}(const PackArgs args) {{ pack<{word}>(args); }}
"""
    return cupy.RawModule(code=code, options=compile_options(arch)).get_function(name)
