"""warmup(): compiles kernels before they are needed."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import cupy
import numpy

from cupygemm import module
from cupygemm._options import config
from cupygemm.arch import Arch
from cupygemm.dtypes import NAMES
from cupygemm.kernel_config import KernelConfig, SumConfig
from cupygemm.plan import Layout, Shapes, current_device, kernels, make_plan, types_on
from cupygemm.problem import Types

LAYOUTS = ("rr", "rc", "cr", "cc")

# Square products from small to large, a ragged one, and long thin ones, so that every tile of a table is met.
_TYPICAL = (
    *((n, n, n) for n in (64, 256, 512, 1024, 2048, 4096)),
    (1000, 1000, 1000),
    (999, 999, 999),
    (1, 4096, 4096),
    (16, 4096, 4096),
    (4096, 1, 4096),
    (4096, 16, 4096),
)


def warmup(
    shapes: Iterable[Sequence[int]] | None = None,
    *,
    dtypes: Iterable[Any] = ("float32",),
    layouts: Iterable[str] = LAYOUTS,
    progress: TextIO | None = None,
) -> tuple[str, ...]:
    """Compiles and loads the kernels that products of the given shapes run on the current device.

    A product whose kernels are loaded never compiles anything, whatever its shape: kernels depend on tile, layout and
    alignment; sizes alone decide only between three small ones that add up partial products. CuPy keeps what is
    compiled on disk, so that the next process only loads it.

    Args:
        shapes: (M, N, K) or (batch, M, N, K) each. Left out: typical products, small to large, square and thin.
        dtypes: types of both operands.
        layouts: of A and B, one letter each: "r" row-major, "c" column-major.
        progress: where to draw a progress bar; left out: stderr if that is a terminal.

    Returns:
        The names of the kernels that were not loaded before, in the order of compilation.

    Raises:
        ValueError: a shape does not have 3 or 4 positive sizes, or there is no such layout.
        TypeError: there are no kernels for a type.
        KernelError: a kernel does not compile.
    """
    wanted = [_checked_shape(shape) for shape in (_TYPICAL if shapes is None else shapes)]
    orders = [_checked_layout(layout) for layout in layouts]
    ordinal = cupy.cuda.runtime.getDevice()
    device = current_device(ordinal)
    types = [_checked_dtype(dtype, device.arch) for dtype in dtypes]
    missing: dict[KernelConfig | SumConfig, None] = {}
    for shape, element, layout in itertools.product(wanted, types, orders):
        todo = make_plan(device, *_operands(shape, layout), element, config.get().batch_invariant)
        missing |= {kernel: None for kernel in kernels(todo) if not module.is_loaded(kernel, ordinal)}
    bar = _Bar(len(missing), progress)
    for kernel in missing:
        bar.show(kernel.name)
        module.function(kernel, device.arch, ordinal)
        bar.step()
    bar.close()
    return tuple(kernel.name for kernel in missing)


def _checked_shape(shape: Sequence[int]) -> tuple[int, int, int, int]:
    sizes = tuple(int(size) for size in shape)
    if len(sizes) not in (3, 4) or min(sizes) < 1:
        raise ValueError(f"a shape is (M, N, K) or (batch, M, N, K), all positive; not {tuple(shape)}")
    batch, m, n, k = sizes if len(sizes) == 4 else (1, *sizes)
    return batch, m, n, k


def _checked_dtype(dtype: Any, arch: Arch) -> Types:
    types = types_on(arch, numpy.dtype(dtype), config.get().accumulate)
    if types is None:
        raise TypeError(f"no kernels for {numpy.dtype(dtype)} on {arch.name}; kernels are for {', '.join(NAMES)}")
    return types


def _checked_layout(layout: str) -> str:
    if layout not in LAYOUTS:
        raise ValueError(f"there is no layout {layout!r}; there are {', '.join(LAYOUTS)}")
    return layout


def _operands(shape: tuple[int, int, int, int], layout: str) -> tuple[Shapes, Layout, Layout, Layout]:
    """Contiguous arrays of that shape, as the planner sees them."""
    batch, m, n, k = shape

    def matrix(rows: int, columns: int, order: str) -> Layout:
        steps = (columns, 1) if order == "r" else (1, rows)
        return Layout((batch, rows, columns), (rows * columns, *steps), 16)

    shapes = Shapes((batch,), m, n, k, (batch, m, n))
    return shapes, matrix(m, k, layout[0]), matrix(k, n, layout[1]), matrix(m, n, "r")


class _Bar:
    """A progress bar of one line; nothing at all where there is no terminal or nothing to do."""

    _WIDTH = 24

    def __init__(self, total: int, stream: TextIO | None) -> None:
        self._total, self._done, self._begun = total, 0, time.perf_counter()
        quiet = total == 0 or (stream is None and not sys.stderr.isatty())
        self._stream = None if quiet else stream or sys.stderr

    def show(self, what: str) -> None:
        if self._stream is not None:
            filled = self._WIDTH * self._done // self._total
            bar = "#" * filled + "." * (self._WIDTH - filled)
            self._stream.write(f"\r\x1b[Kcompiling [{bar}] {self._done}/{self._total} {what[:60]}")
            self._stream.flush()

    def step(self) -> None:
        self._done += 1

    def close(self) -> None:
        if self._stream is not None:
            seconds = time.perf_counter() - self._begun
            self._stream.write(f"\r\x1b[Kcompiled {self._total} kernels in {seconds:.1f} s\n")
            self._stream.flush()
