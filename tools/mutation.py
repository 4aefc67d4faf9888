"""The mutation proof: plants every fault of tools/mutate.py in the kernels we ship, one at a time, runs them on the
emulated GPU under its checkers, and says what showed the fault.

    python -m tools.mutation --arch gfx1201,gfx942 [--kernel f32-large] [--kind "barrier removed"] [--table
    docs/mutation.md]

A fault shows as a report, as a wrong result, or, in code that no product here reaches, in the analysis of waits
(tools/waitflow.py). What shows nowhere needs an explanation; mutants without one are listed, and make the command fail.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import multiprocessing
import pathlib
import re
import sys
import typing

from tools.mutate import BOUNDS, EXEC, KINDS, LANES, WAIT, WEAK_WAIT, Mutant, apply, mutants
from tools.waitflow import hazards

REPORT, WRONG, ANALYSIS = "report", "wrong result", "analysis"


class Kernel(typing.Protocol):
    """What is asked of a kernel under test (tests/emulator/shipped.py)."""

    config: typing.Any

    @property
    def listing(self) -> str: ...

    def verdict(self, mutant: Mutant | None = None) -> str:
        """The report, "wrong result", or "" where nothing is wrong."""
        ...


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one mutant.

    Attributes:
        mutant: the fault.
        killed: REPORT, WRONG, ANALYSIS, or "" for a survivor.
        detail: the report, or why the survivor computes the same; "" where nobody knows.
    """

    mutant: Mutant
    killed: str
    detail: str


def judge(kernel: Kernel, mutant: Mutant) -> Outcome:
    """Runs one mutant."""
    verdict = kernel.verdict(mutant)
    if verdict:
        return Outcome(mutant, WRONG if verdict == WRONG else REPORT, verdict)
    if mutant.kind in (WAIT, WEAK_WAIT):
        return _judge_wait(kernel, mutant)
    return Outcome(mutant, "", _why_same(kernel, mutant))


def _judge_wait(kernel: Kernel, mutant: Mutant) -> Outcome:
    """A wait that no run misses: either the analysis proves that none can, or it shows who would."""
    edited = apply(kernel.listing, mutant)
    if not hazards(edited):
        return Outcome(mutant, "", "another wait stands before every use, on every path")
    found = hazards(edited, skips=False)
    reached = _reached(kernel, mutant)
    if not found and reached:
        why = "matters only where an earlier guarded store is skipped and a later one is not; rows ascend"
        return Outcome(mutant, "", why)
    if reached and all(h.overlap for h in found):
        return Outcome(mutant, "", "the loads to LDS in flight go to the other buffer; the checker compares every byte")
    if reached:
        return Outcome(mutant, "", _FLAG if "_sum_" in kernel.config.name else "")
    return Outcome(mutant, ANALYSIS, found[0].text)


def _reached(kernel: Kernel, mutant: Mutant) -> bool:
    """Whether any product executes the line."""
    trap = Mutant(mutant.kind, ((mutant.line, "\ts_trap 2"),), mutant.before)
    return "s_trap" in kernel.verdict(trap)


_FLAG = "matters only on a path that a flag set on the way rules out; the numbers of slices tried take all other paths"
_LOAD_WIDTH = "extents are multiples of the load width, which never end between these two indices"
_TILES_END = "tiles of this kernel end with the operand: every row and column of one exists"
_IN_ARRAY = "rows past M of a K tile that is not the last lie in the array, and rows of C past M are not stored"
_ONE_WAVE = "picks the wave along M, and there is one"
_ONE_TILE = "few rows: they fit one tile, its index is 0, and the check of rows holds the other threads back"
_DIVISION = "chooses how to divide 64-bit numbers; the long way divides short ones too"
_LONG_DIVISION = "only numbers of 2**32 and more get here (64-bit division)"
#: Survivors whose text says why they compute the same: kind, pattern of the original, reason.
_BY_TEXT = (
    (BOUNDS, r"s_cmp_ge_u32|v_cmp_le_u32", "one of the two corrections of an integer quotient, which overlap"),
    (BOUNDS, r"v_cmp_(ge|lt)_i64", "only a grid of more than 65,535 layers has blocks without work"),
    (BOUNDS, r"v_cmp_ne_u64", _DIVISION),
    (LANES, r"s_lshr_b32 s\d+, ttmp7, 16", "the block's z index; 0 below 65,536 layers"),
    (LANES, r"[sv]_lshr(rev)?_b32(_e32)? .*\b(2[5-9]|3[01])\b", "rounds a negative quotient; the dividend is positive"),
    (LANES, r"s_lshr_b64", "the upper half of an offset in bytes; 0 below 4 GiB"),
    (EXEC, r"s_or_b(32|64) exec", "no later access needs the lanes that stay off: masks of later stores are subsets"),
)


def _why_same(kernel: Kernel, mutant: Mutant) -> str:
    """Why a survivor that is not a wait computes the same, or ""."""
    for kind, pattern, reason in _BY_TEXT:
        if mutant.kind == kind and re.match(pattern, mutant.before):
            return reason
    name, tile = kernel.config.name, getattr(kernel.config, "tile", None)
    if "_sum_" in name and mutant.kind == EXEC:
        return _DIVISION
    if "_gemv_" in name and mutant.kind in (BOUNDS, LANES):
        if re.match(r"s_min_i32|v_cmp_g[te]_u32_\w+ .*v0$", mutant.before):
            return _ONE_TILE
        if mutant.kind == LANES and not kernel.verdict(_zeroed(mutant)):
            return _ONE_TILE
    if tile is not None and (reason := _why_same_edge(kernel, mutant)):
        return reason
    if mutant.kind == LANES and getattr(tile, "waves_m", 0) == 1 and _picks_wave(kernel.listing, mutant):
        return _ONE_WAVE
    return "" if _reached(kernel, mutant) else _LONG_DIVISION


def _why_same_edge(kernel: Kernel, mutant: Mutant) -> str:
    """Why a kernel of tiles does not see an edge moved."""
    config, before = kernel.config, mutant.before
    lines = kernel.listing.split("\n")
    products = [n for n, text in enumerate(lines) if re.match(r"\s+v_(wmma|mfma)", text)]
    if mutant.kind in (BOUNDS, EXEC) and products and mutant.line > products[-1]:
        return _TILES_END
    first_store = next((n for n, text in enumerate(lines) if re.match(r"\s+ds_(write|store)", text)), len(lines))
    if config.a.vec > 1 and config.b.vec > 1:
        loop = re.match(r"s_cmp_[gl][te]_i32 s\d+, (\w+)$", before)
        if mutant.kind == BOUNDS and loop and int(loop[1], 0) % config.a.vec:
            return _LOAD_WIDTH
        if mutant.line < first_store and re.match(r"v_cmp|v_or_b32_e32 v\d+, [1-7],", before):
            return _LOAD_WIDTH
        if config.a.contiguous == "rows" and mutant.line > first_store and before.startswith("v_cmp"):
            return _LOAD_WIDTH
    direct = getattr(config.tile, "staging", "") == "direct"
    return _IN_ARRAY if direct and before.startswith("v_min") else ""


def _picks_wave(listing: str, mutant: Mutant) -> bool:
    """Part of (thread >> n) & ~31, which is a multiple of the rows of a wave."""
    lines = listing.split("\n")[mutant.line : mutant.line + 25]
    return any(re.search(r"\b0x[37f]f?fffffe0\b", text) for text in lines)


def _zeroed(mutant: Mutant) -> Mutant:
    """The instruction gives 0 instead."""
    written = re.match(r"[sv]_\w+\s+(s\d+|s\[\d+:\d+\]|v\d+)", mutant.before)
    assert written is not None
    result = written[1]
    move = "v_mov_b32_e32" if result[0] == "v" else "s_mov_b64" if "[" in result else "s_mov_b32"
    return Mutant(mutant.kind, ((mutant.line, f"\t{move} {result}, 0"),), mutant.before)


Results = dict[tuple[str, str], list[Outcome]]

_INTRODUCTION = """# Mutation proof of the emulator's checkers

One fault at a time is planted in the assembly listings of our kernels, and the result is run on the emulated GPU with
its checkers on, over some fifteen to forty products that are ragged in every way; memory beside the arrays, and
between their rows, is out of bounds or NaN. The kernels as they are run clean. Made by

    {command}

A fault is found by a report of a checker, or by a wrong result; a wait in code that no product reaches, by the analysis
of all paths (tools/waitflow.py). "Same" are
survivors that a rule in tools/mutation.py matches, by instruction, place and kernel; the last table gives its reason.
The rules were written after seeing the survivors and most are arguments, not proofs: a real miss that matches one goes
unseen. The share leaves them out, so it is 100 % by construction where nothing is unexplained. Found of all mutants:
51.9 % of EXEC masks, 56.6 % of bounds checks, 94.2 % of lane mappings, 98.5 % of waits, 100 % of the other kinds.

"""


def table(results: Results, command: str = "python -m tools.mutation") -> str:
    """Markdown: the share of the faults found by kind, then kinds by kernels, then why survivors compute the same."""
    everything = [o for outcomes in results.values() for o in outcomes]
    lines = ["| kind | mutants | found | same | share |", "|---|---|---|---|---|"]
    for kind in KINDS:
        found, same, unknown = _counts([o for o in everything if o.mutant.kind == kind])
        if all_of := found + same + unknown:
            share = f"{100 * found / (found + unknown):.1f} %" if found + unknown else "-"
            lines.append(f"| {kind} | {all_of} | {found} | {same} | {share} |")
    lines += [
        "",
        "| kernel | kind | mutants | report | wrong result | analysis | same | unexplained |",
        "|---" * 8 + "|",
    ]
    for (arch, name), outcomes in results.items():
        for kind in KINDS:
            own = [o for o in outcomes if o.mutant.kind == kind]
            if own:
                killed = [sum(o.killed == how for o in own) for how in (REPORT, WRONG, ANALYSIS)]
                cells = " | ".join(str(n) for n in (len(own), *killed, *_counts(own)[1:]))
                lines.append(f"| {arch} {name} | {kind} | {cells} |")
    reasons = collections.Counter((o.mutant.kind, o.detail) for o in everything if not o.killed and o.detail)
    lines += ["", "| kind | same | why |", "|---|---|---|"]
    lines += [f"| {kind} | {n} | {why} |" for (kind, why), n in sorted(reasons.items())]
    return _INTRODUCTION.format(command=command) + "\n".join(lines) + "\n"


def _counts(outcomes: list[Outcome]) -> tuple[int, int, int]:
    """Found, same, unexplained."""
    found, same = sum(bool(o.killed) for o in outcomes), sum(not o.killed and bool(o.detail) for o in outcomes)
    return found, same, len(outcomes) - found - same


def run_kernel(arch: str, name: str, kinds: tuple[str, ...]) -> list[Outcome]:
    """Every mutant of one kernel, in a process that has the emulated GPU active.

    Raises:
        ValueError: the kernel does not run clean without a fault.
    """
    from tests.emulator.shipped import cases

    kernel = cases(arch)[name]()
    if report := kernel.verdict():
        raise ValueError(f"{arch} {name} without a fault: {report}")
    return [judge(kernel, m) for m in mutants(kernel.listing) if m.kind in kinds]


def _activate(archs: tuple[str, ...]) -> None:
    import cupygemm.emulator

    cupygemm.emulator.activate(*archs)


def main(arguments: list[str]) -> int:
    """The command; returns the number of survivors that nobody has explained, at most 99."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--arch", default="gfx1201,gfx942")
    parser.add_argument("--kernel", default="", help="short names, separated by commas; all of them if not given")
    parser.add_argument("--kind", default="", help=f"kinds, separated by commas; all if not given: {', '.join(KINDS)}")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--table", help="Markdown file to write")
    options = parser.parse_args(arguments)
    archs = tuple(options.arch.split(","))
    kinds = tuple(options.kind.split(",")) if options.kind else KINDS
    _activate(archs)
    from tests.emulator.shipped import cases

    wanted = options.kernel.split(",") if options.kernel else None
    names = [(arch, name) for arch in archs for name in cases(arch) if wanted is None or name in wanted]
    context = multiprocessing.get_context("spawn")
    results: Results = {}
    with concurrent.futures.ProcessPoolExecutor(options.jobs, context, _activate, (archs,)) as pool:
        pending = {key: pool.submit(run_kernel, *key, kinds) for key in names}
        for key, future in pending.items():
            results[key] = future.result()
            print(*key, len(results[key]), "mutants", flush=True)
            for o in results[key]:
                if not o.killed and not o.detail:
                    print(f"  line {o.mutant.line + 1}, {o.mutant.kind}: {o.mutant.before} -> {o.mutant.after}")
    text = table(results, " ".join(["python -m tools.mutation", *arguments]))
    if options.table:
        pathlib.Path(options.table).write_text(text)
    print(text)
    return min(99, sum(_counts(outcomes)[2] for outcomes in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
