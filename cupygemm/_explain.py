"""What matmul does for a pair of operands, and why, in words."""

from __future__ import annotations

import dataclasses

import cupy
import numpy

from cupygemm._matmul import conversions, plan
from cupygemm.kernel_config import KernelConfig, OperandAccess
from cupygemm.launch import grid
from cupygemm.source import columns_stored, compile_options


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
        conversions: what is copied or converted before the kernel runs, one sentence an operand.
        replay: a command that times this product; None for one that benchmarks/matmul.py cannot make.
    """

    arch: str
    kernel: str
    why: str
    config: KernelConfig | None = None
    grid: tuple[int, int, int] | None = None
    block: int | None = None
    options: tuple[str, ...] = ()
    conversions: tuple[str, ...] = ()
    replay: str | None = None

    @property
    def is_fallback(self) -> bool:
        return self.config is None

    def __str__(self) -> str:
        lines = [f"arch     {self.arch}", f"kernel   {self.kernel}", f"because  {self.why}"]
        if self.config is not None:
            tile = self.config.tile
            lines += [
                f"tile     {tile.summary}",
                f"A        {_access(self.config.a, 'M', self.config.types.itemsize)}",
                f"B        {_access(self.config.b, 'N', self.config.types.itemsize)}",
                f"C        {_stores(self.config)}",
                f"launch   grid {self.grid}, {self.block} threads a block",
                f"options  {' '.join(self.options)}",
            ]
        lines += [f"before   {sentence}" for sentence in self.conversions]
        lines += [f"replay   {self.replay}"] * (self.replay is not None)
        return "\n".join(lines)


def explain(a: cupy.ndarray, b: cupy.ndarray) -> Explanation:
    """What `matmul(a, b)` would run on the arrays' device, and why. Nothing is compiled or launched.

    Raises:
        TypeError, ValueError: as matmul.
    """
    todo = plan(a, b)
    arch = todo.device.arch
    replay = _replay(a, b)
    if todo.fallback is not None:
        kernel, why = "cupy.matmul", todo.fallback.reason
        if todo.fallback.cut is not None:
            kernel, why = "several", f"{why}; it is made in parts"
        return Explanation(arch.name, kernel, why, replay=replay)
    assert todo.decision is not None
    assert todo.problem is not None
    config = todo.decision.config
    why = todo.decision.why + ("; computed as B^T A^T, since the result is column-major" if todo.swapped else "")
    launch_grid = grid(todo.problem, todo.decision)
    dtype = numpy.promote_types(a.dtype, b.dtype)
    copies = tuple(f"{name} is {how}" for name, x in (("A", a), ("B", b)) if (how := conversions(x, dtype)))
    return Explanation(
        arch.name, config.name, why, config, launch_grid, config.tile.threads, compile_options(arch), copies, replay
    )


def _access(access: OperandAccess, rows: str, itemsize: int) -> str:
    index, bits = "K" if access.contiguous == "k" else rows, 8 * itemsize * access.vec
    order = f"{index}-contiguous" if access.unit else f"strided in {rows} and K"
    return f"{order}, {bits}-bit loads{'' if access.aligned else ', unaligned'}"


def _stores(config: KernelConfig) -> str:
    bits = 8 * config.types.result_itemsize * columns_stored(config)
    how = ", rows gathered in LDS" if config.gathered else ""
    return f"{bits}-bit stores{'' if config.c_aligned else ', unaligned'}{how}"


def _replay(a: cupy.ndarray, b: cupy.ndarray) -> str | None:
    """The arguments of benchmarks/matmul.py that make operands of these sizes and layouts."""
    if a.ndim != b.ndim or a.ndim not in (2, 3) or a.shape[:-2] != b.shape[:-2] or a.dtype != b.dtype:
        return None
    layout = "".join("c" if x.swapaxes(-1, -2).flags.c_contiguous and not x.flags.c_contiguous else "r" for x in (a, b))
    shape = f"{a.shape[-2]}x{b.shape[-1]}x{a.shape[-1]}"
    if a.ndim == 3:
        shape = f"'{a.shape[0]}x({shape})'"
    return f"python benchmarks/matmul.py --shape {shape} --layout {layout} --dtype {a.dtype}"
