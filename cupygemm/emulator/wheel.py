"""What the installed CuPy wants of the ROCm libraries: their sonames, symbols and version nodes, read from its
extension modules.

The stand-in libraries are generated to fit: version scripts from the nodes asked for, and a stub for every function
that the emulator does not have, which names itself and returns the library's error status for "not supported".
"""

from __future__ import annotations

import dataclasses
import importlib.util
import pathlib

from . import elf

# Prefix of a symbol -> the library that has it and what a stub returns: hipErrorNotSupported,
# HIPBLAS_STATUS_NOT_SUPPORTED, or the nearest status that CuPy has a name for (HIPRAND_STATUS_ARCH_MISMATCH).
_OWNERS = (
    ("hipblas", "libhipblas.so.3", 7),
    ("hipfft", "libhipfft.so.0", 14),
    ("hiprand", "libhiprand.so.1", 204),
    ("hipsparse", "libhipsparse.so.4", 10),
    ("nccl", "librccl.so.1", 5),
    ("rocblas", "librocblas.so.5", 2),
    ("rocsolver", "librocsolver.so.0", 2),
    ("roctracer", "libroctracer64.so.4", 0),
    ("roctx", "libroctx64.so.4", 0),
    ("__hip", "libamdhip64.so.7", 801),
    ("hip", "libamdhip64.so.7", 801),
)
# The one that the others need comes first.
LIBRARIES = tuple(
    dict.fromkeys(["libamdhip64.so.7", "libhiprtc.so.7", "librocfft.so.0", *(owner for _, owner, _ in _OWNERS)])
)


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A symbol, the version node it is asked for under ('' for none), its library, and the status a stub of it
    returns."""

    name: str
    version: str
    library: str
    status: int


def extension_modules() -> list[pathlib.Path]:
    """The extension modules of the installed CuPy; empty where it is not installed. CuPy itself is not imported."""
    found: list[pathlib.Path] = []
    for package in ("cupy", "cupy_backends", "cupyx"):
        spec = importlib.util.find_spec(package)
        for folder in spec.submodule_search_locations or () if spec else ():
            found += pathlib.Path(folder).rglob("*.so")
    return sorted(found)


def fingerprint() -> str:
    """Tells one installed CuPy from another."""
    return " ".join(f"{path.name}:{path.stat().st_size}" for path in extension_modules())


def wanted_symbols() -> list[Wanted]:
    """Every symbol of a ROCm library that the extension modules leave undefined, by name."""
    wanted = set()
    for path in extension_modules():
        for symbol in elf.Elf(path.read_bytes()).symbols():
            owner = next((o for o in _OWNERS if symbol.name.startswith(o[0])), None)
            if symbol.section == 0 and owner:
                wanted.add(Wanted(symbol.name, symbol.version, owner[1], owner[2]))
    return sorted(wanted, key=lambda w: w.name)


def stub_source(wanted: list[Wanted], defined: set[str]) -> str:
    """C++ text of stubs for what is wanted and not in ``defined``."""
    lines = ['extern "C" void emu_unsupported(const char* function);']
    for symbol in wanted:
        if symbol.name in defined:
            continue
        if symbol.name.endswith("GetErrorString"):
            lines.append(f'extern "C" const char* {symbol.name}(...) {{ return "not supported on an emulated GPU"; }}')
        elif symbol.status:
            lines.append(
                f'extern "C" int {symbol.name}(...) {{ emu_unsupported("{symbol.name}"); return {symbol.status}; }}'
            )
        else:
            lines.append(f'extern "C" int {symbol.name}(...) {{ return 0; }}')
    return "\n".join(lines) + "\n"


def version_script(wanted: list[Wanted], also: str) -> str:
    """The linker's version script: wanted symbols under their nodes, oldest first; ``also`` (patterns) is exported
    without care for one."""
    nodes: dict[str, list[str]] = {}
    for symbol in wanted:
        nodes.setdefault(symbol.version, []).append(symbol.name)
    plain = nodes.pop("", [])
    exported = "".join(f" {name};" for name in plain) + also
    if not nodes:
        return f"{{ global:{exported} local: *; }};\n"
    script, previous = "", ""
    for version in sorted(nodes):
        script += f"{version} {{ global:{''.join(f' {name};' for name in nodes[version])} }}{previous};\n"
        previous = f" {version}"
    return script + f"EMULATOR_1 {{ global:{exported} local: *; }}{previous};\n"
