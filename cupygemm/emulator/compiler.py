"""hiprtc's work: HIP source and options -> a code object, by the clang inside ziglang.

The code object carries its own assembly listing, which is what the emulator executes, in a section that no segment
holds (``.emulator_listing``, zlib-compressed); so the listing travels with it through CuPy's disk cache. The machine
code in ``.text`` is that listing, assembled.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Mapping, Sequence

from . import build

INCLUDE = pathlib.Path(__file__).parent / "include"
LISTING_SECTION = ".emulator_listing"
COUNT_FILE_VARIABLE = "CUPYGEMM_EMULATOR_COMPILE_LOG"

# -fuse-cuid=none, the debug compilation folder and relative names make equal inputs give equal bytes: CuPy's cache keys
# build on that. -gline-tables-only puts .loc lines into the listing and changes no instruction.
_FIXED_FLAGS = (
    *("-x", "hip", "--cuda-device-only", "-nogpulib", "-nogpuinc", "-nostdinc", "-nostdinc++", "-fuse-cuid=none"),
    *("-gline-tables-only", "-fdebug-compilation-dir=.", "-Wno-deprecated", "-Wno-unused-command-line-argument"),
    *("-D__HIPCC__=1", "-D__HIPCC_RTC__=1"),
)
_NAME_VARIABLE = "__emulator_name_{}"

_lock = threading.Lock()
_compilations = 0


@dataclasses.dataclass(frozen=True)
class Compiled:
    """``code`` is empty where compilation failed; ``lowered`` maps each name expression to its mangled name."""

    code: bytes
    log: str
    lowered: Mapping[str, str]

    @property
    def ok(self) -> bool:
        return bool(self.code)


class _ToolError(Exception):
    """A tool returned an error; the argument is its output."""


def compilations() -> int:
    """How many times this process has compiled HIP source. CuPy's probe of an empty program, once a process, is not
    counted."""
    return _compilations


def compile_hip(
    source: str,
    arch: str,
    *,
    name: str = "program.hip",
    headers: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    expressions: Sequence[str] = (),
) -> Compiled:
    """Compiles as hiprtc does: for ``arch`` unless an option names another, with -O3 unless an option says otherwise.

    A compile error, or an option that clang does not know, gives a result without code and clang's messages in ``log``;
    so that errors are found alike everywhere, nothing is raised for them. Raises build.BuildError where ziglang is
    missing.
    """
    _count(source, name)
    with tempfile.TemporaryDirectory(prefix="cupygemm-hiprtc-") as folder:
        work = pathlib.Path(folder)
        for header, text in (headers or {}).items():
            (work / header).parent.mkdir(parents=True, exist_ok=True)
            (work / header).write_text(text)
        main = pathlib.PurePath(name).name
        (work / main).write_text(source + _name_variables(expressions))
        try:
            listing, log = _to_listing(main, _options(options, arch), work)
            return Compiled(
                assemble(listing) + b"\0", log, lowered_names(listing, expressions)
            )  # CuPy drops the last byte
        except _ToolError as error:
            return Compiled(b"", str(error), {})


def assemble(listing: str) -> bytes:
    """The code object of a listing as clang writes it, or as a test has edited it. Raises ValueError with the
    assembler's messages."""
    arch = target_arch(listing)
    with tempfile.TemporaryDirectory(prefix="cupygemm-assemble-") as folder:
        work = pathlib.Path(folder)
        (work / "listing.z").write_bytes(zlib.compress(listing.encode(), 6))
        (work / "k.s").write_text(f'{listing}\n\t.section\t{LISTING_SECTION},"",@progbits\n\t.incbin\t"listing.z"\n')
        zig = build.toolchain().zig
        try:
            # Private symbols (.L...) stay in the symbol table: the listing refers to constant data by them.
            _run(
                [
                    zig,
                    "clang",
                    "-target",
                    "amdgcn-amd-amdhsa",
                    f"-mcpu={arch}",
                    "-Xclangas",
                    "-msave-temp-labels",
                    "-c",
                    "k.s",
                    "-o",
                    "k.o",
                ],
                work,
            )
            _run([zig, "ld.lld", "-shared", "--strip-debug", "k.o", "-o", "k.co"], work)
        except _ToolError as error:
            raise ValueError(f"assembling for {arch} failed:\n{error}") from None
        return (work / "k.co").read_bytes()


def target_arch(listing: str) -> str:
    """The arch, with target-ID suffixes if it has any, that a listing was made for."""
    found = re.search(r'\.amdgcn_target\s+"[^"]*--([\w:+-]+)"', listing)
    if not found:
        raise ValueError("the listing has no .amdgcn_target directive")
    return found[1]


def lowered_names(listing: str, expressions: Sequence[str]) -> dict[str, str]:
    """Reads, off the initialisers of the variables that ``compile_hip`` appends, the symbol that each expression
    names."""
    names = {}
    for i, expression in enumerate(expressions):
        found = re.search(rf"^{_NAME_VARIABLE.format(i)}:\n\s*\.quad\s+(\S+)", listing, re.MULTILINE)
        if found:
            names[expression] = found[1]
    return names


def _name_variables(expressions: Sequence[str]) -> str:
    lines = [
        f'extern "C" __attribute__((device, used)) auto {_NAME_VARIABLE.format(i)} = (void*)&{expression.lstrip("&")};'
        for i, expression in enumerate(expressions)
    ]
    return "".join("\n" + line for line in lines)


def _options(options: Sequence[str], arch: str) -> list[str]:
    given = [option.replace("--gpu-architecture=", "--offload-arch=") for option in options]
    if not any(option.startswith("--offload-arch=") for option in given):
        given.append(f"--offload-arch={arch}")
    if not any(re.fullmatch(r"-O\w?", option) for option in given):
        given.insert(0, "-O3")
    return given


def _to_listing(main: str, options: list[str], work: pathlib.Path) -> tuple[str, str]:
    include = ["-isystem", str(INCLUDE / "std"), "-include", str(INCLUDE / "hip_prelude.h")]
    log = _run(
        [build.toolchain().zig, "clang", *_FIXED_FLAGS, *include, "-I.", *options, "-S", main, "-o", "k.s"], work
    )
    listing = (work / "k.s").read_text()
    # What a program is compiled with is part of it: a change of our headers must not find old code objects in CuPy's
    # cache.
    return _without_install_path(listing) + f"; emulator {_include_digest()}\n", log


def _without_install_path(listing: str) -> str:
    return listing.replace(str(INCLUDE), "include")


def _include_digest() -> str:
    digest = hashlib.sha256(build.toolchain().version.encode())
    for path in sorted(p for p in INCLUDE.rglob("*") if p.is_file()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _run(command: list[str], folder: pathlib.Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=build.zig_environment(), check=False)
    output = done.stdout + done.stderr
    if done.returncode:
        raise _ToolError(output or f"{command[1]} ended with status {done.returncode}")
    return output


def _count(source: str, name: str) -> None:
    global _compilations
    if "_cupy_preprocess_dummy_kernel_" in source:
        return
    with _lock:
        _compilations += 1
    if path := os.environ.get(COUNT_FILE_VARIABLE):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {name}\n")
