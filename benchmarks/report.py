"""Rows -> a table, JSON, a picture."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Sequence

from timing import Row


def line(row: Row, peak: float | None) -> str:
    """One row of the table; a * marks products that were handed to cupy.matmul."""
    tflops = row.case.flops / row.ours.median / 1e12
    theirs = row.case.flops / row.theirs.median / 1e12
    share = f"{100 * tflops / peak:5.1f} %" if peak else "      -"
    right = "ok" if row.error <= 1 and row.repeatable else "WRONG" if row.error > 1 else "DIFFERS"
    return (
        f"{row.case.name:30} {1e6 * row.ours.median:10.1f} ± {1e6 * row.ours.spread:6.1f} "
        f"{1e6 * row.theirs.median:10.1f} ± {1e6 * row.theirs.spread:6.1f} {tflops:7.2f} {theirs:7.2f} {share} "
        f"{row.ratio:6.3f}{' ' if row.own else '*'} {right:7} {row.kernel}"
    )


def header() -> str:
    """The table's first line."""
    return (
        f"{'M x N x K, layout of A and B':30} {'cupygemm, us':>19} {'cupy, us':>19} {'TFLOP/s':>7} {'cupy':>7} "
        f"{'of peak':>7} {'ratio':>6}  {'result':7} kernel"
    )


def summary(rows: Sequence[Row]) -> str:
    """Geometric mean of the ratios, the smallest, and what was handed over."""
    mean = math.exp(sum(math.log(r.ratio) for r in rows) / len(rows))
    worst = min(rows, key=lambda r: r.ratio)
    handed = sum(not r.own for r in rows)
    return (
        f"{len(rows)} products: geometric mean of time(cupy.matmul) / time(cupygemm.matmul) {mean:.3f}, "
        f"least {worst.ratio:.3f} at {worst.case.name}; {handed} handed to cupy.matmul (*)"
    )


def as_json(rows: Sequence[Row], device: str, date: str, command: str) -> str:
    """Everything that was measured; times in seconds."""
    return json.dumps(
        {
            "device": device,
            "date": date,
            "command": command,
            "rows": [
                {
                    "m": r.case.m, "n": r.case.n, "k": r.case.k, "batch": r.case.batch, "layout": r.case.layout,
                    "shared_b": r.case.shared_b, "group": r.case.group, "dtype": r.dtype, "kernel": r.kernel,
                    "ours": r.ours.median, "ours_spread": r.ours.spread, "theirs": r.theirs.median,
                    "theirs_spread": r.theirs.spread, "ratio": r.ratio, "error": r.error, "repeatable": r.repeatable,
                }
                for r in rows
            ],
        },
        indent=1,
    )  # fmt: skip


def picture(rows: Sequence[Row], device: str, peak: float | None, path: pathlib.Path) -> None:
    """TFLOP/s by product for both libraries, with the peak drawn in; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(max(6.0, 0.3 * len(rows)), 5.5))
    places = range(len(rows))
    for seconds, label, mark in (
        ([r.theirs.median for r in rows], "cupy.matmul", "o"),
        ([r.ours.median for r in rows], "cupygemm.matmul", "^"),
    ):
        axes.plot(places, [r.case.flops / s / 1e12 for r, s in zip(rows, seconds, strict=True)], mark, label=label)
    if peak:
        axes.axhline(peak, color="gray", linestyle="--", label=f"peak, {peak:g} TFLOP/s")
    axes.set_yscale("log")
    axes.set_ylabel("TFLOP/s, from the call to the finished result")
    axes.set_xticks(list(places), [r.case.name for r in rows], rotation=90, fontsize=7)
    axes.set_title(f"{device}, {rows[0].dtype}")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
