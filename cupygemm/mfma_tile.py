"""MfmaTile: shape and schedule of a block's work in a kernel of CDNA's matrix instructions (MFMA)."""

from __future__ import annotations

import dataclasses
from typing import Literal

from cupygemm.arch import Arch
from cupygemm.matrix_tile import Lds, Loads, MatrixTile, Schedule

#: Bytes of K a lane gives to one instruction, by family and operand type: the widest first. Sources: AMD's matrix
#: instruction calculator (cdna2, cdna3), LLVM's intrinsics (cdna4).
INSTRUCTION_BYTES: dict[str, dict[str, tuple[int, ...]]] = {
    "cdna2": {"f64": (8,), "f32": (4,), "f16": (8,), "bf16": (8,)},
    "cdna3": {"f64": (8,), "f32": (4,), "f16": (8,), "bf16": (8,), "i8": (8,), "e4m3": (8,), "e5m2": (8,)},
    "cdna4": {
        "f64": (8,),
        "f32": (4,),
        "f16": (16, 8),
        "bf16": (16, 8),
        "i8": (16, 8),
        "e4m3": (32, 8),
        "e5m2": (32, 8),
    },
}


@dataclasses.dataclass(frozen=True)
class MfmaTile(MatrixTile):
    """A block tile computed by MFMA. Attributes beside those of MatrixTile:

    instruction: rows and columns of C that one instruction makes, 16 or 32.
    direct: tiles go from global memory straight to LDS where K is contiguous in both operands.
    """

    schedule: Schedule = "burst"
    lds: Lds = "permuted"
    loads: Loads = "buffer"
    priority: bool = False
    instruction: Literal[16, 32] = 32
    direct: bool = False

    wave = 64

    def __post_init__(self) -> None:
        if self.instruction not in (16, 32):
            raise ValueError(f"an MFMA makes 16 or 32 rows of C, not {self.instruction}")
        for block, waves, what in ((self.block_m, self.waves_m, "M"), (self.block_n, self.waves_n, "N")):
            if block % (waves * self.instruction):
                raise ValueError(
                    f"block tile {block} along {what} must be a multiple of {self.instruction} x {waves} waves"
                )
        row = self.block_k * self.itemsize
        if row % 64 or row & (row - 1):
            raise ValueError(f"a K tile of {self.block_k} x {self.itemsize} bytes must be a power of two from 64 on")
        if self.buffers not in (1, 2):
            raise ValueError(f"buffers must be 1 or 2, not {self.buffers}")

    @property
    def name(self) -> str:
        shape = f"{self.block_m}x{self.block_n}x{self.block_k}_{self.waves_m}x{self.waves_n}w{self.instruction}"
        return f"mfma_{shape}_b{self.buffers}{'d' * self.direct}"

    @property
    def summary(self) -> str:
        return (
            f"{self.block_m}x{self.block_n}x{self.block_k}, {self.waves_m}x{self.waves_n} waves of "
            f"{self.instruction}x{self.instruction} MFMA, {self.buffers} permuted LDS "
            f"buffer{'s' * (self.buffers > 1)}, {self.lds_bytes} bytes{', filled directly' * self.direct}"
        )

    def registers(self, arch: Arch, accumulate: str) -> int:
        """Vector registers a lane needs, about, AGPRs among them: accumulators, fragments of two steps, the next tile
        on its way, and addresses."""
        rows, columns = self.block_m // self.waves_m, self.block_n // self.waves_n
        sums = rows * columns // 64 * (2 if accumulate == "f64" else 1)
        fragments = 2 * 4 * (rows + columns) // self.instruction
        chunks = (self.block_m + self.block_n) * self.block_k * self.itemsize // 16
        return sums + fragments + 4 * -(-chunks // self.threads) + 24

    def infeasible(self, arch: Arch, accumulate: str = "f32") -> str | None:
        if arch.family not in INSTRUCTION_BYTES:
            return f"{arch.name} has no MFMA for these types"
        if self.threads > 1024:
            return f"{self.threads} threads a block; the limit is 1024"
        if self.lds_bytes > arch.lds_bytes:
            return f"{self.lds_bytes} bytes of LDS a block; {arch.name} has {arch.lds_bytes}"
        if self.direct and arch.family not in ("cdna3", "cdna4"):
            return f"{arch.name} cannot load from global memory straight to LDS"
        if accumulate not in ("f32", "i32", "f64"):
            return f"MFMA adds up in 32 or 64 bits, not in {accumulate}"
        if accumulate == "f64" and self.instruction != 16:
            return "the MFMA of float64 makes 16 rows of C"
        waves_per_simd = max(self.min_waves, -(-self.waves_m * self.waves_n // arch.simds))
        registers, budget = self.registers(arch, accumulate), min(arch.max_vgprs, arch.vgprs // waves_per_simd)
        if registers > budget:
            return f"about {registers} registers a lane; {waves_per_simd} waves a SIMD leave {budget} on {arch.name}"
        return None
