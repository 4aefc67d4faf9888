"""A launch that repeats -> a graph of it, which costs the host less to start.

On an H200 (driver 580) the driver takes 3.6 us to launch a kernel and 1.4 us to launch a graph that consists of one. A
graph holds the kernel's arguments, so it serves only calls with the same addresses on the same stream, as an iterative
method makes them. NVIDIA alone: on AMD it was never measured.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

import cupy
from cupy_backends.cuda.api import runtime

from cupygemm import module

#: The driver from which on a graph of kernels in a row is launched at once, however many they are (CUDA 12.6).
_FIRST_DRIVER = 12060
#: A call gets a graph when it is made for the third time: a graph costs as much as ten launches.
_TIMES = 3
#: Graphs at a time, 110 KiB of device memory each.
_MOST_GRAPHS = 64
#: Launches noted before the graph that has gone unused for longest makes way for another, so that a program with more
#: calls than graphs does not spend its time making them.
_PATIENCE = 256
_MOST_SEEN = 4096

_log = logging.getLogger("cupygemm")
_thread = threading.local()
_seen: dict[tuple, int] = {}
_noted = 0


def pays() -> bool:
    """Whether graphs are faster to launch than kernels on this platform."""
    return not runtime.is_hip and runtime.driverGetVersion() >= _FIRST_DRIVER


def note(place: tuple[Any, int, int, int, int]) -> None:
    """Notes that a call was made with these addresses: (call, A, B, C, stream). The third time, it gets a graph.

    `call.run` enqueues the kernel, and nothing else.
    """
    global _noted
    _noted += 1
    times = _seen[place] = _seen.get(place, 0) + 1
    if times < _TIMES:
        if len(_seen) > _MOST_SEEN:
            _seen.clear()
        return
    if len(module.graphs) >= _MOST_GRAPHS:
        if _noted < _PATIENCE:
            return
        for unused in list(module.graphs)[:1]:  # for longest: graphs that are launched come last
            module.graphs.pop(unused, None)
    _noted = 0
    _seen.pop(place, None)
    call, a, b, c, stream = place
    if stream and runtime.streamIsCapturing(stream):
        return
    try:
        module.graphs[place] = _graph(call, a, b, c)
    except runtime.CUDARuntimeError as error:  # the product is made; it goes on without a graph
        _log.info("no graph for a repeated call: %s", error)
        _thread.__dict__.clear()  # a stream on which a capture broke off
        call.repeats = False


def _graph(call: Any, a: int, b: int, c: int) -> cupy.cuda.Graph:
    """The launch, captured on a stream that serves nothing else."""
    device = runtime.getDevice()
    side = _thread.__dict__.get(device)
    if side is None:
        side = _thread.__dict__[device] = cupy.cuda.Stream(non_blocking=True)
    side.begin_capture()
    try:
        call.run(a, b, c, side.ptr)
    finally:
        graph = side.end_capture()
    return graph
