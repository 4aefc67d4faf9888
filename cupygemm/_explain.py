"""What matmul does for a pair of operands, and why, in words."""

from __future__ import annotations

import dataclasses

import cupy

from cupygemm._matmul import plan
from cupygemm.config import KernelConfig
from cupygemm.launch import grid
from cupygemm.source import compile_options


@dataclasses.dataclass(frozen=True)
class Explanation:
    """A readable account of one product; `str()` gives it as text.

    Attributes:
        arch: the GPU's architecture.
        kernel: name of the kernel, or "cupy.matmul".
        why: why this kernel, or why not one of ours.
        config: the kernel's configuration; None for a fallback.
        grid, block: launch dimensions; None for a fallback.
        options: compile options; empty for a fallback.
    """

    arch: str
    kernel: str
    why: str
    config: KernelConfig | None = None
    grid: tuple[int, int, int] | None = None
    block: int | None = None
    options: tuple[str, ...] = ()

    @property
    def is_fallback(self) -> bool:
        return self.config is None

    def __str__(self) -> str:
        lines = [f"arch     {self.arch}", f"kernel   {self.kernel}", f"because  {self.why}"]
        if self.config is not None:
            tile = self.config.tile
            lines += [
                f"tile     {tile.block_m}x{tile.block_n}x{tile.block_k}, {tile.thread_m}x{tile.thread_n} a thread, "
                f"{tile.buffers} LDS buffer{'s' * (tile.buffers > 1)}, {tile.lds_bytes} bytes, staging {tile.staging}",
                f"A        {_access(self.config.a.contiguous, self.config.a.vec, self.config.a.unit, 'M')}",
                f"B        {_access(self.config.b.contiguous, self.config.b.vec, self.config.b.unit, 'N')}",
                f"launch   grid {self.grid}, {self.block} threads a block",
                f"options  {' '.join(self.options)}",
            ]
        return "\n".join(lines)


def explain(a: cupy.ndarray, b: cupy.ndarray) -> Explanation:
    """What `matmul(a, b)` would run on the current device, and why. Nothing is compiled or launched.

    Raises:
        TypeError, ValueError: as matmul.
    """
    todo = plan(a, b)
    arch = todo.device.arch
    if todo.fallback is not None:
        return Explanation(arch.name, "cupy.matmul", todo.fallback.reason)
    assert todo.decision is not None
    assert todo.problem is not None
    config = todo.decision.config
    why = todo.decision.why + ("; computed as B^T A^T, since the result is column-major" if todo.swapped else "")
    launch_grid = grid(todo.problem, todo.decision)
    return Explanation(arch.name, config.name, why, config, launch_grid, config.tile.threads, compile_options(arch))


def _access(contiguous: str, vec: int, unit: bool, rows: str) -> str:
    index = "K" if contiguous == "k" else rows
    return f"{index}-contiguous, {32 * vec}-bit loads" if unit else f"strided in {rows} and K, 32-bit loads"
