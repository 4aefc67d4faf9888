"""native/*.cpp -> the shared libraries that stand in for ROCm's, built by ziglang at first use into a per-user cache
folder.

A finished folder is complete and never changes: it is filled under a temporary name and renamed. Two processes that
start at once wait for one another at a lock file; a user without file locks builds twice, and the loser of the rename
takes the winner's folder.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from . import elf, wheel

NATIVE = pathlib.Path(__file__).parent / "native"
MAIN_LIBRARY = "libamdhip64.so.7"
# Each library's source folders; what is not listed consists of stubs alone. `extern` names what is exported beyond what
# CuPy asks for.
_FOLDERS = {
    MAIN_LIBRARY: (("exec", "hip"), " emu_*; hip*;"),
    "libhiprtc.so.7": (("hiprtc",), " hiprtc*; emu_hiprtc_*;"),
    "libhipblas.so.3": (("hipblas",), " hipblas*;"),
}
# libc++'s library, compiler-rt and libc are not linked: no exceptions, RTTI, static guards, stack protector calls.
_FLAGS = (
    *("-c", "-fPIC", "-O2", "-std=c++20", "-march=native", "-Wall", "-Wno-unused-command-line-argument"),
    *("-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-sanitize=undefined", "-fno-stack-protector"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
)


class BuildError(RuntimeError):
    """The native part could not be built; the message holds the compiler's output."""


@dataclasses.dataclass(frozen=True)
class Toolchain:
    """The zig executable and its package's version."""

    zig: str
    version: str


def toolchain() -> Toolchain:
    """The installed ziglang. Raises BuildError, naming the extra to install, where there is none."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError("the emulated GPU needs the ziglang package: pip install 'cupygemm[emulator]'")
    return Toolchain(
        str(pathlib.Path(spec.submodule_search_locations[0]) / "zig"), importlib.metadata.version("ziglang")
    )


def cache_root() -> pathlib.Path:
    """Where built libraries lie: $CUPYGEMM_CACHE_DIR, or cupygemm/emulator under the user's cache folder."""
    if chosen := os.environ.get("CUPYGEMM_CACHE_DIR"):
        return pathlib.Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "cupygemm" / "emulator"


def zig_environment() -> dict[str, str]:
    """The environment for running zig: its own caches go where ours are, not into the user's working directory."""
    zig_cache = str(cache_root() / "zig")
    return os.environ | {"ZIG_GLOBAL_CACHE_DIR": zig_cache, "ZIG_LOCAL_CACHE_DIR": zig_cache}


def build() -> pathlib.Path:
    """The folder with every library of ``wheel.LIBRARIES``, built if need be. Raises BuildError."""
    tools = toolchain()
    folder = cache_root() / f"native-{_key(tools)}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _lock(folder.parent / "build.lock"):
        if not folder.is_dir():
            print(
                "cupygemm: building the emulated GPU for this machine (once, up to a minute) ...",
                file=sys.stderr,
                flush=True,
            )
            _build_into(folder, tools)
    return folder


def _key(tools: Toolchain) -> str:
    digest = hashlib.sha256()
    for part in (tools.version, platform.machine(), _cpu_features(), " ".join(_FLAGS), wheel.fingerprint()):
        digest.update(part.encode() + b"\0")
    for path in sorted(
        p for p in [*NATIVE.rglob("*"), pathlib.Path(__file__), pathlib.Path(wheel.__file__)] if p.is_file()
    ):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def _cpu_features() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        return next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return ""


@contextlib.contextmanager
def _lock(path: pathlib.Path) -> Iterator[None]:
    with open(path, "w", encoding="ascii") as file:
        with contextlib.suppress(OSError):  # a file system without locks: the rename decides
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_into(folder: pathlib.Path, tools: Toolchain) -> None:
    work = pathlib.Path(tempfile.mkdtemp(prefix="building-", dir=folder.parent))
    try:
        result = work / "result"
        result.mkdir()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            sources = sorted(NATIVE.rglob("*.cpp"))
            objects = dict(zip(sources, pool.map(lambda source: _compile(source, work, tools), sources), strict=True))
        wanted = wheel.wanted_symbols()
        for library in wheel.LIBRARIES:
            _link(library, objects, [w for w in wanted if w.library == library], work, result / library, tools)
        with contextlib.suppress(OSError):  # another process was first
            result.rename(folder)
        if not folder.is_dir():
            raise BuildError(f"could not move the built libraries to {folder}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _compile(source: pathlib.Path, work: pathlib.Path, tools: Toolchain) -> pathlib.Path:
    """Compiles one file, or takes the object that an earlier build made of the same text and headers."""
    digest = hashlib.sha256(f"{tools.version} {_cpu_features()} {_FLAGS}".encode() + source.read_bytes())
    for header in sorted([*NATIVE.rglob("*.h"), *NATIVE.rglob("*.hpp")] if NATIVE in source.parents else []):
        digest.update(header.read_bytes())
    kept = cache_root() / "objects" / f"{source.stem}-{digest.hexdigest()[:20]}.o"
    if kept.exists():
        return kept
    made = work / f"{source.parent.name}-{source.stem}.o"
    _run([tools.zig, "c++", *_FLAGS, f"-I{NATIVE}", str(source), "-o", str(made)])
    kept.parent.mkdir(exist_ok=True)
    os.replace(made, kept)
    return kept


def _link(
    library: str,
    objects: dict[pathlib.Path, pathlib.Path],
    wanted: list[wheel.Wanted],
    work: pathlib.Path,
    out: pathlib.Path,
    tools: Toolchain,
) -> None:
    folders, exported = _FOLDERS.get(library, ((), ""))
    own = [made for source, made in objects.items() if source.parent.name in folders]
    if own:
        own.append(objects[NATIVE / "support.cpp"])
    defined = {
        symbol.name for path in own for symbol in elf.Elf(path.read_bytes()).symbols(elf.SHT_SYMTAB) if symbol.section
    }
    stubs = work / f"stubs-{library}.cpp"
    stubs.write_text(wheel.stub_source(wanted, defined))
    script = work / f"{library}.map"
    script.write_text(wheel.version_script(wanted, exported))
    needed = [] if library == MAIN_LIBRARY else [str(out.parent / MAIN_LIBRARY)]
    _run(
        [
            tools.zig,
            "ld.lld",
            "-shared",
            "-z",
            "now",
            "-soname",
            library,
            "--version-script",
            str(script),
            "--undefined-version",
            *map(str, own),
            str(_compile(stubs, work, tools)),
            *needed,
            "-o",
            str(out),
        ]
    )


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env=zig_environment(), check=False)
    if done.returncode:
        raise BuildError(f"building the emulated GPU failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
