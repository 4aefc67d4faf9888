"""KernelConfig: everything that decides which kernel is compiled, and what is feasible on an architecture."""

from __future__ import annotations

import dataclasses
import typing

from cupygemm.arch import Arch
from cupygemm.gemv_tile import GemvTile
from cupygemm.matrix_tile import MatrixTile
from cupygemm.naive_tile import NaiveTile
from cupygemm.problem import F32, Types

Contiguous = typing.Literal["k", "rows"]
Activation = typing.Literal["relu", "gelu", "silu"]
Staging = typing.Literal["registers", "direct", "async"]

#: Batch dimensions that a kernel can walk by itself (kBatchDims in kernels/args.hpp).
MAX_BATCH_RANK = 4


@dataclasses.dataclass(frozen=True)
class Tile:
    """Shape of the work of one block of the SIMT kernel.

    Attributes:
        block_m, block_n: rows and columns of C one block computes; multiples of 32.
        block_k: depth of the tiles of A and B in LDS.
        waves_m, waves_n: how the waves share the block tile.
        lanes_m, lanes_n: how the lanes of a wave share its part; their product is the wave size.
        buffers: LDS buffers: 1, 2 (ping-pong), or the stages of a pipeline, 3 to 8, where staging is "async".
        staging: "registers" (global memory -> registers -> LDS), "direct" (global memory -> LDS, CDNA 3 and 4) or
            "async" (global memory -> LDS several tiles ahead, NVIDIA).
        min_waves: waves the compiler must leave room for on each SIMD; on NVIDIA, blocks on each multiprocessor.
        slices: groups of waves that share the block tile, each with its part of every K tile; 1 unless staging is
            "async".
    """

    block_m: int
    block_n: int
    block_k: int
    waves_m: int
    waves_n: int
    lanes_m: int
    lanes_n: int
    buffers: int = 2
    staging: Staging = "registers"
    min_waves: int = 1
    slices: int = 1

    def __post_init__(self) -> None:
        if self.slices > 1 and (self.staging != "async" or self.block_k % (2 * self.slices)):
            raise ValueError(f"staging {self.staging!r} with a K tile of {self.block_k} takes no {self.slices} slices")
        if self.thread_m % self.slices:
            raise ValueError(f"{self.slices} slices cannot share the {self.thread_m} rows of a thread")
        for block, waves, lanes, what in (
            (self.block_m, self.waves_m, self.lanes_m, "M"),
            (self.block_n, self.waves_n, self.lanes_n, "N"),
        ):
            if block % 32 or block % (waves * lanes * 4):
                raise ValueError(
                    f"block tile {block} along {what} must be a multiple of 32 and of 4 x {waves} waves x {lanes} lanes"
                )
        fewest, most = (3, 8) if self.staging == "async" else (1, 2)
        if not fewest <= self.buffers <= most:
            raise ValueError(f"staging {self.staging!r} takes {fewest} to {most} buffers, not {self.buffers}")

    @property
    def wave(self) -> int:
        return self.lanes_m * self.lanes_n

    @property
    def threads(self) -> int:
        return self.waves_m * self.waves_n * self.wave * self.slices

    @property
    def thread_m(self) -> int:
        return self.block_m // (self.waves_m * self.lanes_m)

    @property
    def thread_n(self) -> int:
        return self.block_n // (self.waves_n * self.lanes_n)

    @property
    def lds_bytes(self) -> int:
        """LDS of one block, at most: asynchronous copies that transpose pad each line of a tile by 4 elements. At the
        end the sums of all slices lie there (kernels/pipelined.hpp)."""
        padding = 8 if self.staging == "async" else 0
        tiles = 4 * self.buffers * self.block_k * (self.block_m + self.block_n + padding)
        return max(tiles, 4 * self.slices * self.block_m * self.block_n) if self.slices > 1 else tiles

    @property
    def dynamic_lds_bytes(self) -> int:
        """LDS that is set at launch instead of being declared in the kernel."""
        return self.lds_bytes if self.staging == "async" else 0

    @property
    def name(self) -> str:
        kind = "simt" if self.staging == "registers" else self.staging
        shape = f"{self.block_m}x{self.block_n}x{self.block_k}_{self.thread_m}x{self.thread_n}_b{self.buffers}"
        return f"{kind}_{shape}{f'_s{self.slices}' * (self.slices > 1)}"

    @property
    def summary(self) -> str:
        return (
            f"{self.block_m}x{self.block_n}x{self.block_k}, {self.thread_m}x{self.thread_n} a thread, "
            f"{self.buffers} LDS buffer{'s' * (self.buffers > 1)}, {self.lds_bytes} bytes, staging {self.staging}"
        )


@dataclasses.dataclass(frozen=True)
class OperandAccess:
    """How a kernel reads one operand.

    Attributes:
        contiguous: which index has (or is treated as having) the smallest stride: "k", or "rows" (M of A, N of B).
        vec: elements a load moves, at most 16 bytes. Base address, strides and extent are multiples of it, if aligned.
        unit: that index has stride 1. If not, vec is 1.
        wide: offsets inside a tile need 64 bits.
        whole: the operand fills at least one block tile along M (N). Used by MatrixTile alone.
        aligned: if not, loads are of `vec` elements from any element on, which AMD GPUs can do. Where K is contiguous
            it has at least `vec` elements; where rows are, the operand is `whole`.
        packed: the operand is B in the order that `preshuffle` makes. Its row stride is that between groups of 16
            columns.
    """

    contiguous: Contiguous
    vec: int
    unit: bool
    wide: bool
    whole: bool = False
    packed: bool = False
    aligned: bool = True

    def __post_init__(self) -> None:
        if self.vec not in (1, 2, 4, 8, 16) or (self.vec > 1 and not self.unit):
            raise ValueError(f"an operand with unit={self.unit} cannot be read {self.vec} elements at a time")


@dataclasses.dataclass(frozen=True)
class Finish:
    """What a kernel does to the sums on their way to C (kernels/scaled.hpp).

    Attributes:
        scaled: they are multiplied with a scale of the row and one of the column.
        bias: a number of the column is added.
        activation: applied last.
        blocks: the instructions apply a scale to every 32 numbers along K (kernels/block_scaled.hpp).
    """

    scaled: bool
    bias: bool
    activation: Activation | None
    blocks: bool = False

    @property
    def name(self) -> str:
        return f"_{'blocks' * self.blocks}{'scaled' * self.scaled}{'bias' * self.bias}{self.activation or ''}"


@dataclasses.dataclass(frozen=True)
class KernelConfig:
    """One compiled kernel: the policies that kernels/gemm.hpp is instantiated with.

    Attributes:
        tile: shape and schedule.
        a, b: access to the operands.
        c_vec: columns of C a store moves; 1 where they are not contiguous.
        c_unit: columns of C are contiguous.
        gathered: each wave gathers rows of C in LDS before it stores them (kernels/epilogue.hpp).
        c_aligned: N, the rows and the address of C are multiples of c_vec; if not, stores go to any element.
        batch_rank: batch dimensions the kernel walks, 0 to MAX_BATCH_RANK.
        split: partial products of K slices go to a workspace.
        stream_k: blocks share tiles of C (stream_k.py).
        types: element types.
        finish: scales, bias and activation; None for the plain product.
    """

    tile: Tile | MatrixTile | GemvTile | NaiveTile
    a: OperandAccess
    b: OperandAccess
    c_vec: int
    c_unit: bool
    batch_rank: int
    split: bool
    types: Types = F32
    finish: Finish | None = None
    c_aligned: bool = True
    gathered: bool = False
    stream_k: bool = False

    @property
    def name(self) -> str:
        """The kernel's name in a profiler: dtype, tile, then how A, B and C are accessed."""

        def access(x: OperandAccess) -> str:
            if x.packed:
                return "packed"
            flags = "s" * (not x.unit) + "w" * x.wide + "f" * x.whole + "o" * (not x.aligned)
            return f"{x.contiguous[0]}{x.vec}{flags}"

        store = "g" * self.gathered + ("u" if self.c_unit else "s") + "o" * (not self.c_aligned)
        tail = f"{store}{self.c_vec}_r{self.batch_rank}{'_split' * self.split}{'_stream' * self.stream_k}"
        tail += self.finish.name if self.finish else ""
        return f"cupygemm_{self.types.name}_{self.tile.name}_{access(self.a)}_{access(self.b)}_{tail}"


@dataclasses.dataclass(frozen=True)
class SumConfig:
    """The kernel that adds up the partial products of K slices, or the pieces of tiles that streams met in.

    Attributes:
        c_vec, c_unit, batch_rank, stream_k: as in KernelConfig.
        result: type of C; the partial products are FP32.
        lanes: threads that share what is added up for the same elements.
    """

    #: kSumThreads of kernels/split_sum.hpp.
    threads: typing.ClassVar[int] = 256

    c_vec: int
    c_unit: bool
    batch_rank: int
    result: str = "f32"
    stream_k: bool = False
    lanes: int = 1

    @property
    def block_elements(self) -> int:
        """Elements of C that a block adds up."""
        return self.c_vec * self.threads // self.lanes

    @property
    def name(self) -> str:
        store = f"{'u' if self.c_unit else 's'}{self.c_vec}_r{self.batch_rank}"
        return f"cupygemm_{self.result}_sum_{store}{'_stream' * self.stream_k}{f'_l{self.lanes}' * (self.lanes > 1)}"


def infeasible(tile: Tile | MatrixTile | NaiveTile, arch: Arch, types: Types = F32) -> str | None:
    """Why `tile` cannot run on `arch`, or None where it can."""
    if isinstance(tile, NaiveTile):
        return None
    if isinstance(tile, MatrixTile):
        return tile.infeasible(arch, types.accumulate)
    if tile.wave != arch.wave:
        return f"the tile is laid out for waves of {tile.wave} lanes, {arch.name} has {arch.wave}"
    if tile.threads > 1024:
        return f"{tile.threads} threads a block; the limit is 1024"
    if tile.lds_bytes > arch.lds_bytes:
        return f"{tile.lds_bytes} bytes of LDS a block; {arch.name} has {arch.lds_bytes}"
    if tile.staging == "direct" and arch.family not in ("cdna3", "cdna4"):
        return f"{arch.name} cannot load from global memory straight to LDS"
    if tile.staging == "async" and not arch.async_copies:
        return f"{arch.name} has no asynchronous copies to LDS"
    # Accumulators and two sets of fragments must fit with room for addresses; each SIMD must hold its share of the
    # block's waves.
    registers = tile.thread_m * tile.thread_n + 2 * (tile.thread_m + tile.thread_n) + 32
    waves = tile.threads // tile.wave
    wanted = tile.min_waves if arch.is_amd else -(-tile.min_waves * waves // arch.simds)
    waves_per_simd = max(wanted, -(-waves // arch.simds))
    budget = min(arch.max_vgprs, arch.vgprs // waves_per_simd)
    if registers > budget:
        return f"about {registers} registers a lane; {waves_per_simd} waves a SIMD leave {budget} on {arch.name}"
    return None
