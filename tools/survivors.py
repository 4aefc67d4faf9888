"""Why a fault that no product shows computes the same: what is proven, what is only seen, and what is argued."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing
from collections.abc import Mapping, Sequence

from cupygemm.emulator.listing import parse_listing
from tools.difference import probe
from tools.mutate import BOUNDS, EXEC, LANES, WAIT, WEAK_WAIT, Mutant, apply
from tools.origins import BLOCK, PATH, THREAD, Value, of_half, origins, same_number, successors
from tools.quotient import corrects
from tools.waitflow import hazards

REPORT, WRONG, ANALYSIS = "report", "wrong result", "analysis"
PROVEN, MASKED, ARGUED = "proven", "masked", "argued"


class Kernel(typing.Protocol):
    """What is asked of a kernel under test (tests/emulator/bare.py)."""

    config: typing.Any
    arch: typing.Any
    threads: int

    @property
    def listing(self) -> str: ...

    @property
    def argument_words(self) -> Mapping[int, tuple[str, int, int]]: ...

    def verdict(self, mutant: Mutant | None = None) -> str:
        """The report, "wrong result", or "" where nothing is wrong."""
        ...

    def verdict_of_more(self, mutant: Mutant | None = None) -> str:
        """The same of further products."""
        ...

    def trap(self, text: str, more: bool = True) -> int | None:
        """The line of the first s_trap that a product gets to, in a listing with instructions added."""
        ...


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one mutant.

    Attributes:
        mutant: the fault.
        killed: REPORT, WRONG, ANALYSIS, or "" for a survivor.
        detail: the report, or why the survivor computes the same.
        sort: of a survivor: PROVEN, MASKED, ARGUED, or "" where nobody knows.
    """

    mutant: Mutant
    killed: str
    detail: str
    sort: str = ""


def survived(kernel: Kernel, faults: Sequence[Mutant]) -> list[Outcome]:
    """The outcomes of faults that no product shows."""
    if not faults:
        return []
    facts = _Facts(kernel)
    differing = _differing(kernel, [m for m in faults if m.kind not in (WAIT, WEAK_WAIT) and not facts.settled(m)])
    return [
        _judge_wait(facts, m) if m.kind in (WAIT, WEAK_WAIT) else _judge_result(facts, m, differing.get(m))
        for m in faults
    ]


class _Facts:
    """What is known of a kernel, found out once."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.lines = kernel.listing.split("\n")

    @functools.cached_property
    def reads(self) -> dict[int, list[Value]]:
        return origins(self.kernel.listing, self.kernel.threads, self.kernel.argument_words)

    @functools.cached_property
    def waves_part(self) -> bool:
        """Whether a wave may miss code that another runs: a branch forward depends on the thread."""
        parsed = parse_listing(self.kernel.listing)
        for at, s in enumerate(parsed.statements):
            forward = s.mnemonic.startswith("s_cbranch") and parsed.labels[s.operands[-1].name] > at
            several = len(successors(s, at, len(parsed.statements), parsed.labels)) > 1
            if forward and several and THREAD in self.sources(s.line):
                return True
        return False

    @functools.cache  # noqa: B019 - lives as long as the kernel is judged
    def reached(self, line: int) -> bool:
        """Whether any product executes the line, counted from 0."""
        lines = [*self.lines[:line], "\ts_trap 2", *self.lines[line:]]
        return self.kernel.trap("\n".join(lines)) is not None

    def settled(self, mutant: Mutant) -> str:
        """What proves, without a run, that a fault computes the same; or ""."""
        if corrects(self.kernel.listing, mutant.line):
            return _QUOTIENT
        read = self.reads.get(mutant.line)
        if read and len(mutant.edits) == 1 and same_number(self.lines[mutant.line], mutant.edits[0][1], read):
            return _BOUNDED
        return ""

    def sources(self, line: int, edit: str = "") -> frozenset[str]:
        """What the instruction's operands depend on, and EXEC where it matters; of a dual instruction, the half that
        ``edit`` changes."""
        read, text = self.reads.get(line), self.lines[line].split(";", 1)[0]
        if read is None:
            return frozenset([PATH])
        if text.lstrip().startswith("s_") and "exec" not in text:
            read = read[:-1]
        if "::" in text and edit:
            first_half, first_half_edited = text.split("::")[0], edit.split("::")[0]
            read = of_half(text, first_half.strip() == first_half_edited.strip(), read)
        return frozenset[str]().union(*(value.sources for value in read))


def _differing(kernel: Kernel, faults: Sequence[Mutant]) -> dict[Mutant, bool]:
    """Of each fault that a probe can be made for, whether its instruction gave another result in any product."""
    found: dict[Mutant, bool] = {}
    left = list(faults)
    while left:
        text, traps = probe(kernel.listing, left, kernel.arch.wave)
        if not traps:
            return found
        line = kernel.trap(text)
        tried = list(traps.values())
        if line is None:
            found |= dict.fromkeys(tried, False)
            left = [m for m in left if m not in tried]
        else:
            found[traps[line]] = True
            left.remove(traps[line])
    return found


_QUOTIENT = "one of the two corrections of an integer quotient: at most one is due (tools/quotient.py)"
_BOUNDED = "reads numbers within bounds that give one and the same result, such as the sign of an extent"
_ALL_THREADS = "never gave another result, depends on the thread's number alone, and ran for every thread"
_ALL_EDGES = "never gave another result, depends on one extent and the thread, and every remainder of it was run"
_EDGES_AND_PATHS = "never gave another result; depends on one extent, of which every remainder was run, and on the path"
_PLACE_ALONE = "never gave another result; depends on where the block lies, and on the path, but on no extent"
_STREAMS = (
    "never gave another result; depends on K and the cut: every remainder of K was run, with fewer and more streams"
)
_OTHER_WAIT = "another wait stands before every use, on every path"
_SKIPPED = "matters only to a wave that skips an earlier guarded store and not this one: no edge of M or N makes one"
_OTHER_BUFFER = "reached with loads to LDS in flight, which go to the other buffer: the checker compares every byte"
_SEEN = "gave another result in a live lane, and every number and every access was right all the same"
_STAY_OFF = "lanes stay off after a guarded access, and no later access missed them at any edge of M, N and K"
#: Arguments by what depends on one extent together: where a block lies says nothing by itself.
_PLACE = frozenset({THREAD, BLOCK, "tiles_m", "tiles_n", "group_m", "grid_y"})
#: What the K range of a piece depends on.
_STREAM = frozenset({"k", "k_slice", "streams", "tiles", "steps", "share", "longer"})
_EXTENTS = (frozenset({"m"}), frozenset({"n"}), frozenset({"k", "k_slice", "splits"}))


def _judge_wait(facts: _Facts, mutant: Mutant) -> Outcome:
    """A wait that no run misses: either the analysis proves that none can, or it shows who would."""
    edited = apply(facts.kernel.listing, mutant)
    found = hazards(edited)
    if not found:
        return Outcome(mutant, "", _OTHER_WAIT, PROVEN)
    if not facts.reached(mutant.line):
        return Outcome(mutant, ANALYSIS, found[0].text)
    guarded = hazards(edited, skips=False)
    if not guarded:
        return Outcome(mutant, "", _SKIPPED, PROVEN)
    if all(h.overlap for h in guarded):
        return Outcome(mutant, "", _OTHER_BUFFER, ARGUED)
    return _argued(facts, mutant)


def _judge_result(facts: _Facts, mutant: Mutant, differs: bool | None) -> Outcome:
    """A fault that is no wait. ``differs``: whether its instruction ever gave another result; None if unknown."""
    if why := facts.settled(mutant):
        return Outcome(mutant, "", why, PROVEN)
    if differs:
        restores = mutant.kind == EXEC and mutant.before.startswith("s_or_b")
        return Outcome(mutant, "", _STAY_OFF if restores else _SEEN, MASKED)
    if differs is None or facts.waves_part or not facts.reached(mutant.line):
        return _argued(facts, mutant)
    sources = facts.sources(mutant.line, mutant.edits[0][1])
    if sources <= {THREAD}:
        return Outcome(mutant, "", _ALL_THREADS, PROVEN)
    extents = sources - _PLACE - {PATH}
    if not extents:
        return Outcome(mutant, "", _PLACE_ALONE, ARGUED)
    if facts.kernel.config.stream_k and extents <= _STREAM:
        return Outcome(mutant, "", _STREAMS, ARGUED)
    if any(extents <= extent for extent in _EXTENTS):
        path = PATH in sources
        return Outcome(mutant, "", _EDGES_AND_PATHS if path else _ALL_EDGES, ARGUED if path else PROVEN)
    return _argued(facts, mutant)


#: Reasons that a person gives: kind, pattern of the original, reason.
_REASONS = (
    (BOUNDS, r"v_cmp_\w+_i64", "compares what a tile reaches with 2 GiB"),
    (LANES, r"s_lshr_b64", "the upper half of an offset in bytes, which is 0 below 4 GiB"),
)
_ONE_TILE = "depends on where a tile lies along M: A's rows do not fill the only one"
_LONG_DIVISION = "only numbers of 2**32 and more take this way of dividing 64-bit numbers"


def _argued(facts: _Facts, mutant: Mutant) -> Outcome:
    """The outcome with a person's reason, or with none."""
    for kind, pattern, reason in _REASONS:
        if mutant.kind == kind and re.match(pattern, mutant.before):
            return Outcome(mutant, "", reason, ARGUED)
    config = facts.kernel.config
    if "wmma_" in config.name or "mfma_" in config.name:
        alone = not config.a.whole and "tiles_m" in facts.sources(mutant.line)
        if alone and mutant.kind == LANES:
            return Outcome(mutant, "", _ONE_TILE, ARGUED)
    divides = "_sum_" in config.name
    if divides and mutant.kind in (BOUNDS, EXEC, LANES) and (mutant.kind == EXEC or not facts.reached(mutant.line)):
        return Outcome(mutant, "", _LONG_DIVISION, ARGUED)
    return Outcome(mutant, "", "")
