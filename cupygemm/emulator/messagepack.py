"""Decodes MessagePack, as much of it as code-object metadata uses: maps, arrays, strings, integers, booleans and nil.

Format: github.com/msgpack/msgpack, spec.md.
"""

from __future__ import annotations

import struct
from typing import Any

# First byte -> struct format of the integer that follows it.
_INTEGERS = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
# First byte -> (struct format of the length that follows it, kind).
_SIZED = {
    0xD9: (">B", "str"),
    0xDA: (">H", "str"),
    0xDB: (">I", "str"),
    0xDC: (">H", "array"),
    0xDD: (">I", "array"),
    0xDE: (">H", "map"),
    0xDF: (">I", "map"),
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def unpack(data: bytes) -> Any:
    """The first value in ``data``. Raises ValueError for types beyond the ones named above."""
    return _value(data, 0)[0]


def _value(data: bytes, at: int) -> tuple[Any, int]:
    tag = data[at]
    at += 1
    if tag < 0x80:
        return tag, at
    if tag >= 0xE0:
        return tag - 0x100, at
    if tag < 0x90:
        return _collection("map", tag & 15, data, at)
    if tag < 0xA0:
        return _collection("array", tag & 15, data, at)
    if tag < 0xC0:
        return _collection("str", tag & 31, data, at)
    if tag in _CONSTANTS:
        return _CONSTANTS[tag], at
    if tag in _INTEGERS:
        return struct.unpack_from(_INTEGERS[tag], data, at)[0], at + struct.calcsize(_INTEGERS[tag])
    if tag in _SIZED:
        form, kind = _SIZED[tag]
        return _collection(kind, struct.unpack_from(form, data, at)[0], data, at + struct.calcsize(form))
    raise ValueError(f"MessagePack type 0x{tag:02x} is not used by code-object metadata")


def _collection(kind: str, count: int, data: bytes, at: int) -> tuple[Any, int]:
    if kind == "str":
        return data[at : at + count].decode(), at + count
    items = []
    for _ in range(count if kind == "array" else 2 * count):
        item, at = _value(data, at)
        items.append(item)
    return (items if kind == "array" else dict(zip(items[::2], items[1::2], strict=True))), at
