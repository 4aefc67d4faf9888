"""Figures of the largest kernels that the compiler alone gives: a row for each architecture, type and layout.

    python -m tools.figures --arch gfx942,gfx950 --type f16,i8 [--size 8191]

FLOPs per issued instruction of the main loop (tools/loopstats.py), the share of it that moves data, the share of its
FLOPs that a load has to hide behind before it is waited for, the most instructions in a row without arithmetic,
registers, LDS and spills, as Markdown. Counts of instructions, not speeds.
"""

from __future__ import annotations

import argparse
import sys

from cupygemm.arch import Arch, amd_arch
from cupygemm.problem import GemmProblem, Matrix, Types
from cupygemm.tiles import candidates
from tests.static import shipped, stats

TYPES = {
    "f64": Types("f64", "f64", "f64"),
    "f32": Types(),
    "f16": Types("f16", "f32", "f16"),
    "bf16": Types("bf16", "f32", "bf16"),
    "i8": Types("i8", "i32", "i8"),
    "e4m3": Types("e4m3", "f32", "bf16"),
}
_MOVES = ("global_load", "global_store", "lds_read", "lds_write")


def square(types: Types, layout: str, size: int) -> GemmProblem:
    """A product of square matrices; "r" operands are row-major, "c" column-major. Aligned as `size` lets it."""
    a, b = ((size, 1) if order == "r" else (1, size) for order in layout)
    matrices = Matrix(*a, (), 16), Matrix(b[1], b[0], (), 16), Matrix(size, 1, (), 16)
    return GemmProblem(size, size, size, (), *matrices, types)


def row(arch: Arch, name: str, layout: str, size: int) -> str:
    """A row of the table."""
    config = shipped(square(TYPES[name], layout, size), candidates(arch, TYPES[name])[0].tile, arch)
    found = stats(config, arch)
    moves = sum(found.kinds.get(kind, 0) for kind in _MOVES) / found.instructions
    cells = (arch.name, name, ", ".join(layout), f"{found.flops_per_instruction:.0f}", f"{moves:.0%}",
             f"{found.cover:.0%}", found.gap, found.vgprs, found.lds, found.spills, config.tile.name)  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def main(arguments: list[str]) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--arch", default="gfx1100,gfx1201,gfx942,gfx950")
    parser.add_argument("--type", default="f16", help=f"of {', '.join(TYPES)}, separated by commas")
    parser.add_argument("--layout", default="rc,rr", help="of A and B: r row-major, c column-major")
    parser.add_argument("--size", type=int, default=8192, help="M, N and K")
    options = parser.parse_args(arguments)
    heads = ("arch", "type", "A, B", "FLOPs/instr.", "moves data", "cover", "gap", "registers", "LDS", "spills", "tile")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name in options.type.split(","):
        for arch in map(amd_arch, options.arch.split(",")):
            for layout in options.layout.split(",") if candidates(arch, TYPES[name]) else ():
                print(row(arch, name, layout, options.size), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
