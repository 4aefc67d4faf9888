"""MatrixTile: shape and schedule of a block's work in a kernel of matrix instructions, and where it is feasible."""

from __future__ import annotations

import dataclasses
from typing import Literal

from cupygemm.arch import Arch

Schedule = Literal["woven", "burst"]
Lds = Literal["skewed", "padded", "permuted", "plain"]
Loads = Literal["buffer", "pointer"]

#: Bytes added to each row, and after every 8 rows (PaddedRows in kernels/lds_layout.hpp).
PADDING: dict[str, tuple[int, int]] = {"skewed": (16, 16), "padded": (16, 0), "plain": (0, 0), "permuted": (0, 0)}

_INSTRUCTION = 16  # rows and columns of C that one WMMA makes


@dataclasses.dataclass(frozen=True)
class MatrixTile:
    """A block tile computed by WMMA.

    Attributes:
        block_m, block_n: rows and columns of C one block computes.
        block_k: depth of the tiles of A and B in LDS, in elements.
        waves_m, waves_n: how the waves share the block tile; each part is a multiple of 16 x 16.
        itemsize: bytes of an element of A and B, 1 or 2.
        buffers: LDS buffers, 1 or 2 (ping-pong).
        schedule: loads of the next tile "woven" between the matrix instructions, or in a "burst" before them.
        lds: layout of the tiles: rows "padded" against bank conflicts, "skewed" (padded, also against those of
            transposing stores), "permuted" or "plain".
        loads: through a "buffer" descriptor or a "pointer".
        priority: the wave's priority is raised around each matrix instruction.
        min_waves: waves the compiler must leave room for on each SIMD.
    """

    block_m: int
    block_n: int
    block_k: int
    waves_m: int
    waves_n: int
    itemsize: int = 2
    buffers: int = 1
    schedule: Schedule = "woven"
    lds: Lds = "skewed"
    loads: Loads = "buffer"
    priority: bool = True
    min_waves: int = 1

    wave = 32

    def __post_init__(self) -> None:
        for block, waves, what in ((self.block_m, self.waves_m, "M"), (self.block_n, self.waves_n, "N")):
            if block % (waves * _INSTRUCTION):
                raise ValueError(f"block tile {block} along {what} must be a multiple of 16 x {waves} waves")
        if self.block_k * self.itemsize % 32:
            raise ValueError(f"a K tile of {self.block_k} x {self.itemsize} bytes must be a multiple of 32 bytes")
        if self.buffers not in (1, 2):
            raise ValueError(f"buffers must be 1 or 2, not {self.buffers}")
        if self.lds not in PADDING:
            raise ValueError(f"lds must be one of {', '.join(PADDING)}, not {self.lds!r}")

    @property
    def threads(self) -> int:
        return self.waves_m * self.waves_n * self.wave

    @property
    def lds_bytes(self) -> int:
        pad, group_pad = PADDING[self.lds]
        pitch = self.block_k * self.itemsize + pad
        rows = (self.block_m, self.block_n)
        return self.buffers * sum(r * pitch + (r - 1) // 8 * group_pad for r in rows)

    @property
    def name(self) -> str:
        shape = f"{self.block_m}x{self.block_n}x{self.block_k}_{self.waves_m}x{self.waves_n}w"
        plain = "" if self.priority else "n"
        return f"wmma_{shape}_b{self.buffers}{self.schedule[0]}{self.lds[:2]}{self.loads[0]}{plain}"

    @property
    def summary(self) -> str:
        return (
            f"{self.block_m}x{self.block_n}x{self.block_k}, {self.waves_m}x{self.waves_n} waves of WMMA, "
            f"{self.buffers} {self.lds} LDS buffer{'s' * (self.buffers > 1)}, {self.lds_bytes} bytes, "
            f"{self.schedule} {self.loads} loads"
        )

    def registers(self, arch: Arch, accumulate: str) -> int:
        """Vector registers a lane needs, about: accumulators, fragments, the next tile on its way, and addresses.

        A 16 x 16 result takes 8 registers, 4 where gfx12 packs 16-bit sums in pairs; a fragment takes 8 on gfx11, where
        the halves of a wave hold the same, and 4 on gfx12.
        """
        tiles_m = self.block_m // self.waves_m // _INSTRUCTION
        tiles_n = self.block_n // self.waves_n // _INSTRUCTION
        packed = arch.family == "rdna4" and accumulate in ("f16", "bf16")
        sums = tiles_m * tiles_n * (4 if packed else 8)
        fragments = (2 + tiles_n) * (4 if arch.family == "rdna4" else 8)
        chunks = (self.block_m + self.block_n) * self.block_k * self.itemsize // 16
        return sums + fragments + 4 * -(-chunks // self.threads) + 8

    def infeasible(self, arch: Arch, accumulate: str = "f32") -> str | None:
        """Why this tile cannot run on `arch`, or None where it can."""
        if arch.family not in ("rdna3", "rdna4"):
            return f"{arch.name} has no WMMA"
        if self.threads > 1024:
            return f"{self.threads} threads a block; the limit is 1024"
        if self.lds_bytes > arch.lds_bytes:
            return f"{self.lds_bytes} bytes of LDS a block; {arch.name} has {arch.lds_bytes}"
        waves_per_simd = max(self.min_waves, -(-self.waves_m * self.waves_n // arch.simds))
        registers, budget = self.registers(arch, accumulate), min(arch.max_vgprs, arch.vgprs // waves_per_simd)
        if registers > budget:
            return f"about {registers} registers a lane; {waves_per_simd} waves a SIMD leave {budget} on {arch.name}"
        return None
