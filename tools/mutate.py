"""Mutants of an AMD GPU kernel: its assembly listing with one barrier, wait, LDS address, bounds check, EXEC mask or
lane mapping taken away or weakened.

Pure functions, text to text. A checker that is worth its name reports every mutant that can do harm; tools/mutation.py
counts how many it does. A removed instruction leaves an ``s_nop 0`` behind, so that every other line keeps its place.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator

BARRIER, WAIT, WEAK_WAIT = "barrier removed", "wait removed", "wait weakened"
LDS_ADDRESS, BOUNDS, EXEC = "LDS address", "bounds check", "EXEC mask"
LANES, STORE_DATA = "lane mapping", "store data"
KINDS = (BARRIER, WAIT, WEAK_WAIT, LDS_ADDRESS, BOUNDS, EXEC, LANES, STORE_DATA)

_NOTHING = "\ts_nop 0"
_INSTRUCTION = re.compile(r"\s+(?:s|v|ds|global|buffer|flat|scratch)_\w+")
#: Waits of the memory counters. s_wait_alu and s_waitcnt_depctr belong to the pipeline, which is not emulated.
_WAIT = re.compile(r"s_waitcnt(?:_\w+cnt)?|s_wait_(?:load|store|ds|km|sample|bvh|exp)cnt(?:_dscnt)?")
_COUNT = re.compile(r"\w+cnt\((\d+)\)")
_INTEGER = re.compile(r"(?<![\w\[:.])(-?(?:0x[0-9a-f]+|\d+))(?![\w\].:])")
_COMPARE = re.compile(r"\b((?:v_cmpx?|s_cmp)_)(lt|le|gt|ge|eq|ne|lg)(_[iu]\d+)")
_OTHER_CONDITION = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq", "lg": "eq"}
_CLAMP = re.compile(r"(\s+)([vs])_min_[iu]32(?:_e32|_e64)?\s+(\w+), (\S+), (\S+)\s*$")
_SAVE_EXEC = re.compile(r"(\s+)s_\w+_saveexec_(b32|b64)\s+(\S+),")
_LANE_INDEX = re.compile(
    r"[vs]_(?:dual_)?(and|lshlrev|lshrrev|lshl|lshr|bfe|lshl_or|lshl_add|and_or|add_lshl|xor|or)_(?:nc_)?[biu](?:32|64)"
)
_STORE = re.compile(r"(\s+(?:global|buffer)_store_\w+)\s+([^;]*)")
_LDS_BYTES = re.compile(r"_(?:b|u|i)(8|16|32|64|96|128)(?:_|\b)")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One fault to plant.

    Attributes:
        kind: one of KINDS.
        edits: (line, new text) of every line that changes; lines count from 0.
        before: the first of those lines as it was.
    """

    kind: str
    edits: tuple[tuple[int, str], ...]
    before: str

    @property
    def line(self) -> int:
        """The first line that changes, counted from 0."""
        return self.edits[0][0]

    @property
    def after(self) -> str:
        """What becomes of the first line."""
        return self.edits[0][1].strip()


def apply(listing: str, mutant: Mutant) -> str:
    """The listing with the fault in it."""
    lines = listing.split("\n")
    for line, text in mutant.edits:
        lines[line] = text
    return "\n".join(lines)


def mutants(listing: str) -> list[Mutant]:
    """Every mutant of every kind, in the order of the lines within a kind."""
    code = _code(listing)
    found: list[Mutant] = []
    for kind, maker in _MAKERS.items():
        found += [Mutant(kind, edits, code[edits[0][0]].strip()) for edits in maker(code)]
    return found


def _code(listing: str) -> dict[int, str]:
    """Instructions without comments, by line."""
    return {n: line.split(";", 1)[0].rstrip() for n, line in enumerate(listing.split("\n")) if _INSTRUCTION.match(line)}


_Edits = tuple[tuple[int, str], ...]


def _name(text: str) -> str:
    return text.split(None, 1)[0]


def _barriers(code: dict[int, str]) -> Iterator[_Edits]:
    """gfx12 splits a barrier in two: both halves go."""
    signal = -1
    for n, text in code.items():
        name = _name(text)
        if name == "s_barrier":
            yield ((n, _NOTHING),)
        elif name.startswith("s_barrier_signal"):
            signal = n
        elif name == "s_barrier_wait" and signal >= 0:
            yield (signal, _NOTHING), (n, _NOTHING)
            signal = -1


def _waits(code: dict[int, str]) -> Iterator[_Edits]:
    for n, text in code.items():
        if _WAIT.fullmatch(_name(text)):
            yield ((n, _NOTHING),)


def _weak_waits(code: dict[int, str]) -> Iterator[_Edits]:
    """Each counter of a wait in turn lets one more instruction be in flight."""
    for n, text in code.items():
        if not _WAIT.fullmatch(_name(text)):
            continue
        counts = list(_COUNT.finditer(text))
        for count in counts:
            yield ((n, _replaced(text, count.span(1), str(int(count[1]) + 1))),)
        if not counts and (value := re.search(r"0x[0-9a-f]+|\d+$", text)):
            # s_wait_loadcnt_dscnt holds the first count in bits 13:8.
            for step in (0x100, 1) if "cnt_" in _name(text) else (1,):
                yield ((n, _replaced(text, value.span(), hex(int(value[0], 0) + step))),)


def _lds_addresses(code: dict[int, str]) -> Iterator[_Edits]:
    """Each offset moves by what one lane accesses: still aligned, but another element."""
    for n, text in code.items():
        size = _LDS_BYTES.search(_name(text))
        if not _name(text).startswith("ds_") or size is None or "permute" in text:
            continue
        step = int(size[1]) // 8
        if "2addr" in text or "read2" in text or "write2" in text:
            yield from (((n, e),) for e in _moved(text, ("offset0", "offset1"), 1, 255))
        else:
            yield from (((n, e),) for e in _moved(text, ("offset",), step, 65535))


def _moved(text: str, names: tuple[str, ...], step: int, largest: int) -> Iterator[str]:
    for name in names:
        found = re.search(rf"{name}:(\d+)", text)
        if found is None:
            yield f"{text} {name}:{step}"
        else:
            value = int(found[1])
            yield _replaced(text, found.span(1), str(value + step if value + step <= largest else value - step))


def _bounds(code: dict[int, str]) -> Iterator[_Edits]:
    """Comparisons of integers that take in, or leave out, equality; and minima that become plain moves."""
    for n, text in code.items():
        for found in _COMPARE.finditer(text):
            other = _OTHER_CONDITION[found[2]]
            if other == "ne" and found[1] == "s_cmp_":
                other = "lg"
            yield ((n, _replaced(text, found.span(2), other)),)
        if clamp := _CLAMP.match(text):
            space, unit, result, a, b = clamp.groups()
            move = "v_mov_b32_e32" if unit == "v" else "s_mov_b32"
            yield ((n, f"{space}{move} {result}, {b if unit == 'v' else a}"),)


def _exec_masks(code: dict[int, str]) -> Iterator[_Edits]:
    """EXEC stays as it was; where the old one is saved, it still is."""
    for n, text in code.items():
        if saves := _SAVE_EXEC.match(text):
            space, size, result = saves.groups()
            yield ((n, f"{space}s_mov_{size} {result}, exec{'_lo' if size == 'b32' else ''}"),)
        elif re.match(r"\s+s_\w+\s+exec\b|\s+s_\w+\s+exec_lo\b|\s+v_cmpx_", text):
            yield ((n, _NOTHING),)


def _lanes(code: dict[int, str]) -> Iterator[_Edits]:
    """Constants of shifts, masks and combinations of indices: which lane, wave or block has which element."""
    for n, text in code.items():
        start = 0
        for half in text.split("::"):
            found = _LANE_INDEX.search(half)
            numbers = [m for m in _INTEGER.finditer(half, found.end() if found else 0) if found]
            for number in numbers[:1]:
                assert found is not None
                value = _other_constant(found[1], int(number[1], 0))
                if value is not None:
                    span = number.start(1) + start, number.end(1) + start
                    yield ((n, _replaced(text, span, str(value))),)
            start += len(half) + 2


def _other_constant(operation: str, value: int) -> int | None:
    if operation.startswith("and"):
        if value in (-1, 0, 0xFFFF, 0xFFFF0000):  # halves of packed data and of buffer addresses
            return None
        return value & (value - 1)
    if operation.startswith(("lsh", "bfe", "add_lshl")):
        return (value + 1 if value < 31 else value - 1) if value < 64 else None  # s_bfe packs two numbers
    if operation == "or" and value == 0x400000:  # makes a NaN quiet, which sums are
        return None
    return value + (value & -value) if value else 1


def _stores(code: dict[int, str]) -> Iterator[_Edits]:
    """Two stores of the same width exchange what they store."""
    stores = [(n, m) for n, text in code.items() if (m := _STORE.match(text))]
    for (n, first), (k, second) in itertools.pairwise(stores):
        mine, theirs = _data(first), _data(second)
        if first[1] == second[1] and first[2][slice(*mine)] != second[2][slice(*theirs)]:
            yield (
                (n, f"{first[1]} {_replaced(first[2], mine, second[2][slice(*theirs)])}"),
                (k, f"{second[1]} {_replaced(second[2], theirs, first[2][slice(*mine)])}"),
            )


def _data(store: re.Match[str]) -> tuple[int, int]:
    """Where in its operands a store names its data: first in buffer stores, else second."""
    registers = list(re.finditer(r"[va](?:\d+|\[\d+:\d+\])", store[2]))
    return registers[0 if "buffer" in store[1] or len(registers) == 1 else 1].span()


def _replaced(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


_MAKERS: dict[str, Callable[[dict[int, str]], Iterator[_Edits]]] = {
    BARRIER: _barriers,
    WAIT: _waits,
    WEAK_WAIT: _weak_waits,
    LDS_ADDRESS: _lds_addresses,
    BOUNDS: _bounds,
    EXEC: _exec_masks,
    LANES: _lanes,
    STORE_DATA: _stores,
}
