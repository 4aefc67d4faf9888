"""Decision and addresses -> kernel launches: grid, argument block, workspace, stream."""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
from collections.abc import Callable
from typing import Any

import cupy
import numpy
from cupy_backends.cuda.api import driver

from cupygemm.access import store_width
from cupygemm.dispatch import Decision
from cupygemm.kernel_config import MAX_BATCH_RANK, SumConfig
from cupygemm.problem import GemmProblem, into_workspace

_RANK = (MAX_BATCH_RANK,)

#: GemmArgs of kernels/args.hpp, field by field.
ARGS = numpy.dtype(
    [
        ("a", "u8"),
        ("b", "u8"),
        ("c", "u8"),
        ("a_m", "i8"),
        ("a_k", "i8"),
        ("b_k", "i8"),
        ("b_n", "i8"),
        ("c_m", "i8"),
        ("c_n", "i8"),
        ("a_batch", "i8", _RANK),
        ("b_batch", "i8", _RANK),
        ("c_batch", "i8", _RANK),
        ("split_stride", "i8"),
        ("m", "i4"),
        ("n", "i4"),
        ("k", "i4"),
        ("k_slice", "i4"),
        ("splits", "i4"),
        ("batches", "i4"),
        ("batch_size", "i4", _RANK),
        ("tiles_m", "i4"),
        ("tiles_n", "i4"),
        ("group_m", "i4"),
        ("grid_y", "i4"),
    ],
    align=True,
)

#: ScaledArgs of kernels/scaled.hpp.
SCALED_ARGS = numpy.dtype(
    [
        *((name, ARGS.fields[name][0]) for name in ARGS.names),  # type: ignore[index, union-attr]
        ("scale_a", "u8"),
        ("scale_b", "u8"),
        ("bias", "u8"),
        ("scale_a_step", "i8"),
        ("scale_b_step", "i8"),
        ("blocks_a", "u8"),
        ("blocks_b", "u8"),
    ],
    align=True,
)

#: StreamArgs of kernels/stream_k.hpp.
STREAM_ARGS = numpy.dtype(
    [
        *((name, ARGS.fields[name][0]) for name in ARGS.names),  # type: ignore[index, union-attr]
        ("pieces", "u8"),
        ("streams", "i4"),
        ("tiles", "i4"),
        ("steps", "i4"),
        ("share", "i4"),
        ("longer", "i4"),
        ("block_m", "i4"),
        ("block_n", "i4"),
    ],
    align=True,
)

_GRID_Y = 65535
_ADDRESSES, _ADDRESS = struct.Struct("QQQ"), struct.Struct("Q")
_PIECES = STREAM_ARGS.fields["pieces"][1]  # type: ignore[index]
#: Dynamic LDS above this has to be asked for, kernel by kernel.
_LDS_WITHOUT_ASKING = 48 * 1024
#: Threads that may share the additions for an element, and how many threads in all are worth that.
_SUM_LANES, _SUM_THREADS = (16, 4), 2**16


def arguments(problem: GemmProblem, decision: Decision) -> numpy.ndarray:
    """The argument block of a launch, but for the addresses."""
    args = numpy.zeros((), STREAM_ARGS if decision.stream_k else ARGS)
    a, b, c = problem.a, problem.b, problem.c
    args["a_m"], args["a_k"] = a.rows, a.k
    args["b_n"], args["b_k"] = b.rows, b.k
    args["c_m"], args["c_n"] = c.rows, c.k
    for d in range(len(problem.batch)):  # the kernel counts from the innermost dimension
        args["a_batch"][d] = a.batch[-1 - d]
        args["b_batch"][d] = b.batch[-1 - d]
        args["c_batch"][d] = c.batch[-1 - d]
        args["batch_size"][d] = problem.batch[-1 - d]
    args["m"], args["n"], args["k"] = problem.m, problem.n, problem.k
    args["k_slice"], args["splits"] = decision.k_slice, decision.splits
    args["split_stride"] = problem.m * problem.n * problem.batches
    args["batches"] = problem.batches
    args["tiles_m"], args["tiles_n"] = decision.tiles(problem)
    args["group_m"] = decision.group_m
    args["grid_y"] = grid(problem, decision)[1]
    if decision.stream_k:
        for name in ("streams", "tiles", "steps", "share", "longer"):
            args[name] = getattr(decision.stream_k, name)
        args["block_m"], args["block_n"] = decision.config.tile.block_m, decision.config.tile.block_n
    return args


def grid(problem: GemmProblem, decision: Decision) -> tuple[int, int, int]:
    """Blocks in each grid dimension: tiles in x; matrices and K slices in y and z, at most 65,535 each. Streams, and
    after them the tiles of all matrices, in x."""
    if decision.stream_k:
        return decision.stream_k.blocks, 1, 1
    tiles_m, tiles_n = decision.tiles(problem)
    layers = problem.batches * decision.splits
    y = min(layers, _GRID_Y)
    return tiles_m * tiles_n, y, -(-layers // y)


class KernelLaunch:
    """A kernel launch that only lacks the addresses: everything else is packed once."""

    def __init__(
        self, function: Any, grid: tuple[int, int, int], threads: int, dynamic_lds: int, args: numpy.ndarray
    ) -> None:
        if dynamic_lds > _LDS_WITHOUT_ASKING:
            function.max_dynamic_shared_size_bytes = dynamic_lds
        self._function = function  # keeps the module loaded
        block = ctypes.create_string_buffer(args.tobytes())
        pointer = (ctypes.c_void_p * 1)(ctypes.addressof(block))
        self._memory = (block, pointer)
        pack = functools.partial(_ADDRESSES.pack_into, block, 0)
        launch = functools.partial(driver.launchKernel, function.kernel.ptr, *grid, threads, 1, 1, dynamic_lds)
        parameters, lock = ctypes.addressof(pointer), threading.Lock()

        def run(a: int, b: int, c: int, stream: int) -> None:
            # The driver copies the arguments before it returns, but may let other threads run first.
            with lock:
                pack(a, b, c)
                launch(stream, parameters, 0)

        #: Enqueues the kernel: addresses of A, B and C, then the stream. A closure, since looking up attributes would
        #: be a measurable part of what a launch costs.
        self.run = run

        if args.dtype != STREAM_ARGS:
            return

        def run_with_pieces(a: int, b: int, c: int, pieces: int, stream: int) -> None:
            with lock:
                pack(a, b, c)
                _ADDRESS.pack_into(block, _PIECES, pieces)
                launch(stream, parameters, 0)

        #: The same for kernels with StreamArgs, and so with a workspace besides.
        self.run_with_pieces = run_with_pieces


class ProductLaunch:
    """The launches that make one product: its kernel, and the one that adds up slices of K or pieces of tiles."""

    def __init__(self, function: Any, total: Any, problem: GemmProblem, decision: Decision) -> None:
        tile = decision.config.tile
        target = problem if decision.splits == 1 else into_workspace(problem)
        self._main = KernelLaunch(
            function, grid(problem, decision), tile.threads, getattr(tile, "dynamic_lds_bytes", 0),
            arguments(target, decision),
        )  # fmt: skip
        self._total: KernelLaunch | None = None
        self._stream_k = decision.stream_k is not None
        config = sum_config(problem, decision)
        if config is None:
            return
        args = arguments(problem, decision)
        if stream_k := decision.stream_k:
            size, y, z = tile.block_m * tile.block_n, stream_k.tiles, 1
            self._workspace = stream_k.pieces * stream_k.tiles * size
        else:
            size, y = problem.m * problem.n, min(problem.batches, _GRID_Y)
            z = -(-problem.batches // y)
            self._workspace = decision.splits * size * problem.batches
            args["grid_y"] = y
        self._total = KernelLaunch(total, (-(-size // config.block_elements), y, z), config.threads, 0, args)

    @property
    def is_one_kernel(self) -> bool:
        """Whether `run` enqueues one kernel and allocates nothing."""
        return self._total is None

    def shortest(self) -> Callable[[int, int, int, int], cupy.ndarray | None]:
        """`run`, or what it comes down to where there is one kernel."""
        return self._main.run if self._total is None else self.run

    def run(self, a: int, b: int, c: int, stream: int) -> cupy.ndarray | None:
        """Enqueues the kernels on `stream`, the current one. `a`, `b`, `c` are addresses.

        Returns the workspace, if there is one: a captured graph goes on using it.
        """
        if self._total is None:
            self._main.run(a, b, c, stream)
            return None
        workspace = cupy.empty(self._workspace, numpy.float32)
        partial = workspace.data.ptr
        if self._stream_k:
            self._main.run_with_pieces(a, b, c, partial, stream)
            self._total.run_with_pieces(0, 0, c, partial, stream)
        else:
            self._main.run(a, b, partial, stream)
            self._total.run(partial, 0, c, stream)
        return workspace


def sum_config(problem: GemmProblem, decision: Decision) -> SumConfig | None:
    """The kernel that adds up K slices into C, or pieces of tiles that streams met in; None where there is nothing to
    add up."""
    if stream_k := decision.stream_k:
        tile = decision.config.tile
        count, elements = stream_k.pieces, stream_k.tiles * tile.block_m * tile.block_n
    else:
        count, elements = decision.splits, problem.m * problem.n * problem.batches
    if count == 1:
        return None
    vec = min(store_width(problem), 4)  # partial products are FP32, 16 bytes at most are read at once
    unit = problem.c.k == 1 or problem.n == 1
    lanes = next((x for x in _SUM_LANES if x <= count // 2 and x * elements <= vec * _SUM_THREADS), 1)
    return SumConfig(vec, unit, len(problem.batch), problem.types.result, stream_k is not None, lanes)
