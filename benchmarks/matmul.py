"""cupygemm.matmul beside cupy.matmul on the same arrays, in one run.

    python benchmarks/matmul.py --suite fp32 --json fp32.json --picture fp32.png
    python benchmarks/matmul.py --shape 4096x4096x4096 --shape 64x(128x128x64) --layout rr,cr --dtype float32

A time is that of one call, from the call to the finished result; calls of the two take turns, after warming up. What is
shown is the median, and half of the distance between the quartiles. An emulated GPU is refused.
"""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import re
import sys

import report
import suite
import timing


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; 1 if a result is wrong or differs between runs."""
    options = parser().parse_args(arguments)
    cases = suite.fp32() if options.suite else given(options.shape, options.layout)
    if not cases:
        parser().error("name a --suite or at least one --shape")
    # Tensor cores would round FP32 operands to TF32.
    os.environ.setdefault("NVIDIA_TF32_OVERRIDE", "0")
    try:
        device = timing.check_device()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    peak = timing.peak_tflops() if options.dtype == "float32" else None
    print(f"{device}, {options.dtype}, TF32 off, random normal data\n{report.header()}")
    rows = []
    for case in cases:
        rows.append(timing.measure(case, options.dtype, options.seconds))
        print(report.line(rows[-1], peak), flush=True)
    print(report.summary(rows))
    if options.json:
        command = " ".join(["python", *sys.argv])
        date = datetime.date.today().isoformat()
        options.json.write_text(report.as_json(rows, device, date, command))
    if options.picture:
        report.picture(rows, device, peak, options.picture)
    return int(any(r.error > 1 or not r.repeatable for r in rows))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--suite", choices=["fp32"], help="the shapes of suite.py")
    made.add_argument("--shape", action="append", default=[], metavar="MxNxK", help="or BATCHx(MxNxK); may be repeated")
    made.add_argument("--layout", default="rr", help="of A and B: rr, rc, cr, cc, several separated by commas")
    made.add_argument("--dtype", default="float32", help="of both operands")
    made.add_argument("--seconds", type=float, default=0.4, help="measuring time for each product")
    made.add_argument("--json", type=pathlib.Path, help="file for everything measured")
    made.add_argument("--picture", type=pathlib.Path, help="file for a picture; needs matplotlib")
    return made


def given(shapes: list[str], layouts: str) -> tuple[suite.Case, ...]:
    """The cases that the command line names.

    Raises:
        ValueError: a shape or layout is malformed.
    """
    cases = []
    for text in shapes:
        match = re.fullmatch(r"(?:(\d+)x\()?(\d+)x(\d+)x(\d+)\)?", text)
        if match is None:
            raise ValueError(f"a shape is MxNxK or BATCHx(MxNxK), not {text!r}")
        batch, m, n, k = (int(x or 0) for x in match.groups())
        cases += [suite.Case(m, n, k, layout, batch) for layout in layouts.split(",")]
    return tuple(cases)


if __name__ == "__main__":
    sys.exit(main())
