"""Compiles a few lines of C++ against the executor's headers, so that a test can call what no instruction exposes."""

from __future__ import annotations

import ctypes
import pathlib
import subprocess

from cupygemm.emulator import build


def compile_probe(source: str, folder: pathlib.Path, *files: str) -> ctypes.CDLL:
    """``source`` (with ``files`` of native/exec) as a loaded library; its functions are ``extern "C"``."""
    tools = build.toolchain()
    text = folder / "probe.cpp"
    text.write_text(source)
    objects = []
    for path in [text, *(build.NATIVE / "exec" / f for f in files), build.NATIVE / "support.cpp"]:
        made = folder / f"{path.stem}.o"
        command = [
            tools.zig,
            "c++",
            *build._FLAGS,
            f"-I{build.NATIVE}",
            f"-I{build.NATIVE / 'exec'}",
            str(path),
            "-o",
            str(made),
        ]
        subprocess.run(command, check=True, env=build.zig_environment())
        objects.append(str(made))
    library = folder / "probe.so"
    subprocess.run(
        [tools.zig, "ld.lld", "-shared", *objects, "-o", str(library)], check=True, env=build.zig_environment()
    )
    return ctypes.CDLL(str(library))
