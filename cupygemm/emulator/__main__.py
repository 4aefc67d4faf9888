"""Runs a Python program on emulated GPUs: ``python -m cupygemm.emulator --arch gfx1201[,gfx942,...] [--check]
[--profile FILE] script.py [args]``."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from . import activate, profile, profiling, targets


def main() -> None:
    """Activates the emulator, then runs the program in this process."""
    parser = argparse.ArgumentParser(
        prog="python -m cupygemm.emulator",
        description="Run a Python program on emulated AMD GPUs.",
        usage="%(prog)s [options] (SCRIPT | -m MODULE | -c CODE) [args ...]",
    )
    parser.add_argument(
        "--arch", default="gfx1201", help=f"device archs, separated by commas: {', '.join(targets.TARGETS)}"
    )
    parser.add_argument("--check", action="store_true", help="run every launch under the checkers")
    parser.add_argument(
        "--defer", action="store_true", help="carry out work on streams only when something waits for it"
    )
    parser.add_argument("--seed", type=int, default=0, help="order of streams under --defer")
    parser.add_argument(
        "--profile", metavar="FILE", help="write counters of every launch to FILE as CSV, and a short table to stderr"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    parser.add_argument("-c", dest="code", action="store_true", help="the program is given as text")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.program:
        parser.error("no program given")
    try:
        activate(*arguments.arch.split(","), check=arguments.check, defer=arguments.defer, seed=arguments.seed)
    except ValueError as error:
        parser.error(str(error))
    if arguments.profile is None:
        _run(arguments.program, module=arguments.module, code=arguments.code)
        return
    with profile() as profiled:
        try:
            _run(arguments.program, module=arguments.module, code=arguments.code)
        finally:
            profiling.write_csv(profiled.dispatches, arguments.profile)
            print(profiling.table(profiled.dispatches), file=sys.stderr)


def _run(program: list[str], *, module: bool, code: bool) -> None:
    """As the Python interpreter would: sys.argv, sys.path[0] and __main__ are the program's."""
    name, sys.argv = program[0], list(program)
    if code:
        sys.argv[0], sys.path[0] = "-c", ""
        exec(compile(name, "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    elif module:
        sys.path[0] = os.getcwd()
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(name))
        runpy.run_path(name, run_name="__main__")


main()
