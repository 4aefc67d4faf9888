"""Compiling a kernel without a GPU, to look at its machine code."""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import types
import typing

import pytest

from cupygemm.arch import Arch
from cupygemm.dispatch import Decision, build
from cupygemm.kernel_config import KernelConfig
from cupygemm.problem import GemmProblem
from cupygemm.source import kernel_source
from cupygemm.tiles import Device

_TOOLS = pathlib.Path(__file__).parents[1] / "tools"
#: What hiprtc assumes and plain clang has to be told.
_CLANG = (
    "-x",
    "hip",
    "--cuda-device-only",
    "-nogpulib",
    "-nogpuinc",
    "-nostdinc",
    "-nostdinc++",
    "-fuse-cuid=none",
    "-S",
)


@functools.cache
def loopstats() -> types.ModuleType:
    """tools/loopstats.py as a module."""
    spec = importlib.util.spec_from_file_location("loopstats", _TOOLS / "loopstats.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["loopstats"] = module
    spec.loader.exec_module(module)
    return module


def shipped(problem: GemmProblem, tile: typing.Any, arch: Arch) -> KernelConfig:
    """The kernel that a product gets once the dispatcher has chosen `tile`."""
    made = build(problem, Device(arch, 64), tile, 1, "asked for")
    assert isinstance(made, Decision), made
    return made.config


@functools.cache
def listing(config: KernelConfig, arch: Arch) -> str:
    """The assembly that clang makes of a kernel; ziglang's clang generates what hiprtc of the same LLVM does."""
    pytest.importorskip("ziglang")
    source = kernel_source(config, arch)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "kernel.hip")
        file.write_text(source.code)
        command = [sys.executable, "-m", "ziglang", "clang", *_CLANG, *source.options, str(file), "-o", "-"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{source.name} for {arch.name}:\n{done.stderr}"
    return done.stdout


def stats(config: KernelConfig, arch: Arch):
    """loopstats.LoopStats of a kernel."""
    return loopstats().loop_stats(listing(config, arch))


def covered(found: typing.Any, tile: typing.Any) -> bool:
    """Whether every load of the hot loop has half of the loop's arithmetic to hide behind before it is waited for, of
    `found`, what `stats` says of a kernel. Tiles under 64 x 64 have too little of it."""
    return tile.block_m * tile.block_n < 64 * 64 or found.cover >= 0.5
