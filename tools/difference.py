"""Whether a changed instruction ever gives another result than the original: a probe to run on the emulated GPU.

The probe is the kernel's listing with instructions added: the changed instruction runs first, into registers that the
kernel does not use, then the original; where the two results differ in a lane that EXEC keeps on, the wave traps.
EXEC's own changes are compared likewise. A probe that never traps shows that the products run do not exercise the
fault; one that traps shows that they do, and that what came out was the same all the same.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from tools.mutate import Mutant

_REGISTER = re.compile(r"\b([vsa])(?:(\d+)|\[(\d+):(\d+)\])")
_SCALARS, _VECTORS = range(32, 102), range(256)


def probe(listing: str, mutants: Sequence[Mutant], wave: int) -> tuple[str, dict[int, Mutant]]:
    """The listing that traps where a mutant's instruction differs, and its traps by line, counted from 0. Mutants for
    which no probe can be made are left out: more than one line changes, or the kernel leaves no registers.

    Args:
        wave: lanes of a wave.
    """
    free = _free(listing)
    by_line: dict[int, list[Mutant]] = {}
    for mutant in mutants:
        by_line.setdefault(mutant.line, []).append(mutant)
    lines: list[str] = []
    traps: dict[int, Mutant] = {}
    for n, text in enumerate(listing.split("\n")):
        rest: list[str] = []
        for mutant in by_line.get(n, ())[:1] if free else ():
            before, after = (x.split(";", 1)[0].rstrip() for x in (text, mutant.edits[0][1]))
            around = _around(before, after, free, wave, f".Lsame{n}") if len(mutant.edits) == 1 else None
            if around is not None:
                lines += around[0]
                rest = around[1]
                traps[len(lines) + 1 + next(i for i, x in enumerate(rest) if "s_trap" in x)] = mutant
        lines += [text, *rest]
    return "\n".join(lines), traps


@dataclasses.dataclass(frozen=True)
class _Free:
    """Registers that a kernel does not use: two even-numbered pairs and two single ones of scalars, a pair of vectors
    ("v", or "a", which the emulator takes anywhere)."""

    pairs: tuple[int, int]
    singles: tuple[int, int]
    vector: tuple[str, int]


def _free(listing: str) -> _Free | None:
    used: dict[str, set[int]] = {"v": set(), "s": set(), "a": set()}
    for kind, one, low, high in _REGISTER.findall("\n".join(x.split(";", 1)[0] for x in listing.split("\n"))):
        used[kind] |= {int(one)} if one else set(range(int(low), int(high) + 1))
    pairs = [s for s in _SCALARS if s % 2 == 0 and not used["s"] & {s, s + 1}]
    vectors = [(kind, v) for kind in "av" for v in _VECTORS if v % 2 == 0 and not used[kind] & {v, v + 1}]
    singles = [s for s in _SCALARS if s not in used["s"] and s // 2 * 2 not in pairs[-2:]]
    if len(pairs) < 2 or len(singles) < 2 or not vectors:
        return None
    return _Free((pairs[-1], pairs[-2]), (singles[-1], singles[-2]), vectors[-1])


def _around(before: str, after: str, free: _Free, wave: int, label: str) -> tuple[list[str], list[str]] | None:
    """What to run before and after the original."""
    size, full = ("b64", "exec") if wave == 64 else ("b32", "exec_lo")
    mask, other = (_pair("s", s) if wave == 64 else f"s{s}" for s in free.pairs)
    scc, kept = (f"s{s}" for s in free.singles)
    name = before.split(None, 1)[0]
    trap = [f"\ts_cbranch_scc0 {label}", "\ts_trap 2", f"{label}:", f"\ts_cmp_lg_u32 {kept}, 0"]
    keep = f"\ts_cselect_b32 {kept}, 1, 0"
    differ = f"\ts_xor_{size} {other}, {full}, {mask}"
    if name.startswith("s_cmp"):
        first = [after, f"\ts_cselect_b32 {scc}, 1, 0"]
        return first, [keep, f"\ts_cmp_lg_u32 {kept}, {scc}", *trap]
    if (
        "saveexec" in name
        or re.match(r"\s+s_\w+\s+exec(_lo)?,", before)
        or (name.startswith("v_cmpx") and "s_nop" in after)
    ):
        return [f"\ts_mov_{size} {mask}, {full}"], [keep, differ, *trap]
    if name.startswith("v_cmp"):
        comparison = re.sub(r"_e(32|64)$", "", after.split(None, 1)[0].replace("v_cmpx", "v_cmp"))
        arguments = after.split(None, 1)[1]
        result = full if name.startswith("v_cmpx") else arguments.split(",")[0]
        arguments = arguments.removeprefix(f"{result},").strip()
        return [f"\t{comparison}_e64 {mask}, {arguments}"], [keep, differ.replace(f" {full},", f" {result},"), *trap]
    return _of_registers(before, after, free, wave, keep, trap)


def _pair(kind: str, first: int) -> str:
    return f"{kind}[{first}:{first + 1}]"


def _of_registers(
    before: str, after: str, free: _Free, wave: int, keep: str, trap: list[str]
) -> tuple[list[str], list[str]] | None:
    """For instructions that write a register, or two next to each other."""
    halves = [(b, a) for b, a in zip(before.split("::"), after.split("::"), strict=True) if b.strip() != a.strip()]
    (half_before, half_after), *more = halves
    found = re.match(r"\s*([vs])_\w+\s+([vs](?:\d+|\[\d+:\d+\]))(?=,)", half_before)
    if more or found is None or "sdwa" in before or "dpp" in before:
        return None
    result, kind, bits = found[2], found[2][0], 64 if "[" in found[2] else 32
    file, first = ("s", free.pairs[0]) if kind == "s" else free.vector
    place = _pair(file, first) if bits == 64 else f"{file}{first}"
    changed = ["\t" + half_after.strip().replace("v_dual_", "v_").replace(result, place, 1)]
    if kind == "s":
        return changed, [keep, f"\ts_cmp_lg_u{bits} {result}, {place}", *trap]
    mask = _pair("s", free.pairs[0]) if wave == 64 else f"s{free.pairs[0]}"
    compare = f"\tv_cmp_ne_u{bits}_e64 {mask}, {result}, {place}"
    return changed, [keep, compare, f"\ts_cmp_lg_u{wave} {mask}, 0", *trap]
