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
from cupygemm.config import KernelConfig, OperandAccess

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


def kernel_source(config: KernelConfig, arch: Arch) -> KernelSource:
    """The source of one kernel for one architecture."""
    tile = config.tile
    split = str(config.split).lower()
    policy = "DirectToLds" if tile.staging == "direct" else "RegisterStaged"
    code = f"""// {arch.name}, headers {headers_digest()}
#include "gemm.hpp"
using namespace cg;
using A = {_operand(config.a, tile.block_m, tile.block_k, tile.threads)};
using B = {_operand(config.b, tile.block_n, tile.block_k, tile.threads)};
using Tile = {policy}<float, A, B, {tile.buffers}>;
using Compute = ScalarFMA<A, B, {tile.waves_m}, {tile.waves_n}, {tile.lanes_m}, {tile.lanes_n}>;
using Epilogue = DirectStore<float, {config.c_vec}, {str(config.c_unit).lower()}>;
CG_KERNEL({tile.threads}, {tile.min_waves}) void {config.name}(const GemmArgs args) {{
  gemm<float, Tile, Compute, Epilogue, {config.batch_rank}, {split}>(args);
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


def _operand(access: OperandAccess, rows: int, depth: int, threads: int) -> str:
    contiguous = "Contiguous::kK" if access.contiguous == "k" else "Contiguous::kRows"
    flags = f"{str(access.unit).lower()}, {str(access.wide).lower()}"
    return f"OperandTile<float, {rows}, {depth}, {contiguous}, {access.vec}, {flags}, {threads}>"
