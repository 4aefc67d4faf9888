"""Memory that captured graphs go on using.

A temporary array of a normal call may return to CuPy's pool as soon as its kernels are enqueued: whoever gets the
memory next on that stream comes after them. A captured graph runs its kernels again at every launch, so a temporary
that they use must never be handed out again.
"""

from __future__ import annotations

import threading

import cupy

_held: list[cupy.ndarray] = []
_lock = threading.Lock()


def keep(*temporaries: cupy.ndarray) -> None:
    """Keeps arrays alive if the current stream is being captured; call it after enqueuing work that uses them."""
    if cupy.cuda.get_current_stream().is_capturing():
        with _lock:
            _held.extend(temporaries)


def held_bytes() -> int:
    """Bytes of device memory kept for captured graphs."""
    with _lock:
        return sum(x.nbytes for x in _held)


def release_captured() -> None:
    """Gives back the memory kept for captured graphs. Only for when all graphs that captured a product are gone."""
    with _lock:
        _held.clear()
