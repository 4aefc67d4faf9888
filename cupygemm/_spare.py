"""Small results that nobody holds any more -> the next result.

CuPy takes 1.7 us to allocate an array and to free it (an H200's host), as long as it takes to find out which kernel a
call needs. So the last two results of a call are kept, and one of them becomes the next result if nothing refers to it:
neither to the array, nor to its memory, nor weakly. Then a program cannot tell it from a new array in the same memory,
which is what CuPy's pool would give it.
"""

from __future__ import annotations

import collections
import sys
import types
import weakref
from typing import Any

import cupy

#: Larger results are not kept: allocating them is nothing beside computing them.
_MOST_BYTES = 2**20
#: For each call and stream: two, since `x = matmul(a, b)` makes the next one while `x` still holds the last.
_MOST_ARRAYS = 2
#: Calls that keep results at a time, and streams of a call that do.
_MOST_CALLS = 8
_MOST_STREAMS = 4
#: The address that stands for each thread's own default stream: equal addresses do not mean the same stream there.
_PER_THREAD = 2

_ndarray = cupy.ndarray
_references, _weak_references = sys.getrefcount, weakref.getweakrefcount
_keeping: list[Spares] = []


class Spares:
    """The kept results of one call, by stream: like CuPy's pool, which reuses memory in the order of a stream."""

    __slots__ = ("_by_stream", "_dtype", "_keeps", "_shape")

    def __init__(self, like: cupy.ndarray) -> None:
        self._shape, self._dtype = like.shape, like.dtype
        self._keeps = like.nbytes <= _MOST_BYTES and _counts_references()
        self._by_stream: dict[int, collections.deque[cupy.ndarray]] = {}

    def result(self, stream: int) -> cupy.ndarray:
        """An array that nothing else uses, for work on `stream`, the current one."""
        kept = self._by_stream.get(stream)
        if kept is not None:
            for _ in range(_MOST_ARRAYS):
                x, references = _next(kept)
                if x is None:
                    break
                kept.append(x)
                if references == _ALONE and x.shape == self._shape:  # a shape may be assigned to
                    return x
        x = _ndarray(self._shape, self._dtype)
        if self._keeps and stream != _PER_THREAD:
            self._keep(x, stream)
        return x

    def _keep(self, x: cupy.ndarray, stream: int) -> None:
        if self not in _keeping:
            _keeping.append(self)
            for other in _keeping[:-_MOST_CALLS]:
                other._by_stream.clear()
            del _keeping[:-_MOST_CALLS]
        if len(self._by_stream) >= _MOST_STREAMS:
            self._by_stream.clear()
        self._by_stream.setdefault(stream, collections.deque(maxlen=_MOST_ARRAYS)).append(x)


def forget() -> None:
    """Gives back all kept results."""
    for spares in _keeping:
        spares._by_stream.clear()
    _keeping.clear()


def _next(kept: collections.deque[Any]) -> tuple[Any, tuple[int, ...]]:
    """The array kept for longest, and how many references there are to it, its address and its memory. Taken out, so
    that no other thread can take it."""
    try:
        x = kept.popleft()
    except IndexError:
        return None, ()
    return x, (_references(x), _references(x.data), _references(x.data.mem), _weak_references(x))


#: What `_next` counts where there are no references but those that hold the array and its parts together. How Python
#: counts its own differs between versions.
_ALONE = _next(collections.deque([types.SimpleNamespace(data=types.SimpleNamespace(mem=object()))]))[1]


def _counts_references() -> bool:
    """Whether an object's references are counted exactly: in CPython with its global lock."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.implementation.name == "cpython" and locked()
