"""The steps of two tutorials on fast matrix products, as configurations of our one kernel template.

FP16 follows AMD's "FP16 GEMM Optimization on AMD RDNA 3 and RDNA 4 Architectures" (ROCm blogs, 2026): eight steps from
one wave on a 32 x 32 tile to a tile whose loads are woven between its matrix instructions, and the tile that a sweep
found afterwards. FP32 follows AMD's tutorial on tiling with policies: nothing but threads, LDS tiles, register tiles,
double buffering, wide loads, room for two waves, loads straight to LDS. Every step computes the same product;
benchmarks/ladder.py runs, checks and times them.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from cupygemm.access import operand_access, store_width
from cupygemm.arch import Arch
from cupygemm.dispatch import Decision
from cupygemm.kernel_config import KernelConfig, OperandAccess, Tile, infeasible
from cupygemm.matrix_tile import MatrixTile
from cupygemm.naive_tile import NaiveTile
from cupygemm.problem import F32, GemmProblem, Matrix, Types

Tutorial = Literal["fp16", "fp32"]

_F16 = Types("f16", "f16", "f16")


@dataclasses.dataclass(frozen=True)
class Step:
    """One rung.

    Attributes:
        name: short and unique, such as "fp16-7".
        title: what the step adds.
        tile: shape and schedule.
        types: element types; the FP16 tutorial accumulates in FP16.
        load: bytes a lane may load at once.
        group_m: rows of block tiles walked together.
    """

    name: str
    title: str
    tile: Tile | MatrixTile | NaiveTile
    types: Types
    load: int = 16
    group_m: int = 1

    def infeasible(self, arch: Arch) -> str | None:
        """Why the step cannot run on `arch`, or None where it can."""
        return infeasible(self.tile, arch, self.types)

    def decision(self, problem: GemmProblem) -> Decision:
        """The step's kernel for a problem without a batch."""
        return decision(self.tile, problem, self.load, self.group_m, self.title)


def decision(
    tile: Tile | MatrixTile | NaiveTile, problem: GemmProblem, load: int = 16, group_m: int = 1, why: str = "asked for"
) -> Decision:
    """A given tile for a problem without a batch, whatever the dispatcher would pick; `load` bytes at most at once."""
    size = problem.types.itemsize

    def access(x: Matrix, rows: int, block: int) -> OperandAccess:
        found = operand_access(x, rows, problem.k, block, tile.block_k, size)
        whole = isinstance(tile, MatrixTile) and rows >= block
        return dataclasses.replace(found, vec=min(found.vec, max(1, load // size)), whole=whole)

    config = KernelConfig(
        tile=tile,
        a=access(problem.a, problem.m, tile.block_m),
        b=access(problem.b, problem.n, tile.block_n),
        c_vec=store_width(problem),
        c_unit=problem.c.k == 1 or problem.n == 1,
        batch_rank=0,
        split=False,
        types=problem.types,
    )
    return Decision(config, group_m, 1, problem.k, why)


def steps(tutorial: Tutorial, wave: int = 32) -> tuple[Step, ...]:
    """The steps of a tutorial, for targets with waves of that many lanes."""
    return _fp16() if tutorial == "fp16" else _fp32(wave)


def _fp16() -> tuple[Step, ...]:
    first = MatrixTile(32, 32, 16, 1, 1, schedule="burst", lds="plain", loads="pointer", priority=False)
    tiled = MatrixTile(256, 256, 16, 4, 4, buffers=2, schedule="burst", lds="plain", loads="pointer", priority=False)
    padded = dataclasses.replace(tiled, lds="padded")
    buffer = dataclasses.replace(padded, loads="buffer")
    deep = dataclasses.replace(buffer, block_m=128, block_n=96, block_k=64, waves_m=2, waves_n=2)
    woven = dataclasses.replace(deep, schedule="woven", priority=True)
    single = dataclasses.replace(woven, buffers=1)
    tuned = dataclasses.replace(single, block_m=192, block_n=224, waves_m=4, waves_n=2)
    return (
        Step("fp16-1", "one wave, one 32x32 tile", first, _F16, load=2),
        Step("fp16-2", "256x256 tile, wide copies, two LDS buffers, staged commit", tiled, _F16),
        Step("fp16-3", "rows in LDS padded against bank conflicts", padded, _F16),
        Step("fp16-3x", "or permuted", dataclasses.replace(tiled, lds="permuted"), _F16),
        Step("fp16-4", "buffer descriptors", buffer, _F16),
        Step("fp16-5", "128x96 tile, four instructions of K deep", deep, _F16),
        Step("fp16-6", "blocks in groups of 8 rows", deep, _F16, group_m=8),
        Step("fp16-7", "loads woven between matrix instructions", woven, _F16, group_m=8),
        Step("fp16-8", "one LDS buffer", single, _F16, group_m=8),
        Step("fp16-tuned", "192x224 tile on 4x2 waves", tuned, _F16, group_m=8),
    )


def _fp32(wave: int) -> tuple[Step, ...]:
    lanes = (4, 8) if wave == 32 else (8, 8)
    small = Tile(32, 32, 16, 1, 1, *lanes, buffers=1)
    waves = (4, 2) if wave == 32 else (2, 2)
    register = Tile(128, 128, 16, *waves, *lanes, buffers=1)
    double = dataclasses.replace(register, buffers=2)
    direct = dataclasses.replace(double, staging="direct")
    return (
        Step("fp32-1", "a thread an element, nothing in LDS", NaiveTile(), F32, load=4),
        Step("fp32-2", "tiles in LDS", small, F32, load=4),
        Step("fp32-3", "register tiles", register, F32, load=4),
        Step("fp32-4", "two LDS buffers", double, F32, load=4),
        Step("fp32-5", "wide loads", double, F32),
        Step("fp32-6", "room for two waves a SIMD", dataclasses.replace(double, min_waves=2), F32),
        Step("fp32-7", "global memory straight to LDS", direct, F32, load=4),
    )
