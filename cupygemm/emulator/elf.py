"""Reads 64-bit little-endian ELF files: sections, symbols with their versions, relocations and notes.

Layouts are those of the System V ABI (gABI 4.1, chapter 4) and, for symbol versions, of the Linux Standard Base (LSB
5.0, chapter 10.7).
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator

SHT_SYMTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 4, 7, 8, 11
SHT_GNU_VERNEED, SHT_GNU_VERSYM = 0x6FFFFFFE, 0x6FFFFFFF
SHF_ALLOC = 2
PT_LOAD = 1


@dataclasses.dataclass(frozen=True)
class Section:
    """A section header (gABI figure 4-8)."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int


@dataclasses.dataclass(frozen=True)
class Symbol:
    """``section`` is 0 where the file only asks for the symbol; ``version`` is then the version node it asks for, or
    ''."""

    name: str
    value: int
    size: int
    type: int
    section: int
    version: str = ""


@dataclasses.dataclass(frozen=True)
class Relocation:
    """An entry of a RELA section; ``symbol`` indexes the dynamic symbol table."""

    offset: int
    type: int
    symbol: int
    addend: int


@dataclasses.dataclass(frozen=True)
class Segment:
    """A program header (gABI figure 5-1)."""

    type: int
    offset: int
    address: int
    file_size: int
    memory_size: int


class Elf:
    """One ELF file in memory. Raises ValueError where ``data`` is none."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self.data = data
        self.machine, self.flags = struct.unpack_from("<H", data, 18)[0], struct.unpack_from("<I", data, 48)[0]
        phoff, shoff = struct.unpack_from("<QQ", data, 32)
        phentsize, phnum, shentsize, shnum, shstrndx = struct.unpack_from("<HHHHH", data, 54)
        if shoff + shentsize * shnum > len(data):
            raise ValueError(
                f"ELF file cut short: section headers end at {shoff + shentsize * shnum}, file at {len(data)}"
            )
        self.segments = [self._segment(phoff + i * phentsize) for i in range(phnum)]
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize) for i in range(shnum)]
        names = raw[shstrndx][4] if shnum else 0
        self.sections = [Section(self._string(names + r[0]), r[1], r[2], r[3], r[4], r[5], r[6], r[9]) for r in raw]

    def _segment(self, at: int) -> Segment:
        type_, _, offset, address, _, file_size, memory_size, _ = struct.unpack_from("<IIQQQQQQ", self.data, at)
        return Segment(type_, offset, address, file_size, memory_size)

    def _string(self, at: int) -> str:
        return self.data[at : self.data.index(b"\0", at)].decode()

    def section(self, name: str) -> Section | None:
        return next((s for s in self.sections if s.name == name), None)

    def content(self, section: Section) -> bytes:
        return b"" if section.type == SHT_NOBITS else self.data[section.offset : section.offset + section.size]

    def symbols(self, type_: int = SHT_DYNSYM) -> list[Symbol]:
        """The entries of the symbol table of this type, the empty first one included, so that relocations can index
        it."""
        table = next((s for s in self.sections if s.type == type_), None)
        if table is None:
            return []
        versions = self._versions() if type_ == SHT_DYNSYM else []
        found = []
        for i in range(table.size // 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, table.offset + 24 * i)
            text = self._string(self.sections[table.link].offset + name)
            found.append(Symbol(text, value, size, info & 15, section, versions[i] if versions else ""))
        return found

    def _versions(self) -> list[str]:
        versym = next((s for s in self.sections if s.type == SHT_GNU_VERSYM), None)
        if versym is None:
            return []
        names = {}
        need = next((s for s in self.sections if s.type == SHT_GNU_VERNEED), None)
        at = need.offset if need else 0
        while need:
            _, count, _, aux, following = struct.unpack_from("<HHIII", self.data, at)
            entry = at + aux
            for _ in range(count):
                _, _, index, name, next_entry = struct.unpack_from("<IHHII", self.data, entry)
                names[index] = self._string(self.sections[need.link].offset + name)
                entry += next_entry
            if not following:
                break
            at += following
        indices = struct.unpack_from(f"<{versym.size // 2}H", self.data, versym.offset)
        return [names.get(i & 0x7FFF, "") for i in indices]

    def relocations(self) -> Iterator[Relocation]:
        for table in self.sections:
            if table.type != SHT_RELA:
                continue
            for i in range(table.size // 24):
                offset, info, addend = struct.unpack_from("<QQq", self.data, table.offset + 24 * i)
                yield Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend)

    def notes(self) -> Iterator[tuple[str, int, bytes]]:
        """(owner, type, content) of every note."""
        for table in self.sections:
            at = table.offset
            while table.type == SHT_NOTE and at < table.offset + table.size:
                name_size, size, type_ = struct.unpack_from("<III", self.data, at)
                owner = self.data[at + 12 : at + 12 + name_size].rstrip(b"\0").decode()
                content = at + 12 + (name_size + 3) // 4 * 4
                yield owner, type_, self.data[content : content + size]
                at = content + (size + 3) // 4 * 4
