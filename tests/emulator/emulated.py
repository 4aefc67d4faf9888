"""Runs Python text on emulated GPUs in a process of its own: a process can activate the emulator only once."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence

ROOT = pathlib.Path(__file__).parents[2]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, with the package under test first on the path."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path} | dict(extra or {})


def start(
    code: str,
    archs: str = "gfx1201",
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cwd: pathlib.Path | None = None,
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cupygemm.emulator", "--arch", archs, *options, "-c", textwrap.dedent(code)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(env), cwd=cwd
    )


def run(
    code: str,
    archs: str = "gfx1201",
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cwd: pathlib.Path | None = None,
) -> str:
    """The program's standard output. Fails the test, showing its standard error, where the program fails."""
    process = start(code, archs, options, env, cwd)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, f"{out}\n{err}"
    return out
