"""The mutation proof: plants every fault of tools/mutate.py in the kernels we ship, one at a time, runs them on the
emulated GPU under its checkers, and says what showed the fault.

    python -m tools.mutation --arch gfx1201,gfx942 [--kernel f32-large] [--kind "barrier removed"] [--table
    docs/mutation.md]

A fault shows as a report, as a wrong result, or, in code that no product here reaches, in the analysis of waits
(tools/waitflow.py). tools/survivors.py says of what shows nowhere why; mutants of which nobody knows are listed, and
make the command fail.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import multiprocessing
import pathlib
import sys
import textwrap
from collections.abc import Iterable, Sequence

from tools.mutate import BARRIER, KINDS, WAIT, WEAK_WAIT, Mutant, mutants
from tools.survivors import ARGUED, MASKED, PROVEN, REPORT, WRONG, Kernel, Outcome, survived

Results = dict[tuple[str, str], list[Outcome]]


def judge(kernel: Kernel, faults: Sequence[Mutant]) -> list[Outcome]:
    """What became of each fault, in the same order."""
    verdicts = [kernel.verdict(m) for m in faults]
    places = [n for n, verdict in enumerate(verdicts) if not verdict]
    late = _found_by_more(kernel, [faults[n] for n in places])
    for n, verdict in zip(places, late, strict=True):
        verdicts[n] = verdict
    rest = [m for m, verdict in zip(faults, verdicts, strict=True) if not verdict]
    reasons = iter(survived(kernel, rest))
    return [
        Outcome(m, WRONG if verdict == WRONG else REPORT, verdict) if verdict else next(reasons)
        for m, verdict in zip(faults, verdicts, strict=True)
    ]


def _found_by_more(kernel: Kernel, faults: list[Mutant]) -> list[str]:
    """The verdict of the further products on each fault. Where several faults together show nothing, none of them
    does."""
    found = [""] * len(faults)

    def search(places: list[int]) -> None:
        edits = tuple(edit for n in places for edit in faults[n].edits)
        verdict = kernel.verdict_of_more(Mutant("", edits, "")) if places else ""
        if verdict and len(places) == 1:
            found[places[0]] = verdict
        elif verdict:
            half = len(places) // 2
            search(places[:half])
            search(places[half:])

    for places in _apart(faults):
        search(places)
    return found


def _apart(faults: Sequence[Mutant]) -> Iterable[list[int]]:
    """Places of faults in groups that change no line twice."""
    groups: list[tuple[set[int], list[int]]] = []
    for n, mutant in enumerate(faults):
        lines = {line for line, _ in mutant.edits}
        used, places = next((g for g in groups if not g[0] & lines), (set(), []))
        if not places:
            groups.append((used, places))
        used |= lines
        places.append(n)
    return [places for _, places in groups]


_INTRODUCTION = """# Mutation proof of the emulator's checkers

One fault at a time is planted in the assembly listings of {kernels} kernels. Each of the {mutants} results runs on the
emulated GPU with its checkers on, over products that are ragged in every way; memory beside the arrays, and between
their rows, is out of bounds or NaN. What those products do not tell from the kernel runs on further ones: every number
of rows, of columns and of K up to a tile (two along K), one extent at a time; survivors together, and one by one where
that shows something. The kernels as they are run clean. Made by

    {command}

{sample}A fault is found by a report of a checker, or by a wrong result; a wait in code that no product reaches, by the
analysis of all paths (tools/waitflow.py). Survivors are

- proven the same: by that analysis; by bounds on the numbers that an instruction reads; because the changed instruction
  never gave another result, and depends on the thread's number alone, or on one extent of the product, of which all
  remainders were run (tools/origins.py); or by arithmetic (tools/quotient.py);
- masked: a probe (tools/difference.py) saw the changed instruction give another result in a live lane, and yet every
  number was right and every access allowed, in all products. That is seen, not proven;
- argued: a person's reason, in the last table. A real miss among these goes unseen.

{shares}

"""


def table(results: Results, command: str = "python -m tools.mutation", most: int = 0) -> str:
    """Markdown: the share of the faults found by kind, then kinds by kernels, then why survivors compute the same.
    ``most``: of one kind and kernel, how many were tried; 0 for all."""
    everything = [o for outcomes in results.values() for o in outcomes]
    lines = [
        "| kind | mutants | found | found of all | proven the same | masked | argued | unexplained |",
        "|---" * 8 + "|",
    ]
    shares = []
    for kind in KINDS:
        own = [o for o in everything if o.mutant.kind == kind]
        if own:
            found, *rest = counts(own)
            share = f"{100 * found / len(own):.{0 if found == len(own) else 1}f} %"
            shares.append(f"{share} ({kind})")
            lines.append(f"| {kind} | {len(own)} | {found} | {share} | {' | '.join(map(str, rest))} |")
    lines += ["", f"| kernel | {' | '.join(KINDS)} | proven | masked | argued |", "|---" * (len(KINDS) + 4) + "|"]
    for (arch, name), outcomes in results.items():
        cells = []
        for kind in KINDS:
            own = [o for o in outcomes if o.mutant.kind == kind]
            cells.append(f"{counts(own)[0]}/{len(own)}" if own else "")
        lines.append(f"| {arch} {name} | {' | '.join([*cells, *map(str, counts(outcomes)[1:4])])} |")
    lines += ["", "Found/mutants, then survivors of all kinds.", ""]
    reasons = collections.Counter((o.sort, o.mutant.kind, o.detail) for o in everything if not o.killed)
    lines += ["| survivors | kind | number | why |", "|---|---|---|---|"]
    order = (PROVEN, MASKED, ARGUED, "")
    for (sort, kind, why), n in sorted(reasons.items(), key=lambda x: (order.index(x[0][0]), *x[0])):
        lines.append(f"| {sort or 'unexplained'} | {kind} | {n} | {why} |")
    neither = sum(sum(counts([o])[2:]) for o in everything)
    sample = f"All barriers and waits are tried; of the other kinds, at most {most} faults a kernel, spread evenly.\n\n"
    introduction = _INTRODUCTION.format(
        kernels=len(results),
        mutants=len(everything),
        command=command,
        sample=sample if most else "",
        shares=textwrap.fill(
            f"Found of all: {', '.join(shares)}. Neither found nor proven: {neither} of {len(everything)}, "
            f"{100 * neither / max(1, len(everything)):.1f} %.",
            120,
        ),
    )
    return introduction + "\n".join(lines) + "\n"


def counts(outcomes: Iterable[Outcome]) -> tuple[int, int, int, int, int]:
    """Found, proven the same, masked, argued, unexplained."""
    sorts = collections.Counter("found" if o.killed else o.sort for o in outcomes)
    return sorts["found"], sorts[PROVEN], sorts[MASKED], sorts[ARGUED], sorts[""]


#: Kinds of which no fault is left out.
_ALL = (BARRIER, WAIT, WEAK_WAIT)


def run_kernel(arch: str, name: str, kinds: tuple[str, ...], most: int = 0) -> list[Outcome]:
    """Every mutant of one kernel, or at most so many of a kind, in a process that has the emulated GPU active.

    Raises:
        ValueError: the kernel does not run clean without a fault.
    """
    from tests.emulator.shipped import cases

    kernel = cases(arch)[name]()
    if report := kernel.verdict():
        raise ValueError(f"{arch} {name} without a fault: {report}")
    every = mutants(kernel.listing)
    chosen = [m for kind in kinds for m in evenly([m for m in every if m.kind == kind], 0 if kind in _ALL else most)]
    return judge(kernel, chosen)


def evenly(faults: list[Mutant], most: int) -> list[Mutant]:
    """At most so many, from the first to the last; all if ``most`` is 0."""
    if most == 0 or len(faults) <= most:
        return faults
    return [faults[n * len(faults) // most] for n in range(most)]


def _activate(archs: tuple[str, ...]) -> None:
    import cupygemm.emulator

    cupygemm.emulator.activate(*archs)


def main(arguments: list[str]) -> int:
    """The command; returns the number of survivors that nobody has explained, at most 99."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--arch", default="gfx1100,gfx1201,gfx942,gfx950")
    parser.add_argument("--kernel", default="", help="short names, separated by commas; all of them if not given")
    parser.add_argument("--kind", default="", help=f"kinds, separated by commas; all if not given: {', '.join(KINDS)}")
    parser.add_argument(
        "--most", type=int, default=0, help="faults of a kind and kernel to try, but for barriers and waits; 0: all"
    )
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
        pending = {key: pool.submit(run_kernel, *key, kinds, options.most) for key in names}
        for key, future in pending.items():
            results[key] = future.result()
            print(*key, *counts(results[key]), flush=True)
            for o in results[key]:
                if not o.killed and not o.sort:
                    print(f"  line {o.mutant.line + 1}, {o.mutant.kind}: {o.mutant.before} -> {o.mutant.after}")
    text = table(results, " ".join(["python -m tools.mutation", *arguments]), options.most)
    if options.table:
        pathlib.Path(options.table).write_text(text)
    print(text)
    return min(99, sum(counts(outcomes)[4] for outcomes in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
