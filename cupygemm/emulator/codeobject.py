"""A code object: its ELF file, the kernels that its metadata note describes, its symbols, and the listing inside it.

Formats: LLVM's "User Guide for AMDGPU Backend", sections on ELF code objects (e_flags), code object V3 and later
metadata, and kernel descriptors.
"""

from __future__ import annotations

import dataclasses
import struct
import zlib
from typing import Any

from . import compiler, elf, messagepack

_NT_AMDGPU_METADATA = 32
_EF_AMDGPU_MACH = {
    0x3F: "gfx90a",
    0x4C: "gfx942",
    0x4F: "gfx950",
    0x41: "gfx1100",
    0x46: "gfx1101",
    0x47: "gfx1102",
    0x44: "gfx1103",
    0x43: "gfx1150",
    0x4A: "gfx1151",
    0x55: "gfx1152",
    0x58: "gfx1153",
    0x48: "gfx1200",
    0x4E: "gfx1201",
}
_R_AMDGPU_ABS64, _R_AMDGPU_RELATIVE64 = 3, 13
_STT_OBJECT = 1


@dataclasses.dataclass(frozen=True)
class Argument:
    """One entry of a kernel's argument list: offset and size in bytes; ``kind`` is the metadata's value kind."""

    offset: int
    size: int
    kind: str


@dataclasses.dataclass(frozen=True)
class KernelMetadata:
    """What the note says of a kernel: sizes in bytes, registers a lane, the largest workgroup it may have."""

    name: str
    arguments: tuple[Argument, ...]
    kernarg_bytes: int
    lds_bytes: int
    private_bytes: int
    vgprs: int
    agprs: int
    sgprs: int
    max_block: int
    wave_size: int


@dataclasses.dataclass(frozen=True)
class CodeObject:
    """``image`` is the loaded image from address 0, before relocation; ``relocations`` are (offset in it, image address
    stored there).

    ``symbols`` gives image address and size of every defined symbol, kernel descriptors (``name.kd``) included;
    ``variables`` are those of them that are data. ``got`` maps a symbol to the image address of its slot in the global
    offset table. ``listing`` is empty where the code object carries none, as one built by hipcc.
    """

    arch: str
    kernels: tuple[KernelMetadata, ...]
    image: bytes
    relocations: tuple[tuple[int, int], ...]
    symbols: dict[str, tuple[int, int]]
    variables: tuple[str, ...]
    got: dict[str, int]
    listing: str


def parse(data: bytes) -> CodeObject:
    """Reads an AMDGPU code object. Raises ValueError where it is none, or one for an arch or with a relocation that is
    not known."""
    try:
        return _parse(data)
    except (struct.error, IndexError, KeyError, zlib.error) as error:
        raise ValueError(f"the code object is damaged ({type(error).__name__}: {error})") from error


def _parse(data: bytes) -> CodeObject:
    file = elf.Elf(data)
    mach = file.flags & 0xFF
    if file.machine != 224:
        raise ValueError(f"an ELF file for machine {file.machine}, not an AMDGPU code object (224)")
    if mach not in _EF_AMDGPU_MACH:
        raise ValueError(f"a code object for an unknown processor (EF_AMDGPU_MACH 0x{mach:x})")
    symbols = file.symbols(elf.SHT_SYMTAB) or file.symbols()
    defined = {s.name: (s.value, s.size) for s in symbols if s.name and s.section not in (0, 0xFFF1)}
    relocations = tuple((r.offset, _relocated(file, r)) for r in file.relocations())
    return CodeObject(
        arch=_EF_AMDGPU_MACH[mach],
        kernels=tuple(_kernel(k) for k in _metadata(file).get("amdhsa.kernels", ())),
        image=_image(file),
        relocations=relocations,
        symbols=defined,
        variables=tuple(
            s.name
            for s in symbols
            if s.type == _STT_OBJECT and s.section and not s.name.startswith((".", "__hip_cuid"))
        ),
        got=_got(file, relocations, defined),
        listing=_listing(file),
    )


def _metadata(file: elf.Elf) -> dict[str, Any]:
    for _, type_, content in file.notes():
        if type_ == _NT_AMDGPU_METADATA:
            return messagepack.unpack(content)
    raise ValueError("the code object has no metadata note")


def _kernel(entry: dict[str, Any]) -> KernelMetadata:
    arguments = tuple(Argument(a[".offset"], a[".size"], a[".value_kind"]) for a in entry.get(".args", ()))
    return KernelMetadata(
        name=entry[".name"],
        arguments=arguments,
        kernarg_bytes=entry[".kernarg_segment_size"],
        lds_bytes=entry[".group_segment_fixed_size"],
        private_bytes=entry[".private_segment_fixed_size"],
        vgprs=entry[".vgpr_count"],
        agprs=entry.get(".agpr_count", 0),
        sgprs=entry[".sgpr_count"],
        max_block=entry[".max_flat_workgroup_size"],
        wave_size=entry[".wavefront_size"],
    )


def _image(file: elf.Elf) -> bytes:
    loads = [s for s in file.segments if s.type == elf.PT_LOAD]
    image = bytearray(max((s.address + s.memory_size for s in loads), default=0))
    for segment in loads:
        image[segment.address : segment.address + segment.file_size] = file.data[
            segment.offset : segment.offset + segment.file_size
        ]
    return bytes(image)


def _relocated(file: elf.Elf, relocation: elf.Relocation) -> int:
    if relocation.type == _R_AMDGPU_RELATIVE64:
        return relocation.addend
    if relocation.type == _R_AMDGPU_ABS64:
        symbol = file.symbols()[relocation.symbol]
        if symbol.section:
            return symbol.value + relocation.addend
        raise ValueError(f"undefined symbol {symbol.name} in the code object")
    raise ValueError(f"relocation type {relocation.type} in the code object is not known")


def _got(
    file: elf.Elf, relocations: tuple[tuple[int, int], ...], symbols: dict[str, tuple[int, int]]
) -> dict[str, int]:
    section = file.section(".got")
    if section is None:
        return {}
    names = {value: name for name, (value, _) in symbols.items()}
    inside = [(at, to) for at, to in relocations if section.address <= at < section.address + section.size]
    return {names[to]: at for at, to in inside if to in names}


def _listing(file: elf.Elf) -> str:
    section = file.section(compiler.LISTING_SECTION)
    return zlib.decompress(file.content(section)).decode() if section else ""


def relocate(code: CodeObject, base: int) -> bytes:
    """The image as it lies in memory at ``base``."""
    image = bytearray(code.image)
    for at, to in code.relocations:
        struct.pack_into("<Q", image, at, base + to)
    return bytes(image)
