"""KernelConfig: everything that decides which kernel is compiled, and what is feasible on an architecture."""

from __future__ import annotations

import dataclasses
import typing

from cupygemm.arch import Arch

Contiguous = typing.Literal["k", "rows"]
Staging = typing.Literal["registers", "direct"]

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
        buffers: LDS buffers, 1 or 2 (ping-pong).
        staging: "registers" (global memory -> registers -> LDS) or "direct" (global memory -> LDS, CDNA 3 and 4).
        min_waves: waves the compiler must leave room for on each SIMD.
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

    def __post_init__(self) -> None:
        for block, waves, lanes, what in (
            (self.block_m, self.waves_m, self.lanes_m, "M"),
            (self.block_n, self.waves_n, self.lanes_n, "N"),
        ):
            if block % 32 or block % (waves * lanes * 4):
                raise ValueError(
                    f"block tile {block} along {what} must be a multiple of 32 and of 4 x {waves} waves x {lanes} lanes"
                )
        if self.buffers not in (1, 2):
            raise ValueError(f"buffers must be 1 or 2, not {self.buffers}")

    @property
    def wave(self) -> int:
        return self.lanes_m * self.lanes_n

    @property
    def threads(self) -> int:
        return self.waves_m * self.waves_n * self.wave

    @property
    def thread_m(self) -> int:
        return self.block_m // (self.waves_m * self.lanes_m)

    @property
    def thread_n(self) -> int:
        return self.block_n // (self.waves_n * self.lanes_n)

    @property
    def lds_bytes(self) -> int:
        return 4 * self.buffers * self.block_k * (self.block_m + self.block_n)

    @property
    def name(self) -> str:
        kind = "direct" if self.staging == "direct" else "simt"
        return f"{kind}_{self.block_m}x{self.block_n}x{self.block_k}_{self.thread_m}x{self.thread_n}_b{self.buffers}"


@dataclasses.dataclass(frozen=True)
class OperandAccess:
    """How a kernel reads one operand.

    Attributes:
        contiguous: which index has (or is treated as having) the smallest stride: "k", or "rows" (M of A, N of B).
        vec: elements a load moves, 1, 2 or 4. Base address, strides and extent are multiples of it.
        unit: that index has stride 1. If not, vec is 1.
        wide: offsets inside a tile need 64 bits.
    """

    contiguous: Contiguous
    vec: int
    unit: bool
    wide: bool

    def __post_init__(self) -> None:
        if self.vec not in (1, 2, 4) or (self.vec > 1 and not self.unit):
            raise ValueError(f"an operand with unit={self.unit} cannot be read {self.vec} elements at a time")


@dataclasses.dataclass(frozen=True)
class KernelConfig:
    """One compiled kernel: the policies that kernels/gemm.hpp is instantiated with.

    Attributes:
        tile: shape and schedule.
        a, b: access to the operands.
        c_vec: columns of C a store moves; 1 where they are not contiguous.
        c_unit: columns of C are contiguous.
        batch_rank: batch dimensions the kernel walks, 0 to MAX_BATCH_RANK.
        split: partial products of K slices go to a workspace.
    """

    tile: Tile
    a: OperandAccess
    b: OperandAccess
    c_vec: int
    c_unit: bool
    batch_rank: int
    split: bool

    @property
    def name(self) -> str:
        """The kernel's name in a profiler: dtype, tile, then how A, B and C are accessed."""

        def access(x: OperandAccess) -> str:
            return f"{x.contiguous[0]}{x.vec}{'' if x.unit else 's'}{'w' if x.wide else ''}"

        tail = f"{'u' if self.c_unit else 's'}{self.c_vec}_r{self.batch_rank}{'_split' if self.split else ''}"
        return f"cupygemm_f32_{self.tile.name}_{access(self.a)}_{access(self.b)}_{tail}"


def infeasible(tile: Tile, arch: Arch) -> str | None:
    """Why `tile` cannot run on `arch`, or None where it can."""
    if tile.wave != arch.wave:
        return f"the tile is laid out for waves of {tile.wave} lanes, {arch.name} has {arch.wave}"
    if tile.threads > 1024:
        return f"{tile.threads} threads a block; the limit is 1024"
    if tile.lds_bytes > arch.lds_bytes:
        return f"{tile.lds_bytes} bytes of LDS a block; {arch.name} has {arch.lds_bytes}"
    if tile.staging == "direct" and arch.family not in ("cdna3", "cdna4"):
        return f"{arch.name} cannot load from global memory straight to LDS"
    # Accumulators and two sets of fragments must fit with room for addresses; each SIMD must hold its share of the
    # block's waves.
    registers = tile.thread_m * tile.thread_n + 2 * (tile.thread_m + tile.thread_n) + 32
    waves_per_simd = max(tile.min_waves, -(-(tile.threads // tile.wave) // arch.simds))
    budget = min(arch.max_vgprs, arch.vgprs // waves_per_simd)
    if registers > budget:
        return f"about {registers} registers a lane; {waves_per_simd} waves a SIMD leave {budget} on {arch.name}"
    return None
