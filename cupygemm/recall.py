"""A call like an earlier one -> the same launch at once.

Deciding what a call means takes tens of microseconds of Python, more than a small product takes on the GPU. Here calls
that were worked out before are found by what the decision depends on: shapes, strides where an operand is not
C-contiguous, types, alignment, device and options. Whatever is out of the ordinary is left to the long way.
"""

from __future__ import annotations

from typing import Any

import cupy
from cupy.cuda import get_current_stream
from cupy_backends.cuda.api import runtime

from cupygemm import _capture, _graphs, module
from cupygemm._options import current_options
from cupygemm._spare import Spares

_MOST_CALLS = 4096
_MISALIGNED = 15
_ndarray = cupy.ndarray
_find = module.launches.get
_take_graph = module.graphs.pop
_start_graph, _is_capturing = runtime.graphLaunch, runtime.streamIsCapturing
_options = current_options.get


class _Call:
    """What there is to know about a call: `run` makes it, for operands whose address is a multiple of 16."""

    __slots__ = ("dtype", "launch", "nbytes", "operand_bytes", "options", "repeats", "result", "result_dtype", "run",
                 "shape", "swapped")  # fmt: skip

    def __init__(self, a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray, launch: Any, swapped: bool) -> None:
        self.dtype = a.dtype
        self.result_dtype = c.dtype
        self.shape = c.shape
        self.nbytes = c.nbytes
        contiguous = a.flags.c_contiguous and b.flags.c_contiguous
        self.operand_bytes = (a.nbytes, b.nbytes) if contiguous else None
        self.options = current_options.get()  # what was decided under these need not hold under others
        self.launch = launch  # owns the memory that `run` points to
        self.run = launch.shortest()
        self.repeats = launch.is_one_kernel and _graphs.pays()
        self.result = Spares(c).result
        self.swapped = swapped


_several_devices: bool | None = None  # None until a call was remembered


def remember(a: cupy.ndarray, b: cupy.ndarray, c: cupy.ndarray, launch: Any, swapped: bool, device: int) -> None:
    """Notes that `launch` makes the product of operands like `a` and `b` on `device` into an array like `c`."""
    global _several_devices
    if not c.flags.c_contiguous or a.dtype != b.dtype or (a.data.ptr | b.data.ptr | c.data.ptr) & _MISALIGNED:
        return
    if _several_devices is None:
        _several_devices = runtime.getDeviceCount() > 1
    if len(module.launches) >= _MOST_CALLS:
        module.launches.clear()
    contiguous = a.flags.c_contiguous and b.flags.c_contiguous
    key = (a.shape, b.shape) if contiguous else (a.shape, b.shape, a.strides, b.strides)
    module.launches[(key, device) if _several_devices else key] = _Call(a, b, c, launch, swapped)


def again(a: Any, b: Any, out: Any) -> cupy.ndarray | None:
    """The product, if a call like this one was made before; None otherwise. `out` is None or an array.

    Every line here is a measurable part of what a small product costs.
    """
    if type(a) is not _ndarray or type(b) is not _ndarray or _several_devices is None:
        return None
    # The private flags are what `flags` is made from; they cost a third.
    key: tuple = (a.shape, b.shape)
    if not (a._c_contiguous and b._c_contiguous):
        key = (a.shape, b.shape, a.strides, b.strides)
    if _several_devices:
        device = runtime.getDevice()
        if a.data.device_id != device or b.data.device_id != device:
            return None
        if out is not None and (type(out) is not _ndarray or out.data.device_id != device):
            return None
        key = (key, device)
    call = _find(key)
    if call is None or a.dtype is not call.dtype or b.dtype is not call.dtype:
        return None
    first, second = a.data.ptr, b.data.ptr
    if (first | second) & _MISALIGNED or _options() is not call.options:
        return None
    stream = get_current_stream().ptr
    if out is None:
        out = call.result(stream)
    elif not _fits(call, out, first, second):
        return None
    if call.swapped:
        first, second = second, first
    target = out.data.ptr
    if call.repeats:
        place = (call, first, second, target, stream)
        # Out of the table while it is started, since no two threads may start a graph at once; then last in it.
        graph = _take_graph(place, None)
        if graph is None:
            call.run(first, second, target, stream)
            _graphs.note(place)
            return out
        if stream and _is_capturing(stream):  # a graph cannot be captured
            call.run(first, second, target, stream)
        else:
            _start_graph(graph.graphExec, stream)
        module.graphs[place] = graph
        return out
    workspace = call.run(first, second, target, stream)
    if workspace is not None:
        _capture.keep(workspace)
    return out


def _fits(call: _Call, out: Any, first: int, second: int) -> bool:
    """Whether the kernel may write to `out`: an array like the result, and all of it clear of the operands."""
    if type(out) is not _ndarray or out.dtype is not call.result_dtype or out.shape != call.shape:
        return False
    if not out._c_contiguous or call.operand_bytes is None:
        return False
    begin = out.data.ptr
    end = begin + call.nbytes
    clear_of_a = end <= first or first + call.operand_bytes[0] <= begin
    clear_of_b = end <= second or second + call.operand_bytes[1] <= begin
    return clear_of_a and clear_of_b and not begin & _MISALIGNED
