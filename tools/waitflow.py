"""Where a kernel uses a register, or lets other waves see LDS, before the wait that makes it safe: an analysis of the
listing alone, over all its paths, run or not.

It proves that a wait taken out of a kernel was not needed (another one stands before every use), and so explains the
mutants that no run can tell from the kernel. Nothing is shared with the emulator's checkers but the parser.

For each wait counter the state holds what may be in flight, with the least number of later instructions on that counter
along any path; ``wait(n)`` finishes what at least n followed. This is what LLVM's SIInsertWaitcnts computes, with
scalar loads (which return in any order) finished by a wait for 0 alone. Paths are told apart by flags that were set to
0 or -1 on the way and are asked later, and by nothing else.
"""

from __future__ import annotations

import dataclasses
import re

from cupygemm.emulator.listing import Listing, Operand, Statement, parse_listing
from cupygemm.emulator.waits import decode_waits

_LOAD, _STORE, _DS, _KM = range(4)
#: Pending LDS accesses of this wave: they must be over before a barrier tells the others.
_LDS = "LDS"
#: Ages above this are all the same: no wait allows more.
_OLDEST = 64

#: (counter, what is pending) -> (least age, returns in any order).
_State = dict[tuple[int, str], tuple[int, bool]]


@dataclasses.dataclass(frozen=True)
class Hazard:
    """An instruction that comes too early.

    Attributes:
        line: its line, counted from 0.
        text: what is wrong.
        overlap: an LDS access while a load to LDS is in flight, which does harm only where they share bytes.
    """

    line: int
    text: str
    overlap: bool = False


def hazards(listing: str, skips: bool = True) -> list[Hazard]:
    """Every hazard of a listing with one kernel, in the order of the lines. ``skips`` False: leaves out the paths that
    jump over code because no lane would run it (s_cbranch_execz).

    Raises:
        ValueError: control flow that cannot be followed (a jump to a computed address).
    """
    parsed = parse_listing(listing)
    statements, following = parsed.statements, _successors(parsed, skips)
    starts = set(parsed.labels.values()) | {n for after in following if len(after) > 1 for n in after}
    asked = _asked(statements)
    entries: dict[tuple[int, _Flags], _State] = {(0, frozenset()): {}}
    work, found = [(0, frozenset[tuple[str, int]]())], {}
    while work:
        at, flags = work.pop()
        state = dict(entries[at, flags])
        while True:
            found.update((h.line, h) for h in _step(state, statements[at], parsed.target))
            flags = _flags_after(flags, statements[at], asked)
            if len(following[at]) != 1 or following[at][0] in starts:
                break
            at = following[at][0]
        for target in _taken(parsed, at, following[at], flags):
            if (target, flags) not in entries or _join(entries[target, flags], state):
                entries.setdefault((target, flags), dict(state))
                work.append((target, flags))
    return [found[line] for line in sorted(found)]


#: Values of registers that hold 0 or -1 to say which way to go later, and whether VCC is 0 because of one.
_Flags = frozenset[tuple[str, int]]


def _asked(statements: list[Statement]) -> frozenset[str]:
    """Scalar registers that are combined with EXEC into VCC, as flags are before a branch."""
    masks = [s for s in statements if re.match(r"s_and(n2|_not1)?_b", s.mnemonic) and _is(s.operands[0], 106)]
    return frozenset(f"s{s.operands[2].first}" for s in masks if _is(s.operands[1], 126) and s.operands[2].kind == "s")


def _is(o: Operand, register: int) -> bool:
    return o.kind == "s" and o.first == register


def _flags_after(flags: _Flags, s: Statement, asked: frozenset[str]) -> _Flags:
    """EXEC counts as not 0: without live lanes, code has no effect."""
    if not s.operands:
        return flags
    results = s.operands[:1] if s.mnemonic.startswith("s_") else s.operands[:2]
    written = {name for o in results for name in _registers((o,))}
    known = dict(flags)
    value = known.get(f"s{s.operands[2].first}") if len(s.operands) > 2 else None
    known = {name: x for name, x in known.items() if name not in written}
    first = s.operands[0]
    if s.mnemonic.startswith("s_mov_b") and f"s{first.first}" in asked and s.operands[1].kind == "int":
        if s.operands[1].value in (0, -1):
            known[f"s{first.first}"] = s.operands[1].value
    elif value is not None and s.mnemonic.startswith("s_and") and _is(first, 106) and _is(s.operands[1], 126):
        known["s106"] = ~value if "n2" in s.mnemonic or "not1" in s.mnemonic else value
    return frozenset(known.items())


def _taken(parsed: Listing, at: int, following: tuple[int, ...], flags: _Flags) -> tuple[int, ...]:
    """The successors that flags leave."""
    s, vcc = parsed.statements[at], dict(flags).get("s106")
    if vcc is None or not s.mnemonic.startswith("s_cbranch_vcc"):
        return following
    jumps = (vcc != 0) == (s.mnemonic == "s_cbranch_vccnz")
    return (parsed.labels[s.operands[-1].name],) if jumps else (at + 1,)


def _join(into: _State, other: _State) -> bool:
    """What may be in flight on either path; whether that is more than before."""
    changed = False
    for key, (age, unordered) in other.items():
        old = into.get(key)
        new = (age, unordered) if old is None else (min(age, old[0]), unordered or old[1])
        if new != old:
            into[key] = new
            changed = True
    return changed


def _successors(listing: Listing, skips: bool) -> list[tuple[int, ...]]:
    result: list[tuple[int, ...]] = []
    last = len(listing.statements) - 1
    for n, s in enumerate(listing.statements):
        if s.mnemonic.startswith(("s_setpc", "s_swappc", "s_cbranch_i_fork", "s_call")):
            raise ValueError(f"line {s.line + 1}: {s.mnemonic} cannot be followed")
        after = (n + 1,) if n < last else ()
        if s.mnemonic.startswith("s_endpgm"):
            after = ()
        elif s.mnemonic.startswith(("s_branch", "s_cbranch")):
            target = listing.labels[s.operands[-1].name]
            if s.mnemonic == "s_branch":
                after = (target,)
            elif skips or s.mnemonic != "s_cbranch_execz":
                after = tuple({*after, target})
        result.append(after)
    return result


def _step(state: _State, s: Statement, target: str) -> list[Hazard]:
    """The hazards of one instruction, whose effect on the state is applied."""
    name = s.mnemonic
    if name.startswith("s_wait"):
        _wait(state, decode_waits(s))
        return []
    found = []
    pending = {what for _, what in state}
    registers = _registers(s.operands) | (_registers(s.dual.operands) if s.dual else set())
    if name.startswith("s_cbranch_vcc"):
        registers |= {"s106", "s107"}
    early = sorted(registers & pending)
    if early:
        found.append(Hazard(s.line, f"{', '.join(early)} used before the load into it is waited for"))
    if name == "s_barrier" or name.startswith("s_barrier_signal"):
        if _LDS in pending:
            found.append(Hazard(s.line, "a barrier with an LDS access in flight"))
    elif name.startswith("ds_") and (_LOAD, _LDS) in state:
        found.append(Hazard(s.line, "an LDS access with a load to LDS in flight", True))
    _issue(state, s, target)
    return found


def _wait(state: _State, waits: int) -> None:
    for counter in (_LOAD, _STORE, _DS, _KM):
        allowed = waits >> 8 * counter & 0xFF
        unordered = any(entry[1] for (c, _), entry in state.items() if c == counter)
        if allowed == 0xFF or (allowed and unordered):
            continue
        for key in [k for k, (age, _) in state.items() if k[0] == counter and age >= allowed]:
            del state[key]


def _issue(state: _State, s: Statement, target: str) -> None:
    name = s.mnemonic
    gfx9, gfx12 = target.startswith("gfx9"), target.startswith("gfx12")
    to_lds = "_lds_" in name or any(m[0] == "lds" for m in s.modifiers)
    unordered, pending = False, set()
    if name.startswith(("s_load", "s_buffer_load")):
        counter, unordered, pending = (_KM if gfx12 else _DS), True, _registers(s.operands[:1])
    elif name.startswith("ds_"):
        counter = _DS
        moves = "permute" in name or "swizzle" in name
        stores = "write" in name or "store" in name
        pending = (set() if stores else _registers(s.operands[:1])) | (set() if moves else {_LDS})
    elif re.match(r"(global|buffer|flat|scratch)_(load|store|atomic)", name):
        store = "_store" in name
        counter = _STORE if store and not gfx9 else _LOAD
        pending = {_LDS} if to_lds else set() if store else _registers(s.operands[:1])
    else:
        return
    for key, (age, order) in list(state.items()):
        if key[0] == counter:
            state[key] = (min(age + 1, _OLDEST), order)
    for what in pending:
        state[(counter, what)] = (0, unordered)


def _registers(operands: tuple[Operand, ...]) -> set[str]:
    return {f"{o.kind}{o.first + n}" for o in operands if o.kind in "vas" for n in range(o.dwords)}
