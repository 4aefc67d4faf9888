"""KernelConfig -> source text and compile options: what cupy.RawModule is given.

The text is a few lines that include the headers of kernels/, name the policies and define one extern "C" kernel. It
also carries the architecture and a digest of the headers, because CuPy's disk cache sees neither: its key knows only a
coarse compute capability, and not what lies behind -I.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pathlib

from cupygemm.arch import Arch
from cupygemm.gemv_tile import GemvTile
from cupygemm.kernel_config import KernelConfig, OperandAccess, Staging, SumConfig, Tile
from cupygemm.matrix_tile import PADDING, MatrixTile
from cupygemm.mfma_tile import INSTRUCTION_BYTES, MfmaTile
from cupygemm.naive_tile import NaiveTile
from cupygemm.problem import Types

KERNELS = pathlib.Path(__file__).parent / "kernels"


@dataclasses.dataclass(frozen=True)
class KernelSource:
    """A translation unit with one kernel.

    Attributes:
        name: the kernel's symbol.
        code: the source text.
        options: for cupy.RawModule.
    """

    name: str
    code: str
    options: tuple[str, ...]


#: TilePolicy, the operands' half of it and ComputePolicy of FMA kernels by staging; headers beside gemm.hpp.
_FMA_POLICIES: dict[Staging, tuple[str, str, str, tuple[str, ...]]] = {
    "registers": ("RegisterStaged", "OperandTile", "ScalarFMA", ()),
    "direct": ("DirectToLds", "OperandTile", "ScalarFMA", ()),
    "async": ("AsyncCopies", "AsyncOperand", "PipelinedFMA", ("async_copy", "pipelined")),
}


def kernel_source(config: KernelConfig | SumConfig, arch: Arch) -> KernelSource:
    """The source of one kernel for one architecture."""
    if isinstance(config, SumConfig):
        return _sum_source(config, arch)
    if isinstance(config.tile, GemvTile):
        return _gemv_source(config, config.tile, arch)
    if isinstance(config.tile, NaiveTile):
        return _naive_source(config, config.tile, arch)
    tile = config.tile
    if isinstance(tile, MfmaTile):
        policies = _mfma(config, tile, arch)
    else:
        policies = _matrix(config, tile, arch) if isinstance(tile, MatrixTile) else _simt(config, tile)
    args = "ScaledArgs" if config.finish else "StreamArgs" if config.stream_k else "GemmArgs"
    code = f"""// {arch.name}, headers {headers_digest()}
{policies}
{_epilogue(config)}
CG_KERNEL({tile.threads}, {tile.min_waves}) void {config.name}(const {args} args) {{
  {_entry(config)}(args);
}}
"""
    return KernelSource(config.name, code, compile_options(arch))


def _entry(config: KernelConfig) -> str:
    """The template that a kernel is an instance of."""
    policies = f"{config.types.operand}, Tile, Compute, Epilogue, {config.batch_rank}"
    return f"gemm_in_streams<{policies}>" if config.stream_k else f"gemm<{policies}, {_flag(config.split)}>"


def _epilogue(config: KernelConfig) -> str:
    flags = f"{_flag(config.c_unit)}, {_flag(config.c_aligned)}, {_flag(config.gathered)}"
    store = f"Stores<{config.types.result}, {columns_stored(config)}, {flags}>"
    finish = config.finish
    if finish is None:
        return f"using Epilogue = PlainStore<{store}>;"
    activation = f"Activation::k{(finish.activation or 'none').capitalize()}"
    return f"""#include "scaled.hpp"
using Epilogue = ScaledStore<{store}, {_flag(finish.scaled)}, {_flag(finish.bias)}, {activation}>;"""


def columns_stored(config: KernelConfig) -> int:
    """Columns of C in one store; a lane of MFMA holds 4 next to each other, or 1 in float64."""
    if config.gathered:
        return config.c_vec
    most = 1 if config.types.accumulate == "f64" else 4
    return min(config.c_vec, most) if isinstance(config.tile, MfmaTile) else config.c_vec


def _simt(config: KernelConfig, tile: Tile) -> str:
    """The policies of a kernel of ordinary FMAs."""
    policy, operand, compute, headers = _FMA_POLICIES[tile.staging]
    headers += ("stream_k",) * config.stream_k
    includes = "".join(f'#include "{header}.hpp"\n' for header in headers)
    slices = f", {tile.slices}" if compute == "PipelinedFMA" else ""
    return f"""#include "gemm.hpp"
{includes}using namespace cg;
using A = {_operand(operand, config.a, tile.block_m, tile.block_k, tile.threads)};
using B = {_operand(operand, config.b, tile.block_n, tile.block_k, tile.threads)};
using Tile = {policy}<float, A, B, {tile.buffers}>;
using Compute = {compute}<A, B, {tile.waves_m}, {tile.waves_n}, {tile.lanes_m}, {tile.lanes_n}{slices}>;"""


def _matrix(config: KernelConfig, tile: MatrixTile, arch: Arch) -> str:
    """The policies of a kernel of matrix instructions."""
    types = config.types
    header, atom = {"rdna3": ("wmma_gfx11", "WmmaGfx11"), "rdna4": ("wmma_gfx12", "WmmaGfx12")}[arch.family]
    policy = "Woven" if tile.schedule == "woven" else "RegisterStaged"
    return f"""#include "gemm.hpp"
#include "matrix_compute.hpp"
#include "matrix_tile.hpp"
#include "{header}.hpp"
#include "woven.hpp"
using namespace cg;
using A = {_matrix_operand(config.a, tile.block_m, tile, types)};
using B = {_matrix_operand(config.b, tile.block_n, tile, types)};
using Tile = {policy}<{types.operand}, A, B, {tile.buffers}>;
using Compute = MatrixCompute<{atom}<{_elements(types)}, {types.accumulate}>, A, B, {tile.waves_m}, {tile.waves_n}, \
{_flag(tile.priority)}>;"""


def _mfma(config: KernelConfig, tile: MfmaTile, arch: Arch) -> str:
    """The policies of a kernel of CDNA's matrix instructions."""
    types = config.types
    instruction = f"Mfma<{_elements(types)}, {tile.instruction}, {INSTRUCTION_BYTES[arch.family][types.operand][0]}>"
    if config.b.packed:
        return _packed(config, tile, instruction)
    direct = tile.direct and all(_can_copy_directly(x, types) for x in (config.a, config.b))
    compute, header = "MfmaFor", "mfma_ahead"
    if config.finish is not None and config.finish.blocks:
        compute, header = "BlockScaledMfma", "block_scaled"
    return f"""#include "gemm.hpp"
#include "direct_matrix.hpp"
#include "matrix_tile.hpp"
#include "{header}.hpp"
using namespace cg;
using A = {_matrix_operand(config.a, tile.block_m, tile, types, direct)};
using B = {_matrix_operand(config.b, tile.block_n, tile, types, direct)};
using Tile = {"DirectToLds" if direct else "RegisterStaged"}<{types.operand}, A, B, {tile.buffers}>;
using Compute = {compute}<{instruction}, A, B, {tile.waves_m}, {tile.waves_n}>;"""


def _elements(types: Types) -> str:
    """What an instruction multiplies."""
    return f"Mixed<{types.operand}, {types.second}>" if types.second else types.operand


def _packed(config: KernelConfig, tile: MfmaTile, instruction: str) -> str:
    """The policies of a kernel whose operand B is packed."""
    types = config.types
    return f"""#include "gemm.hpp"
#include "matrix_tile.hpp"
#include "packed.hpp"
using namespace cg;
using A = {_matrix_operand(config.a, tile.block_m, tile, types)};
using B = PackedOperand<{instruction}, {types.operand}, {tile.block_n}, {tile.block_k}, {tile.waves_n}>;
using Tile = OneStaged<{types.operand}, A, B, {tile.buffers}>;
using Compute = PackedMfma<{instruction}, A, B, {tile.waves_m}, {tile.waves_n}>;"""


def _can_copy_directly(access: OperandAccess, types: Types) -> bool:
    """Whether an operand can go straight to LDS: K contiguous, in words of 4 bytes at least."""
    word = access.unit and access.aligned and access.vec * types.itemsize >= 4
    return access.contiguous == "k" and word and not access.wide


def _gemv_source(config: KernelConfig, tile: GemvTile, arch: Arch) -> KernelSource:
    a, b = config.a, config.b
    vec_a = a.contiguous == "k" and a.unit and a.vec >= b.vec
    policies = f"{tile.block_m}, {_contiguous(b)}, {b.vec}, {_flag(b.unit)}, {_flag(vec_a)}, {config.batch_rank}"
    code = f"""// {arch.name}, headers {headers_digest()}
#include "gemv.hpp"
using namespace cg;
CG_KERNEL(kGemvThreads, 1) void {config.name}(const GemmArgs args) {{
  gemv<float, {policies}>(args);
}}
"""
    return KernelSource(config.name, code, compile_options(arch))


def _naive_source(config: KernelConfig, tile: NaiveTile, arch: Arch) -> KernelSource:
    code = f"""// {arch.name}, headers {headers_digest()}
#include "naive.hpp"
using namespace cg;
CG_KERNEL({tile.threads}, 1) void {config.name}(const GemmArgs args) {{
  naive<float, {tile.block_m}, {tile.block_n}>(args);
}}
"""
    return KernelSource(config.name, code, compile_options(arch))


def _sum_source(config: SumConfig, arch: Arch) -> KernelSource:
    types = f"{config.result}, Sums<{config.c_vec}, {config.lanes}>"
    header, call = "split_sum", f"add_slices<{types}, {_flag(config.c_unit)}, {config.batch_rank}>"
    args = "GemmArgs"
    if config.stream_k:
        header, call, args = "stream_k", f"add_pieces<{types}, {config.batch_rank}>", "StreamArgs"
    code = f"""// {arch.name}, headers {headers_digest()}
#include "{header}.hpp"
using namespace cg;
CG_KERNEL(kSumThreads, 1) void {config.name}(const {args} args) {{
  {call}(args);
}}
"""
    return KernelSource(config.name, code, compile_options(arch))


def compile_options(arch: Arch) -> tuple[str, ...]:
    """Options for `arch`, the include folder among them."""
    # NVRTC optimises by default and rejects -O3.
    level = ("-O3",) if arch.is_amd else ()
    return (*level, "-std=c++17", *arch.options, f"-I{KERNELS}")


@functools.cache
def headers_digest() -> str:
    """A digest of every file in kernels/."""
    digest = hashlib.sha256()
    for path in sorted(KERNELS.glob("*.hpp")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _operand(policy: str, access: OperandAccess, rows: int, depth: int, threads: int) -> str:
    flags = f"{_flag(access.unit)}, {_flag(access.wide)}"
    if policy == "OperandTile":
        flags += f", {_flag(access.aligned)}"
    return f"{policy}<float, {rows}, {depth}, {_contiguous(access)}, {access.vec}, {flags}, {threads}>"


def _matrix_operand(access: OperandAccess, rows: int, tile: MatrixTile, types: Types, direct: bool = False) -> str:
    if tile.lds == "permuted":
        transposed = _flag(access.contiguous == "rows")
        layout = f"PermutedRows<{tile.itemsize}, {rows}, {tile.block_k}, {transposed}>"
    else:
        pad, group_pad = PADDING[tile.lds]
        layout = f"PaddedRows<{tile.itemsize}, {rows}, {tile.block_k}, {pad}, {group_pad}>"
    by_pointer, aligned = tile.loads == "pointer" or access.wide, _flag(access.aligned)
    loads = f"PointerLoads<{_flag(access.wide)}, {aligned}>" if by_pointer else f"BufferLoads<{aligned}>"
    if direct:
        shape = f"{types.operand}, {rows}, {tile.block_k}, {access.vec}, {_flag(access.whole)}"
        return f"DirectMatrixTile<{shape}, {loads}, {layout}, {tile.threads}>"
    shape = f"{types.operand}, {rows}, {tile.block_k}, {_contiguous(access)}, {access.vec}"
    return f"MatrixTile<{shape}, {_flag(access.unit)}, {_flag(access.whole)}, {loads}, {layout}, {tile.threads}>"


def _contiguous(access: OperandAccess) -> str:
    return "Contiguous::kK" if access.contiguous == "k" else "Contiguous::kRows"


def _flag(value: bool) -> str:
    return str(value).lower()
