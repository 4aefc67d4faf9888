"""Assembly text of clang's AMDGPU back end -> instructions, labels, source lines and kernel directives.

Input is what ``clang -S`` prints, or bare instructions without any directive. Nothing here knows an opcode: operands
are classified by their spelling alone, and what they mean to an instruction is decided in program.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

#: Registers by name -> (file, first, dwords). Numbers above 105 are the executor's own (native/exec/machine.hpp, Sgpr).
_NAMED_REGISTERS = {
    "vcc": ("s", 106, 2),
    "vcc_lo": ("s", 106, 1),
    "vcc_hi": ("s", 107, 1),
    "exec": ("s", 126, 2),
    "exec_lo": ("s", 126, 1),
    "exec_hi": ("s", 127, 1),
    "m0": ("s", 124, 1),
    "flat_scratch": ("s", 102, 2),
    "flat_scratch_lo": ("s", 102, 1),
    "flat_scratch_hi": ("s", 103, 1),
    "xnack_mask": ("s", 104, 2),
    "xnack_mask_lo": ("s", 104, 1),
    "xnack_mask_hi": ("s", 105, 1),
}
_TTMP0 = 108
_SPECIALS = frozenset(
    [
        "null",
        "off",
        "scc",
        "vccz",
        "execz",
        "src_scc",
        "src_vccz",
        "src_execz",
        "src_shared_base",
        "src_shared_limit",
        "src_private_base",
        "src_private_limit",
        "src_shared_base_lo",
        "src_private_base_lo",
    ]
)
_REGISTER = re.compile(r"(v|s|a|ttmp)(?:(\d+)|\[(\d+)(?::(\d+))?\])(\.[lh])?$")
_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)$")
_FLOAT = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?$")
_LABEL = re.compile(r"\.?[A-Za-z_$][\w.$]*$")
_SYMBOL = re.compile(r"([.\w$]+)@(\w+(?:@\w+)?)(?:([+-]\d+))?$")
_MODIFIER = re.compile(r"[a-z_][a-z_0-9]*(?::.*)?$", re.DOTALL)
_WORD_MODIFIERS = frozenset(
    [
        "glc",
        "slc",
        "dlc",
        "scc",
        "sc0",
        "sc1",
        "nt",
        "nv",
        "gds",
        "lds",
        "tfe",
        "offen",
        "idxen",
        "addr64",
        "clamp",
        "row_mirror",
        "row_half_mirror",
        "scale_offset",
        "wait_exp",
        "done",
        "vm",
        "compr",
        "r128",
        "a16",
        "d16",
        "unorm",
        "da",
        "lwe",
        "high",
        "row_en",
    ]
)
#: Instructions whose operand is one expression, blanks and all.
_RAW_OPERAND = ("s_waitcnt", "s_wait_", "s_delay_alu", "s_sendmsg", "s_setprio", "s_barrier_signal", "s_barrier_wait")


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand as written.

    kind: ``v``, ``a``, ``s`` (register files; ``first`` and ``dwords`` say which), ``int``, ``float``, ``special``
    (``name``), ``label`` (``name``), ``symbol`` (``name``, ``relocation``, ``value`` = addend) or ``text`` (``name``:
    an expression).
    """

    kind: str
    first: int = 0
    dwords: int = 1
    value: int = 0
    number: float = 0.0
    name: str = ""
    relocation: str = ""
    neg: bool = False
    abs: bool = False
    sext: bool = False
    half: str = ""  #: "l" or "h" where the half of a register was named


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction. ``line`` counts from 0 in the listing; ``dual`` is the second half of a VOPD pair."""

    line: int
    mnemonic: str
    operands: tuple[Operand, ...]
    modifiers: tuple[tuple[str, str], ...] = ()
    source: tuple[int, int] = (0, 0)  #: (file number, line) of the .loc in force; line 0: none
    dual: Statement | None = None


@dataclass(slots=True)
class Listing:
    """A parsed listing. Labels and functions give the index of the statement that follows them."""

    lines: list[str]
    statements: list[Statement] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    functions: dict[str, tuple[int, int]] = field(default_factory=dict)  #: name -> (first, end)
    directives: dict[str, dict[str, str]] = field(default_factory=dict)  #: kernel -> .amdhsa_ name -> value
    symbols: dict[str, str] = field(default_factory=dict)  #: .set name -> expression
    files: dict[int, str] = field(default_factory=dict)  #: .file number -> path as written
    target: str = ""  #: "gfx1201" and so on, "" if the listing does not say
    metadata: str = ""  #: YAML between .amdgpu_metadata and its end


def _split(text: str, separator: str) -> list[str]:
    """Splits at ``separator`` outside of brackets, parentheses and quotes; drops empty pieces."""
    pieces, depth, start, quoted = [], 0, 0, False
    for at, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif c in "[(":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == separator and depth == 0:
            pieces.append(text[start:at])
            start = at + 1
    pieces.append(text[start:])
    return [p.strip() for p in pieces if p.strip()]


def _register(text: str) -> Operand | None:
    if text in _NAMED_REGISTERS:
        file, first, dwords = _NAMED_REGISTERS[text]
        return Operand(file, first=first, dwords=dwords, name=text)
    match = _REGISTER.match(text)
    if match:
        file, single, low, high, half = match.groups()
        first = int(single if single is not None else low)
        dwords = int(high) - first + 1 if high is not None else 1
        if file == "ttmp":
            file, first = "s", first + _TTMP0
        return Operand(file, first=first, dwords=dwords, half=half[1:] if half else "", name=text)
    if text.startswith("[") and text.endswith("]"):
        parts = [_register(p) for p in _split(text[1:-1], ",")]
        if parts and all(p is not None for p in parts):
            head = parts[0]
            assert head is not None
            return Operand(head.kind, first=head.first, dwords=sum(p.dwords for p in parts if p), name=text)
    return None


@lru_cache(maxsize=1 << 16)
def parse_operand(text: str) -> Operand | None:
    """Classifies one operand; None if it looks like none (a modifier, for instance)."""
    neg = absolute = sext = False
    inner = text
    if inner.startswith("-") and not _INTEGER.match(inner) and not _FLOAT.match(inner):
        neg, inner = True, inner[1:]
    for name in ("neg", "abs", "sext", "lit", "lit64"):
        if inner.startswith(name + "(") and inner.endswith(")"):
            neg, absolute, sext = neg or name == "neg", absolute or name == "abs", sext or name == "sext"
            inner = inner[len(name) + 1 : -1].strip()
    if inner.startswith("|") and inner.endswith("|"):
        absolute, inner = True, inner[1:-1]
    register = _register(inner)
    if register:
        return Operand(
            register.kind,
            register.first,
            register.dwords,
            name=register.name,
            neg=neg,
            abs=absolute,
            sext=sext,
            half=register.half,
        )
    if _INTEGER.match(inner):
        return Operand("int", value=int(inner, 0), neg=neg, abs=absolute, sext=sext)
    if _FLOAT.match(inner):
        return Operand("float", number=float(inner), neg=neg, abs=absolute, sext=sext)
    if inner in _SPECIALS:
        return Operand("special", name=inner, neg=neg, abs=absolute)
    match = _SYMBOL.match(inner)
    if match:
        return Operand("symbol", name=match[1], relocation=match[2], value=int(match[3] or 0))
    if re.match(r"(hwreg|sendmsg|msg|gpr_idx)\(", inner):
        return Operand("text", name=inner)
    if inner.startswith((".L", "BB")) and _LABEL.match(inner):
        return Operand("label", name=inner)
    return None


def _parse_modifier(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name, value


def _parse_instruction(text: str, line: int, source: tuple[int, int]) -> Statement:
    mnemonic, _, rest = text.strip().partition(" ")
    mnemonic, _, tail = mnemonic.partition("\t")
    rest = (tail + " " + rest).strip()
    if mnemonic.startswith(_RAW_OPERAND):
        pieces = _split(rest, ",")
        raw = tuple(parse_operand(p) or Operand("text", name=p) for p in pieces)
        return Statement(line, mnemonic, raw, source=source)
    operands: list[Operand] = []
    modifiers: list[tuple[str, str]] = []
    for piece in _split(rest, ","):
        for n, token in enumerate(_split(piece, " ")):
            # After a comma, "a16" is the register; as a further word, the modifier.
            word = token in _WORD_MODIFIERS and operands and (n or token != "a16")
            operand = None if word else parse_operand(token)
            if operand is not None and not modifiers:
                operands.append(operand)
            elif _MODIFIER.match(token) and (":" in token or token in _WORD_MODIFIERS):
                modifiers.append(_parse_modifier(token))
            elif _LABEL.match(token) and not modifiers:
                operands.append(Operand("label", name=token))
            else:
                raise ValueError(f"line {line + 1}: cannot read {token!r} in {text.strip()!r}")
    return Statement(line, mnemonic, tuple(operands), tuple(modifiers), source)


def _statement(text: str, line: int, source: tuple[int, int]) -> Statement:
    first, _, second = text.partition(" :: ")
    statement = _parse_instruction(first, line, source)
    if not second:
        return statement
    dual = _parse_instruction(second, line, source)
    return Statement(line, statement.mnemonic, statement.operands, statement.modifiers, source, dual)


def _strip_comment(line: str) -> str:
    """Comments begin with ``;`` or ``//``; a quoted string keeps either."""
    if '"' in line:
        return line.rstrip()
    return line.split(";", 1)[0].split("//", 1)[0].rstrip()


class _Parser:
    """State while the lines go by: section, source location, kernel descriptor being read."""

    def __init__(self, text: str) -> None:
        self.listing = Listing(lines=text.split("\n"))
        self.in_text = True
        self.source = (0, 0)
        self.descriptor: dict[str, str] | None = None
        self.function_names: set[str] = set()
        self.open_function: str | None = None

    def run(self) -> Listing:
        for number, line in self._code_lines():
            label, text = self._take_label(line)
            if label is not None:
                self._label(label)
            if not text:
                continue
            if text.startswith("."):
                self._directive(text)
            elif self.in_text:
                self.listing.statements.append(_statement(text, number, self.source))
        self._close_function()
        return self.listing

    def _code_lines(self) -> Iterator[tuple[int, str]]:
        metadata: list[str] | None = None
        for number, raw in enumerate(self.listing.lines):
            stripped = raw.strip()
            if stripped == ".amdgpu_metadata":
                metadata = []
            elif stripped == ".end_amdgpu_metadata":
                self.listing.metadata = "\n".join(metadata or ())
                metadata = None
            elif metadata is not None:
                metadata.append(raw)
            else:
                line = _strip_comment(raw)
                if line:
                    yield number, line

    @staticmethod
    def _take_label(line: str) -> tuple[str | None, str]:
        match = re.match(r"\s*([.\w$]+):(?!\S)\s*", line)
        if match:
            return match[1], line[match.end() :].strip()
        return None, line.strip()

    def _label(self, name: str) -> None:
        if not self.in_text:
            return
        at = len(self.listing.statements)
        self.listing.labels[name] = at
        if name in self.function_names:
            self._close_function()
            self.open_function = name
            self.listing.functions[name] = (at, at)
        elif name.startswith(".Lfunc_end"):
            self._close_function()

    def _close_function(self) -> None:
        if self.open_function:
            first, _ = self.listing.functions[self.open_function]
            self.listing.functions[self.open_function] = (first, len(self.listing.statements))
            self.open_function = None

    def _directive(self, text: str) -> None:
        name, _, rest = text.partition(" ") if "\t" not in text.split(" ")[0] else text.partition("\t")
        rest = rest.strip()
        if name == ".text":
            self.in_text = True
        elif name in (".section", ".data", ".bss", ".rodata"):
            self.in_text = rest.startswith(".text")
        elif name == ".type" and "@function" in rest:
            self.function_names.add(rest.split(",")[0].strip())
        elif name == ".loc":
            parts = rest.split()
            self.source = (int(parts[0]), int(parts[1]))
        elif name == ".file":
            self._file(rest)
        elif name == ".set":
            symbol, _, value = rest.partition(",")
            self.listing.symbols[symbol.strip()] = value.strip()
        elif name == ".amdgcn_target":
            self.listing.target = rest.strip('"').rpartition("--")[2].split(":")[0]
        elif name == ".amdhsa_kernel":
            self.descriptor = self.listing.directives.setdefault(rest, {})
        elif name == ".end_amdhsa_kernel":
            self.descriptor = None
        elif name.startswith(".amdhsa_") and self.descriptor is not None:
            self.descriptor[name.removeprefix(".amdhsa_")] = rest

    def _file(self, rest: str) -> None:
        match = re.match(r'(\d+)\s+(?:"([^"]*)"\s+)?"([^"]*)"', rest)
        if match:
            self.listing.files[int(match[1])] = match[3]


def parse_listing(text: str) -> Listing:
    """Parses assembly text. Raises ValueError naming the line where an instruction cannot be read."""
    return _Parser(text).run()
