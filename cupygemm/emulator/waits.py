"""Wait instructions: which counters they wait for, and down to what. One byte a counter (native/exec/machine.hpp,
Counter).
"""

from __future__ import annotations

import re

from .listing import Statement

_LOAD, _STORE, _DS, _KM, _EXP, _SAMPLE, _BVH, _DEPCTR = range(8)
_NOT_WAITED = 0xFF
_FIELDS = {"vmcnt": _LOAD, "lgkmcnt": _DS, "expcnt": _EXP, "vscnt": _STORE}
_SINGLE = {
    "s_wait_loadcnt": _LOAD,
    "s_wait_storecnt": _STORE,
    "s_wait_dscnt": _DS,
    "s_wait_kmcnt": _KM,
    "s_wait_expcnt": _EXP,
    "s_wait_samplecnt": _SAMPLE,
    "s_wait_bvhcnt": _BVH,
    "s_waitcnt_vscnt": _STORE,
    "s_waitcnt_vmcnt": _LOAD,
    "s_waitcnt_expcnt": _EXP,
    "s_waitcnt_lgkmcnt": _DS,
}


def decode_waits(statement: Statement) -> int:
    """The eight counter bytes, low byte first; 0xff in a byte: that counter is not waited for."""
    waits = [_NOT_WAITED] * 8
    last = statement.operands[-1] if statement.operands else None
    name = statement.mnemonic
    if last is None:
        pass
    elif name == "s_waitcnt" and last.kind == "text":
        for counter, value in re.findall(r"(\w+?)(?:_sat)?\((\w+)\)", last.name):
            waits[_FIELDS[counter]] = int(value, 0)
    elif name == "s_waitcnt" and last.kind == "int":
        waits = _unpack_waitcnt(last.value)
    elif name in _SINGLE:
        waits[_SINGLE[name]] = last.value
    elif name in ("s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        waits[_LOAD if "load" in name else _STORE] = last.value >> 8 & 0x3F
        waits[_DS] = last.value & 0x3F
    elif name in ("s_wait_alu", "s_waitcnt_depctr"):
        waits[_DEPCTR] = 0
    return int.from_bytes(bytes(waits), "little")


def _unpack_waitcnt(value: int) -> list[int]:
    """gfx9's encoding of a plain number: vmcnt in 3:0 and 15:14, expcnt in 6:4, lgkmcnt in 11:8; the largest value does
    not wait.
    """
    waits = [_NOT_WAITED] * 8
    for counter, count, largest in (
        (_LOAD, value & 15 | value >> 10 & 0x30, 63),
        (_EXP, value >> 4 & 7, 7),
        (_DS, value >> 8 & 15, 15),
    ):
        if count < largest:
            waits[counter] = count
    return waits
