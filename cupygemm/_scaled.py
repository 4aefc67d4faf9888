"""Products of 8-bit operands with scales, and products with bias and activation.

One kernel does it all where the target's matrix unit takes the operands' format: scales, bias, activation and
conversion are its epilogue. Otherwise the operands are widened first, which `explain_scaled` says.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import cupy
import ml_dtypes
import numpy

from cupygemm._preshuffle import Packed
from cupygemm._quantize import FORMATS, Format, halved_to_fnuz, widened
from cupygemm.arch import Arch
from cupygemm.dispatch import Fallback, decide
from cupygemm.kernel_config import Activation, Finish
from cupygemm.launch import SCALED_ARGS, KernelLaunch, arguments, grid
from cupygemm.module import function
from cupygemm.packing import on_packed
from cupygemm.plan import current_device
from cupygemm.problem import GemmProblem, Matrix, Types, alignment, element_strides
from cupygemm.tiles import Device, candidates

ACTIVATIONS = ("relu", "gelu", "silu")
_RESULTS = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "i32"}
_BLOCK = 32  # numbers along K that share an E8M0 scale


@dataclasses.dataclass(frozen=True)
class _Route:
    """How an architecture multiplies a format.

    Attributes:
        operand: operand type of the kernel.
        convert: what happens to both operands before: None, "halve" (OCP codes read as FNUZ) or "widen".
        why: in words.
    """

    operand: str
    convert: str | None
    why: str


def scaled_matmul(
    a: cupy.ndarray,
    b: cupy.ndarray | Packed,
    scale_a: Any = None,
    scale_b: Any = None,
    *,
    bias: cupy.ndarray | None = None,
    activation: Activation | None = None,
    out_dtype: Any = None,
    out: cupy.ndarray | None = None,
) -> cupy.ndarray:
    """activation((scale_a * a) @ (scale_b * b) + bias) of 8-bit operands, as `quantize` makes them.

    Args:
        a: array of shape (..., M, K): int8, or a float8 view of ml_dtypes.
        b: array of shape (K, N) of the same type, or of another float8 type. Fastest where K is contiguous: `w.T` of a
            weight (N, K). Or what `preshuffle` made of it, which the GPU must multiply as it is, and without block
            scales.
        scale_a: a number or an array of size 1; float32 of shape (..., M, 1), one a row; or float8_e8m0fnu (or uint8)
            of shape (..., M, K / 32), one for every 32 numbers along K (gfx950's instructions apply these; elsewhere
            the operands become bfloat16 first). None: 1.
        scale_b: likewise: (1, N), or (K / 32, N).
        bias: array of shape (N,).
        activation: "relu", "gelu" (in its tanh form) or "silu", applied last.
        out_dtype: float16, bfloat16, float32; int32 for int8 operands without scales, bias and activation. By default
            int32 in that case, bfloat16 otherwise.
        out: C-contiguous array of shape (..., M, N) to put the result in; its dtype counts as out_dtype.

    Returns:
        Array of shape (..., M, N). Sums run in FP32, in int32 for int8.

    Raises:
        TypeError: operands of other types, or int8 with float8; a float8 flavour that the GPU cannot represent exactly.
        ValueError: shapes that do not fit.
    """
    a, b = _operands(a, b)
    lead, m, k, n = a.shape[:-2], a.shape[-2], a.shape[-1], b.shape[1]
    a = a.reshape(-1, k) if lead else a
    exact = a.dtype == numpy.int8 and scale_a is None and scale_b is None and bias is None and activation is None
    dtype = _result_dtype(out_dtype, out, exact)
    device = current_device(cupy.cuda.runtime.getDevice())
    route, second = _route(device.arch, a.dtype), _route(device.arch, b.dtype)
    if isinstance(b, Packed) and (second.convert or _is_blocks(scale_a) or _is_blocks(scale_b)):
        raise TypeError("block scales are applied to the numbers, which a packed operand does not let one do")
    words = None
    if _is_blocks(scale_a) or _is_blocks(scale_b):
        codes = (_block_codes(scale_a, a.shape, k, -1), _block_codes(scale_b, b.shape, k, 0))
        if device.arch.family == "cdna4" and route.operand in ("e4m3", "e5m2"):
            words = (_words(codes[0]), _words(codes[1].T))
        else:
            a, b = _apply_blocks(a, codes[0], k, -1), _apply_blocks(b, codes[1], k, 0)
            route = second = _Route("bf16", None, "")
        scale_a, scale_b = None, None
    elif route.convert == "widen":
        a, b = _wide(a), _wide(b)
    row, column = _scale(scale_a, a.shape[0], "scale_a", -1), _scale(scale_b, n, "scale_b", 0)
    if route.convert == "halve":
        a, row = halved_to_fnuz(a), row * numpy.float32(2.0)
    if second.convert == "halve":
        b, row = halved_to_fnuz(b), row * numpy.float32(2.0)
    mixed = second.operand if second.operand != route.operand else None
    types = Types(route.operand, "i32" if route.operand == "i8" else "f32", _RESULTS[dtype.name], mixed)
    scales = None if exact or words else (row, column)
    result = _finish(device, types, a, b, scales, bias, activation, dtype, words)
    result = result.reshape(*lead, m, n)
    if out is None:
        return result
    if out.shape != result.shape:
        raise ValueError(f"out has shape {out.shape}; the result has {result.shape}")
    out[...] = result
    return out


def linear(
    x: cupy.ndarray, w: cupy.ndarray, bias: cupy.ndarray | None = None, activation: Activation | None = None
) -> cupy.ndarray:
    """activation(x @ w.T + bias), in one kernel where there is one.

    Args:
        x: array of shape (..., K) of float16 or bfloat16.
        w: array of shape (N, K) of the same type.
        bias: array of shape (N,).
        activation: "relu", "gelu" (in its tanh form) or "silu".

    Returns:
        Array of shape (..., N) of x's type; sums run in FP32.

    Raises:
        TypeError: x or w is of another type.
        ValueError: shapes that do not fit.
    """
    for array, what in ((x, "x"), (w, "w")):
        if not isinstance(array, cupy.ndarray) or array.dtype.name not in ("float16", "bfloat16"):
            raise TypeError(f"{what} must be a cupy.ndarray of float16 or bfloat16, not {_kind(array)}")
    if x.dtype != w.dtype:
        raise TypeError(f"x is {x.dtype}, w is {w.dtype}: they must be of one type")
    if x.ndim < 1 or w.ndim != 2 or x.shape[-1] != w.shape[1]:
        raise ValueError(f"shapes {x.shape} and {w.shape} do not fit: x is (..., K), w is (N, K)")
    flat = x.reshape(-1, x.shape[-1])
    device = current_device(cupy.cuda.runtime.getDevice())
    name = _RESULTS[x.dtype.name]
    result = _finish(device, Types(name, "f32", name), flat, w.T, None, bias, activation, x.dtype)
    return result.reshape(*x.shape[:-1], w.shape[0])


def explain_scaled(dtype: Any) -> str:
    """How scaled_matmul multiplies operands of `dtype` on the current GPU, in words.

    Raises:
        TypeError: as scaled_matmul.
    """
    device = current_device(cupy.cuda.runtime.getDevice())
    return _route(device.arch, numpy.dtype(dtype)).why


def _route(arch: Arch, dtype: numpy.dtype) -> _Route:
    form = FORMATS[dtype.name]
    if form.kernel == "i8":
        if candidates(arch, Types("i8", "i32", "i8")):
            return _Route("i8", None, f"int8 by the matrix unit of {arch.name}")
        return _Route("f32", "widen", f"{arch.name} has no int8 kernel: operands are widened to float32")
    if not candidates(arch, Types(form.kernel, "f32", "f16")):
        return _Route("f16", "widen", f"{arch.name} has no FP8 kernel: {dtype.name} is widened to float16, exactly")
    if form.fnuz == _takes_fnuz(arch):
        return _Route(form.kernel, None, f"{dtype.name} by the matrix unit of {arch.name}")
    if form.struct == "E4m3fn":
        return _Route(
            "e4m3", "halve", f"{arch.name} takes float8_e4m3fnuz: its codes stand for half of float8_e4m3fn's"
        )
    raise TypeError(_refusal(arch, dtype, form))


def _takes_fnuz(arch: Arch) -> bool:
    return arch.family == "cdna3"


def _refusal(arch: Arch, dtype: numpy.dtype, form: Format) -> str:
    letters = form.struct[:4].lower()
    native = {"e4m3": ("float8_e4m3fn", "float8_e4m3fnuz"), "e5m2": ("float8_e5m2", "float8_e5m2fnuz")}[letters]
    wanted = native[_takes_fnuz(arch)]
    return (
        f"{arch.name} multiplies {wanted}, and not all numbers of {dtype.name} are among its numbers: "
        f"quantise for this GPU with cupygemm.quantize(x, ml_dtypes.{wanted})"
    )


def _kind(x: Any) -> str:
    return x.dtype.name if isinstance(x, cupy.ndarray) else type(x).__name__


def _operands(a: Any, b: Any) -> tuple[cupy.ndarray, cupy.ndarray | Packed]:
    for x, what in ((a, "a"), (b, "b")):
        packed = what == "b" and isinstance(x, Packed)
        if not (packed or isinstance(x, cupy.ndarray)) or x.dtype.name not in FORMATS:
            raise TypeError(f"{what} must be a cupy.ndarray of {', '.join(FORMATS)}, not {_kind(x)}")
    if a.dtype != b.dtype and "int8" in (a.dtype.name, b.dtype.name):
        raise TypeError(f"a is {a.dtype.name}, b is {b.dtype.name}: int8 is multiplied with int8 alone")
    if a.ndim < 2 or b.ndim != 2 or a.shape[-1] != b.shape[0]:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not fit: a is (..., M, K), b is (K, N)")
    return a, b


def _result_dtype(out_dtype: Any, out: cupy.ndarray | None, exact: bool) -> numpy.dtype:
    if out is not None:
        if out_dtype is not None and numpy.dtype(out_dtype) != out.dtype:
            raise TypeError(f"out is {out.dtype}, out_dtype is {numpy.dtype(out_dtype)}")
        out_dtype = out.dtype
    if out_dtype is None:
        out_dtype = numpy.int32 if exact else ml_dtypes.bfloat16
    dtype = numpy.dtype(out_dtype)
    if dtype.name not in _RESULTS or (dtype.name == "int32" and not exact):
        allowed = [name for name in _RESULTS if exact or name != "int32"]
        raise TypeError(f"the result cannot be {dtype.name} here: only {', '.join(allowed)}")
    return dtype


def _is_blocks(scale: Any) -> bool:
    return isinstance(scale, cupy.ndarray) and scale.dtype.name in ("float8_e8m0fnu", "uint8")


def _wide(x: cupy.ndarray) -> cupy.ndarray:
    return x.astype(numpy.float32) if x.dtype == numpy.int8 else widened(x)


def _block_codes(scale: Any, shape: tuple[int, ...], k: int, axis: int) -> cupy.ndarray:
    """The E8M0 codes of an operand, one for each block of K; those of 1 where there is no scale."""
    want = (*shape[:-1], -(-k // _BLOCK)) if axis else (-(-k // _BLOCK), shape[1])
    if scale is None:
        return cupy.full(want, 127, numpy.uint8)
    if not _is_blocks(scale):
        raise TypeError("block scales for one operand need block scales, or None, for the other")
    codes = scale.reshape(-1, scale.shape[-1]) if axis else scale
    if codes.shape != want:
        raise ValueError(f"block scales of shape {scale.shape} do not fit an operand of {shape}: {want} is wanted")
    return codes.view(numpy.uint8)


def _words(codes: cupy.ndarray) -> cupy.ndarray:
    """Codes of shape (rows, blocks) as kernels/block_scaled.hpp reads them: uint32 of shape (K tiles, rows)."""
    rows, blocks = codes.shape
    padded = cupy.full((-(-blocks // 4), rows, 4), 127, numpy.uint8)
    for first in range(4):
        part = codes[:, first::4]
        padded[: part.shape[1], :, first] = part.T
    return padded


def _apply_blocks(x: cupy.ndarray, codes: cupy.ndarray, k: int, axis: int) -> cupy.ndarray:
    """`x` times its block scales as bfloat16: exact within its range, since scales are powers of two."""
    exponents = codes.astype(numpy.int32)
    factors = cupy.ldexp(cupy.ones(codes.shape, numpy.float32), exponents - 127)
    factors[exponents == 255] = numpy.nan
    factors = cupy.repeat(factors, _BLOCK, axis)[(..., slice(k))] if axis else cupy.repeat(factors, _BLOCK, 0)[:k]
    return (_wide(x).astype(numpy.float32) * factors).astype(ml_dtypes.bfloat16)


def _scale(scale: Any, extent: int, what: str, axis: int) -> cupy.ndarray:
    """The scale as float32: one number, or one for each of `extent` rows (axis -1) or columns (axis 0)."""
    values = cupy.asarray(1.0 if scale is None else scale, numpy.float32)
    along = values.ndim == 0 or values.size == 1 or values.shape[axis] == 1 or values.ndim == 1
    if values.size not in (1, extent) or not along:
        rows = f"({extent}, 1)" if axis else f"(1, {extent})"
        raise ValueError(f"{what} of shape {values.shape} is neither one number nor of shape {rows}")
    return cupy.array(values.ravel())  # a copy of our own, which may be changed


def _finish(
    device: Device,
    types: Types,
    a: cupy.ndarray,
    b: cupy.ndarray | Packed,
    scales: tuple[cupy.ndarray, cupy.ndarray] | None,
    bias: cupy.ndarray | None,
    activation: Activation | None,
    dtype: numpy.dtype,
    blocks: tuple[cupy.ndarray, cupy.ndarray] | None = None,
) -> cupy.ndarray:
    """The product of two matrices with the epilogue, by a kernel of `types`."""
    if activation is not None and activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)} or None, not {activation!r}")
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    if bias is not None:
        if bias.shape != (n,):
            raise ValueError(f"bias has shape {bias.shape}; the result has {n} columns")
        bias = cupy.ascontiguousarray(bias).astype(numpy.float32, copy=False)
    out = cupy.zeros((m, n), dtype) if k == 0 else cupy.empty((m, n), dtype)
    if out.size == 0:
        return out
    if k == 0:
        a, b, k = cupy.zeros((m, 1), a.dtype), cupy.zeros((1, n), b.dtype), 1
    if isinstance(b, Packed):
        second, address = Matrix(k, 1, (), 16), b.data.data.ptr
    else:
        second, address = _matrix(b, b.strides[1], b.strides[0]), b.data.ptr
    first = _matrix(a, a.strides[0], a.strides[1])
    problem = GemmProblem(m, n, k, (), first, second, Matrix(n, 1, (), 16), types)
    answer = decide(problem, device, one_slice=True)
    if isinstance(answer, Fallback):
        raise NotImplementedError(f"{types.operand} products with scales, bias or activation: {answer.reason}")
    if isinstance(b, Packed):
        problem, answer = on_packed(problem, answer)
    finish = Finish(scales is not None, bias is not None, activation, blocks is not None)
    answer = dataclasses.replace(answer, config=dataclasses.replace(answer.config, finish=finish))
    args = numpy.zeros((), SCALED_ARGS)
    plain = arguments(problem, answer)
    for name in plain.dtype.names or ():
        args[name] = plain[name]
    if scales is not None:
        args["scale_a"], args["scale_b"] = (s.data.ptr for s in scales)
        args["scale_a_step"], args["scale_b_step"] = (int(s.size > 1) for s in scales)
    if blocks is not None:
        args["blocks_a"], args["blocks_b"] = (words.data.ptr for words in blocks)
    if bias is not None:
        args["bias"] = bias.data.ptr
    kernel = function(answer.config, device.arch, cupy.cuda.runtime.getDevice())
    launch = KernelLaunch(kernel, grid(problem, answer), answer.config.tile.threads,
                          getattr(answer.config.tile, "dynamic_lds_bytes", 0), args)  # fmt: skip
    launch.run(a.data.ptr, address, out.data.ptr, cupy.cuda.get_current_stream().ptr)
    return out


def _matrix(x: cupy.ndarray, rows: int, k: int) -> Matrix:
    rows, k = element_strides((rows, k), x.itemsize)
    return Matrix(rows, k, (), alignment(x.data.ptr))
