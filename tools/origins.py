"""What the registers of a kernel depend on, and between what bounds they lie: an analysis of the listing alone, over
all its paths, run or not.

It shows that an instruction looks at nothing but the thread's number, of which a run has them all, or at one extent of
the product, of which a run for every remainder has them all; and that the sign of a positive number is always 0. A
value that differs by the way on which it was reached depends on the path, and has no bounds.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping

from cupygemm.emulator.listing import Operand, Statement, parse_listing

THREAD, BLOCK, PATH, MEMORY = "thread", "block", "path", "memory"
_VCC, _EXEC, _SCC = "s106", "exec", "scc"
_LARGEST = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class Value:
    """What is known of 32 bits.

    Attributes:
        sources: THREAD, BLOCK, PATH, MEMORY, and names of arguments.
        low, high: bounds, read as a signed number.
        site: the statement that made it; -1 for what the kernel starts with.
    """

    sources: frozenset[str]
    low: int = -_LARGEST - 1
    high: int = _LARGEST
    site: int = -1


_State = dict[str, Value]
_Range = tuple[int, int]
_ANY = (-_LARGEST - 1, _LARGEST)
#: EXEC with every lane on.
_ALL = Value(frozenset(), -1, -1)


def origins(listing: str, threads: int, arguments: Mapping[int, tuple[str, int, int]]) -> dict[int, list[Value]]:
    """By line: what the statement's sources hold, EXEC last, on every path together.

    Args:
        threads: of a block, all in its first dimension.
        arguments: by byte offset in the argument block, of each 32-bit word: its name and its bounds.
    """
    parsed = parse_listing(listing)
    statements = parsed.statements
    first_load = next(s for s in statements if s.mnemonic.startswith("s_load"))
    base = first_load.operands[1].first
    start: _State = {f"s{n}": Value(frozenset([BLOCK]), 0, _LARGEST) for n in range(128)}
    start |= {f"s{base + n}": Value(frozenset(["pointer"])) for n in range(2)}
    start |= {"s115": Value(frozenset([BLOCK]))}  # ttmp7 holds two block numbers on gfx12
    start |= {"v0": Value(frozenset([THREAD]), 0, threads - 1), _EXEC: _ALL, _SCC: Value(frozenset())}
    entries: dict[int, _State] = {0: start}
    skips: dict[int, _State] = {}
    seen: dict[int, list[Value]] = {}
    work = [0]
    while work:
        at = work.pop()
        state = dict(entries[at])
        while True:
            s = statements[at]
            read = _read(state, s)
            old = seen.get(s.line)
            seen[s.line] = read if old is None else [_joined(a, b) for a, b in zip(old, read, strict=True)]
            _apply(state, s, at, arguments, base)
            after = successors(s, at, len(statements), parsed.labels)
            if (skipped := _skip(s, at, parsed.labels)) is not None:
                skips[skipped] = _scalars(state) if skipped not in skips else _merged(skips[skipped], _scalars(state))
                if skipped in entries and _with_skip(entries[skipped], skips[skipped]) != entries[skipped]:
                    entries[skipped] = _with_skip(entries[skipped], skips[skipped])
                    work.append(skipped)
            if after == [at + 1] and at + 1 not in entries and at + 1 not in parsed.labels.values():
                at += 1
                continue
            break
        for target in after:
            merged = _merged(entries[target], state) if target in entries else dict(state)
            merged = _with_skip(merged, skips[target]) if target in skips else merged
            if merged != entries.get(target):
                entries[target] = merged
                work.append(target)
    return seen


def same_number(before: str, after: str, reads: list[Value]) -> bool:
    """Whether an instruction and the one that takes its place give one and the same number, by the bounds of what the
    first reads."""
    results = []
    (old,), (new,) = parse_listing(before).statements, parse_listing(after).statements
    if old.dual or new.dual:
        return False
    known = dict(zip(old.operands[_results(old) :], reads, strict=False))
    for s in (old, new):
        values = [_value({}, o) if o.kind == "int" else known.get(o) for o in s.operands[_results(s) :]]
        if any(v is None for v in values):
            return False
        results.append(_bounds(s.mnemonic, [v for v in values if v is not None]))
    return results[0] == results[1] and results[0][0] == results[0][1]


def successors(s: Statement, at: int, count: int, labels: Mapping[str, int]) -> list[int]:
    """Statements that may follow. Branches around code for want of live lanes are left out: the code does nothing
    without them."""
    following = [at + 1] if at + 1 < count else []
    name = s.mnemonic
    if name.startswith("s_endpgm"):
        return []
    if not name.startswith(("s_branch", "s_cbranch")) or name == "s_cbranch_execz":
        return following
    target = labels[s.operands[-1].name]
    if name == "s_branch" or (name == "s_cbranch_execnz" and target > at):
        return [target]
    return sorted({*following, target})


def _skip(s: Statement, at: int, labels: Mapping[str, int]) -> int | None:
    """Where a branch around code leads for want of live lanes."""
    if s.mnemonic == "s_cbranch_execz":
        return labels[s.operands[-1].name]
    forward = s.mnemonic == "s_cbranch_execnz" and labels[s.operands[-1].name] > at
    return at + 1 if forward else None


def _scalars(state: _State) -> _State:
    return {name: value for name, value in state.items() if name[0] == "s"}


def _with_skip(state: _State, skip: _State) -> _State:
    """Scalars that the code which was jumped over would have changed may be as they were before it."""
    return state | {name: _joined(value, skip.get(name, _UNKNOWN)) for name, value in _scalars(state).items()}


def _joined(a: Value, b: Value) -> Value:
    if a == b:
        return a
    sources = a.sources | b.sources | (frozenset() if a.site == b.site else frozenset([PATH]))
    return Value(sources, min(a.low, b.low), max(a.high, b.high), max(a.site, b.site))


def _merged(a: _State, b: _State) -> _State:
    """Bounds that grow around a loop are given up at once."""
    found = {}
    for name in a.keys() | b.keys():
        value = _joined(a[name], b[name]) if name in a and name in b else _UNKNOWN
        if name in a and value != a[name] and value.sources == a[name].sources:
            value = dataclasses.replace(value, low=-_LARGEST - 1, high=_LARGEST)
        found[name] = value
    return found


def _names(o: Operand) -> list[str]:
    return [f"{o.kind}{o.first + n}" for n in range(o.dwords)] if o.kind in "vas" else []


_UNKNOWN = Value(frozenset([PATH]))


def _value(state: _State, o: Operand) -> Value:
    if o.kind == "int":
        value = o.value & 0xFFFFFFFF
        value -= 2**32 if value > _LARGEST else 0
        return Value(frozenset(), value, value)
    if o.kind == "s" and o.first in (126, 127):
        return state[_EXEC]
    names = _names(o)
    if len(names) == 1:
        return state.get(names[0], _UNKNOWN)
    if names and all(state.get(n) == _ALL for n in names):
        return _ALL
    parts = [state.get(n, _UNKNOWN) for n in names]
    sources = frozenset[str]().union(*(x.sources for x in parts))
    if len(parts) == 2 and (parts[1].low, parts[1].high) == (0, 0) and parts[0].low >= 0:
        return Value(sources, parts[0].low, parts[0].high)
    return Value(sources)


_NO_RESULT = re.compile(
    r"s_cmp|s_bitcmp|s_wait|s_nop|s_barrier|s_branch|s_cbranch|s_endpgm|s_set|s_delay|s_code|s_inst|s_clause|s_sleep|"
    r"s_icache|s_sched|v_cmpx|ds_(write|store)|(global|buffer|flat|scratch)_store"
)


def _results(s: Statement) -> int:
    """How many operands are written, the first ones."""
    name = s.mnemonic
    if _NO_RESULT.match(name):
        return 0
    return (
        2
        if (name.startswith("v_") and "_co_" in name) or "div_scale" in name or "mad_u64" in name or "mad_i64" in name
        else 1
    )


#: What adds to, or keeps a part of, the register that it writes.
_KEEPS = re.compile(r"addk|mulk|fmac|mac_|dot2c|writelane|cmov|16|swap")


def _read(state: _State, s: Statement) -> list[Value]:
    found = [_value(state, o) for o in _operands_read(s)]
    if s.dual:
        found += [_value(state, o) for o in _operands_read(s.dual)]
    if re.search(r"cselect|addc|subb|cbranch_scc|_co_ci_", s.mnemonic):
        found.append(state[_SCC])
    if any(_READS_VCC.search(half.mnemonic) for half in (s, s.dual) if half):
        found.append(state.get(_VCC, _UNKNOWN))
    return [*found, state[_EXEC]]


_READS_VCC = re.compile(r"cndmask_b32(_e32)?$|cbranch_vcc|addc_co|subb_co|div_fmas")


def _operands_read(s: Statement) -> tuple[Operand, ...]:
    return s.operands[0 if _KEEPS.search(s.mnemonic) else _results(s) :]


def of_half(text: str, second: bool, reads: list[Value]) -> list[Value]:
    """What one half of a dual instruction reads, of what the whole does."""
    (s,) = parse_listing(text).statements
    assert s.dual is not None
    half, before = (s.dual, len(_operands_read(s))) if second else (s, 0)
    own = reads[before : before + len(_operands_read(half))]
    return [*own, *(reads[-2:-1] if _READS_VCC.search(half.mnemonic) else []), reads[-1]]


def _apply(state: _State, s: Statement, at: int, arguments: Mapping[int, tuple[str, int, int]], base: int) -> None:
    halves = [dataclasses.replace(s, dual=None), s.dual] if s.dual else [s]
    made = [(h, _made(state, h, at, arguments, base)) for h in halves]
    for half, values in made:
        vector = half.mnemonic.startswith("v_") and not half.mnemonic.startswith("v_readlane")
        partly = half.mnemonic.startswith(("v_", "ds_", "global", "buffer", "flat")) and state[_EXEC].sources
        for name, value in values.items():
            if name[0] in "va" and partly:
                old = state.get(name, Value(frozenset()))  # reading what was never written is a fault of its own
                sources = value.sources | old.sources | state[_EXEC].sources
                value = Value(sources, min(value.low, old.low), max(value.high, old.high), at)
            elif vector and partly:  # a mask, or what the first live lane holds
                value = dataclasses.replace(value, sources=value.sources | state[_EXEC].sources)
            state[name] = value
    _apply_exec(state, s, at)


def _apply_exec(state: _State, s: Statement, at: int) -> None:
    name, exec_sources = s.mnemonic, state[_EXEC].sources
    to_exec = bool(s.operands) and s.operands[0].kind == "s" and s.operands[0].first in (126, 127)
    if "saveexec" in name:
        sources = exec_sources | _value(state, s.operands[1]).sources
        for n in _names(s.operands[0]):
            state[n] = state[_EXEC]
        state[_EXEC] = Value(sources, site=at)
    elif name.startswith("v_cmpx"):
        sources = exec_sources.union(*(_value(state, o).sources for o in s.operands))
        state[_EXEC] = Value(sources, site=at)
    elif to_exec:
        reads = [_value(state, o) for o in s.operands[1:]]
        if name.startswith(("s_or_b", "s_mov_b")) and any((r.sources, r.low) == (frozenset(), -1) for r in reads):
            state[_EXEC] = _ALL
        else:
            state[_EXEC] = Value(frozenset().union(*(r.sources for r in reads)), site=at)


def _made(
    state: _State, s: Statement, at: int, arguments: Mapping[int, tuple[str, int, int]], base: int
) -> dict[str, Value]:
    """The registers that a statement writes."""
    name, count = s.mnemonic, _results(s)
    reads = _read(state, s)[:-1]
    found: dict[str, Value] = {}
    if name.startswith("s_load"):
        pointer = state.get(f"s{base}", _UNKNOWN).sources == frozenset(["pointer"])
        known = pointer and s.operands[1].first == base and s.operands[2].kind == "int"
        for n, register in enumerate(_names(s.operands[0])):
            argument = arguments.get(s.operands[2].value + 4 * n) if known else None
            if argument:
                found[register] = Value(frozenset([argument[0]]), argument[1], argument[2], at)
            else:
                found[register] = Value(frozenset([MEMORY]), site=at)
        return found
    if re.match(r"ds_|global|buffer|flat|scratch|v_wmma|v_mfma", name):
        return {n: Value(frozenset([MEMORY]), site=at) for o in s.operands[:count] for n in _names(o)}
    sources = frozenset().union(*(r.sources for r in reads)) if reads else frozenset()
    low, high = _bounds(name, reads)
    for o in s.operands[:count]:
        names = _names(o)
        whole = len(names) == 1 and not name.startswith("v_cmp")
        for n in names:
            found[n] = Value(sources, low, high, at) if whole else Value(sources, site=at)
    if re.match(r"s_(cmp|bitcmp|add|sub|and|or|xor|not|andn2|orn2|lshl|lshr|ashr|bfe|min|max|abs|nand|nor)", name):
        found[_SCC] = Value(sources, site=at)
    return found


def _bounds(mnemonic: str, reads: list[Value]) -> tuple[int, int]:
    """Of the result, as far as operations on indices go."""
    name = re.sub(r"^[vs]_|^v_dual_|_e32$|_e64$", "", mnemonic.replace("v_dual_", "v_"))
    name = re.sub("_nc_|_co_", "_", name)
    for pattern, operation in _OPERATIONS:
        if mnemonic.startswith("s_bfe"):  # packs where and how many in one operand
            break
        if re.fullmatch(pattern, name):
            low, high = operation(*((r.low, r.high) for r in reads[:3]))
            return (low, high) if low >= _ANY[0] and high <= _ANY[1] else _ANY
    return _ANY


def _shift_right(x: _Range, n: _Range) -> _Range:
    """Both kinds, where bits shifted in at the top do not matter."""
    if n[0] != n[1] or not 0 <= n[0] < 32:
        return _ANY
    return (x[0] >> n[0], x[1] >> n[0]) if x[0] >= 0 else (0, 2 ** (32 - n[0]) - 1) if n[0] else _ANY


def _shift_right_signed(x: _Range, n: _Range) -> _Range:
    return (x[0] >> n[0], x[1] >> n[0]) if n[0] == n[1] and 0 <= n[0] < 32 else _ANY


def _and(x: _Range, y: _Range) -> _Range:
    tops = [r[1] for r in (x, y) if r[0] >= 0]
    return (0, min(tops)) if tops else _ANY


def _or(x: _Range, y: _Range) -> _Range:
    if x[0] < 0 or y[0] < 0:
        return _ANY
    return max(x[0], y[0]), 2 ** max(x[1].bit_length(), y[1].bit_length()) - 1


def _bit_field(x: _Range, a: _Range, n: _Range) -> _Range:
    """Signed, where the field's sign is never set."""
    if a[0] != a[1] or n[0] != n[1] or x[0] < 0 or x[1] >= 2 ** (a[0] + n[0] - 1):
        return _ANY
    return x[0] >> a[0], x[1] >> a[0]


def _multiply(x: _Range, y: _Range) -> _Range:
    return (x[0] * y[0], x[1] * y[1]) if x[0] >= 0 and y[0] >= 0 else _ANY


def _shift_left(x: _Range, n: _Range) -> _Range:
    return _multiply(x, (1 << n[0], 1 << n[0])) if n[0] == n[1] and 0 <= n[0] < 32 else _ANY


def _sum(x: _Range, y: _Range) -> _Range:
    return x[0] + y[0], x[1] + y[1]


_OPERATIONS: tuple[tuple[str, Callable[..., _Range]], ...] = (
    (r"mov(k)?_[bi]32|readfirstlane_b32", lambda x: x),
    (r"add_[iu]32", _sum),
    (r"addk_i32", lambda x, y: _sum(x, y)),
    (r"sub_[iu]32", lambda x, y: (x[0] - y[1], x[1] - y[0])),
    (r"subrev_u32", lambda x, y: (y[0] - x[1], y[1] - x[0])),
    (r"ashr_i32", _shift_right_signed),
    (r"ashrrev_i32", lambda n, x: _shift_right_signed(x, n)),
    (r"lshr_b(32|64)", _shift_right),
    (r"lshrrev_b32", lambda n, x: _shift_right(x, n)),
    (r"lshl_b32", _shift_left),
    (r"lshlrev_b32", lambda n, x: _shift_left(x, n)),
    (r"and_b32", _and),
    (r"or_b32", _or),
    (r"min_[iu]32", lambda x, y: (min(x[0], y[0]), min(x[1], y[1])) if x[0] >= 0 and y[0] >= 0 else _ANY),
    (r"max_[iu]32", lambda x, y: (max(x[0], y[0]), max(x[1], y[1])) if x[0] >= 0 and y[0] >= 0 else _ANY),
    (r"mul_(lo_u32|i32|u32_u24|i32_i24)", _multiply),
    (r"add3_u32", lambda x, y, z: _sum(_sum(x, y), z)),
    (r"lshl_add_u32", lambda x, n, y: _sum(_shift_left(x, n), y)),
    (r"add_lshl_u32", lambda x, y, n: _shift_left(_sum(x, y), n)),
    (r"lshl_or_b32", lambda x, n, y: _or(_shift_left(x, n), y)),
    (r"and_or_b32", lambda x, y, z: _or(_and(x, y), z)),
    (r"or3_b32", lambda x, y, z: _or(_or(x, y), z)),
    (r"bfe_i32", lambda x, a, n: _bit_field(x, a, n)),
    (r"bfe_u32", lambda x, a, n: (0, 2 ** n[0] - 1) if n[0] == n[1] and 0 <= n[0] < 31 else _ANY),
)
