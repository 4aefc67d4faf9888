"""Operands and modifiers of one statement -> the bytes of one executor instruction (native/exec/machine.hpp, Insn)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from .listing import Operand, Statement
from .values import encode_constant, encode_swizzle, encode_text

_HEADER = struct.Struct("<QQHBBBBBBIBBBBBBBBiiII4xQ")
_OPERAND = struct.Struct("<BBBBHHQ")
MAX_DST, MAX_SRC = 2, 6
INSN_BYTES = _HEADER.size + (MAX_DST + MAX_SRC) * _OPERAND.size
_NO_OPERAND = _OPERAND.pack(0, 0, 0, 0, 0, 0, 0)

# enum Kind
_NONE, _VGPR, _SGPR, _CONST, _NULL, _SCC, _VCCZ, _EXECZ, _LABEL = range(9)
# enum OperandMod
_NEG, _ABS, _SEXT, _HIGH = 1, 2, 4, 8
AGPR0 = 256

# High halves of flat addresses in LDS and in the private segment (native/exec/memory.hpp).
_SHARED_BASE, _PRIVATE_BASE = 0x10000000 << 32, 0x20000000 << 32
_SPECIAL_VALUES = {
    "src_shared_base": _SHARED_BASE,
    "src_shared_limit": _SHARED_BASE | 0xFFFFFFFF,
    "src_private_base": _PRIVATE_BASE,
    "src_private_limit": _PRIVATE_BASE | 0xFFFFFFFF,
    "src_shared_base_lo": 0,
    "src_private_base_lo": 0,
}
_SPECIAL_KINDS = {
    "null": _NULL,
    "off": _NULL,
    "scc": _SCC,
    "src_scc": _SCC,
    "vccz": _VCCZ,
    "src_vccz": _VCCZ,
    "execz": _EXECZ,
    "src_execz": _EXECZ,
}

# enum InsnFlag
FLAGS = {
    "clamp": 1 << 0,
    "glc": 1 << 1,
    "lds": 1 << 2,
    "offen": 1 << 3,
    "idxen": 1 << 4,
    "gds": 1 << 5,
    "scale_offset": 1 << 12,
    "sc0": 1 << 15 | 1 << 1,
    "sc1": 1 << 16,
    "nt": 1 << 17,
    "nv": 1 << 18,
    "slc": 1 << 19,
    "dlc": 1 << 20,
    "scc": 1 << 16,
}
_BOUND_CTRL, _FETCH_INACTIVE, _DUAL_X, _DUAL_Y = 1 << 6, 1 << 7, 1 << 8, 1 << 9
_SDWA_PRESERVE, _SDWA_SEXT, _OP_SEL_GIVEN, _HIGH_GIVEN, _BY_DECODER = 1 << 10, 1 << 11, 1 << 13, 1 << 21, 1 << 22

# enum Dpp
_DPP = {
    "quad_perm": 1,
    "row_shl": 2,
    "row_shr": 3,
    "row_ror": 4,
    "wave_shl": 5,
    "wave_rol": 6,
    "wave_shr": 7,
    "wave_ror": 8,
    "row_mirror": 9,
    "row_half_mirror": 10,
    "row_share": 13,
    "row_newbcast": 13,
    "row_xmask": 14,
    "dpp8": 15,
}
_SDWA = {"DWORD": 0, "BYTE_0": 1, "BYTE_1": 2, "BYTE_2": 3, "BYTE_3": 4, "WORD_0": 5, "WORD_1": 6}
_HALF_TYPES = frozenset(("b16", "i16", "u16", "f16", "bf16"))
_PACKED_TYPES = frozenset(("pf16", "pbf16", "pi16", "pf32", "pi32"))

_IMPLIED = {
    "vcc": Operand("s", first=106, dwords=2, name="vcc"),
    "exec": Operand("s", first=126, dwords=2, name="exec"),
    "scc": Operand("special", name="scc"),
}


@dataclass(frozen=True, slots=True)
class Signature:
    """An opcode's signature, parsed: types, and which sources the text leaves out (by position)."""

    dst: tuple[str, ...]
    src: tuple[str, ...]
    implied: tuple[str, ...]

    @property
    def written_operands(self) -> int:
        return len(self.dst) + sum(not i for i in self.implied)


def parse_signature(text: str) -> Signature:
    """``"f32=f32,f32,f32@dst"`` -> Signature."""
    dst, _, src = text.partition("=")
    sources = [s.partition("@") for s in src.split(",") if s]
    return Signature(tuple(d for d in dst.split(",") if d), tuple(s[0] for s in sources), tuple(s[2] for s in sources))


@dataclass(slots=True)
class Fields:
    """The instruction under construction; names are those of struct Insn."""

    op: int = 0
    dst: list[bytes] = field(default_factory=list)
    src: list[bytes] = field(default_factory=list)
    omod: int = 0
    dpp: int = 0
    row_mask: int = 15
    bank_mask: int = 15
    dpp_ctrl: int = 0
    op_sel: int = 0
    op_sel_hi: int = 0
    neg_lo: int = 0
    neg_hi: int = 0
    cbsz: int = 0
    abid: int = 0
    blgp: int = 0
    bitop3: int = 0
    offset: int = 0
    offset1: int = 0
    flags: int = 0
    line: int = 0
    waits: int = 0xFFFFFFFFFFFFFFFF
    reads: set[int] = field(default_factory=set)  #: VGPRs, for ordering VOPD pairs
    writes: set[int] = field(default_factory=set)

    def pack(self) -> bytes:
        head = _HEADER.pack(
            0,
            0,
            self.op,
            len(self.dst),
            len(self.src),
            self.omod,
            self.dpp,
            self.row_mask,
            self.bank_mask,
            self.dpp_ctrl,
            self.op_sel,
            self.op_sel_hi,
            self.neg_lo,
            self.neg_hi,
            self.cbsz,
            self.abid,
            self.blgp,
            self.bitop3,
            self.offset,
            self.offset1,
            self.flags,
            self.line,
            self.waits,
        )
        dst = self.dst + [_NO_OPERAND] * (MAX_DST - len(self.dst))
        src = self.src + [_NO_OPERAND] * (MAX_SRC - len(self.src))
        return head + b"".join(dst) + b"".join(src)


#: Address of a label or symbol: (operand) -> value.
Resolver = Callable[[Operand], int]


def _encode_operand(operand: Operand, type_name: str, sdwa: int, high: bool, resolve: Resolver) -> bytes:
    mods = operand.neg * _NEG | operand.abs * _ABS | operand.sext * _SEXT
    if operand.half == "h" or high:
        mods |= _HIGH
    kind, register, value = _CONST, 0, 0
    if operand.kind in "vas":
        kind = _SGPR if operand.kind == "s" else _VGPR
        register = operand.first + (AGPR0 if operand.kind == "a" else 0)
    elif operand.kind in ("int", "float"):
        value = encode_constant(operand, type_name)
    elif operand.kind == "special":
        kind, value = _SPECIAL_KINDS.get(operand.name, _CONST), _SPECIAL_VALUES.get(operand.name, 0)
    elif operand.kind == "text":
        value = encode_text(operand.name)
    elif operand.kind in ("label", "symbol"):
        kind, value = (_LABEL if operand.kind == "label" else _CONST), resolve(operand)
    return _OPERAND.pack(kind, operand.dwords, mods, sdwa, register, 0, value)


def _bit_list(text: str) -> list[int]:
    return [int(x, 0) for x in text.strip("[]").split(",")]


def _bits(text: str) -> int:
    return sum((x & 1) << n for n, x in enumerate(_bit_list(text)))


class _Modifiers:
    """Applies the modifiers of one statement to Fields."""

    def __init__(self, fields: Fields, signature: Signature) -> None:
        self.fields, self.signature = fields, signature
        self.dst_sdwa = 0
        self.src_sdwa = [0] * MAX_SRC
        self.high: set[int] = set()  #: sources whose high half op_sel names
        self.dst_high = False
        self.neg: set[int] = set()
        packed = any(t in _PACKED_TYPES for t in signature.src)
        fields.op_sel_hi = (1 << len(signature.src)) - 1 if packed else 0

    def apply(self, name: str, value: str) -> None:
        f = self.fields
        handler = getattr(self, "_" + name, None)
        if handler is not None:
            handler(value)
        elif name in FLAGS:
            f.flags |= FLAGS[name]
        elif name in _DPP:
            self._dpp(name, value)
        elif name in ("cbsz", "abid", "blgp", "bitop3", "row_mask", "bank_mask"):
            setattr(f, name, int(value, 0))
        elif name in ("neg_lo", "neg_hi", "op_sel_hi"):
            setattr(f, name, _bits(value))
            f.flags |= _OP_SEL_GIVEN
        elif name not in ("scope", "wait_exp", "wait_va_vdst", "done", "vm", "format", "wait_vdst"):
            raise ValueError(f"unknown modifier {name!r}")

    def _dpp(self, name: str, value: str) -> None:
        f = self.fields
        f.dpp = _DPP[name]
        if name == "quad_perm":
            f.dpp_ctrl = sum(x << 2 * n for n, x in enumerate(_bit_list(value)))
        elif name == "dpp8":
            f.dpp_ctrl = sum(x << 3 * n for n, x in enumerate(_bit_list(value)))
        else:
            f.dpp_ctrl = int(value, 0) if value else 0

    def _row_bcast(self, value: str) -> None:
        self.fields.dpp = 11 if int(value) == 15 else 12

    def _bound_ctrl(self, value: str) -> None:
        self.fields.flags |= _BOUND_CTRL

    def _fi(self, value: str) -> None:
        self.fields.flags |= _FETCH_INACTIVE if int(value) else 0

    def _offset(self, value: str) -> None:
        self.fields.offset = encode_swizzle(value)

    def _offset0(self, value: str) -> None:
        self.fields.offset = int(value, 0)

    def _offset1(self, value: str) -> None:
        self.fields.offset1 = int(value, 0)

    def _byte_sel(self, value: str) -> None:
        self.fields.offset1 = int(value, 0)

    def _th(self, value: str) -> None:
        self.fields.flags |= FLAGS["glc"] if "RETURN" in value else 0

    def _mul(self, value: str) -> None:
        self.fields.omod = {"2": 1, "4": 2}[value]

    def _div(self, value: str) -> None:
        self.fields.omod = {"2": 3}[value]

    def _neg(self, value: str) -> None:
        self.neg = {n for n, x in enumerate(_bit_list(value)) if x}
        self.fields.neg_lo = _bits(value)

    def _op_sel(self, value: str) -> None:
        bits, f = _bit_list(value), self.fields
        f.flags |= _OP_SEL_GIVEN
        written = sum(not i for i in self.signature.implied)
        for n, bit in enumerate(bits):
            if not bit:
                continue
            if n >= written and n == len(bits) - 1:
                f.op_sel |= 8
                self.dst_high = bool(self.signature.dst) and self.signature.dst[0] in _HALF_TYPES
                continue
            f.op_sel |= 1 << n
            if n < len(self.signature.src) and self.signature.src[n] in _HALF_TYPES:
                self.high.add(n)

    def _dst_sel(self, value: str) -> None:
        self.dst_sdwa = _SDWA[value]

    def _dst_unused(self, value: str) -> None:
        self.fields.flags |= {"UNUSED_PAD": 0, "UNUSED_SEXT": _SDWA_SEXT, "UNUSED_PRESERVE": _SDWA_PRESERVE}[value]

    def _src0_sel(self, value: str) -> None:
        self.src_sdwa[0] = _SDWA[value]

    def _src1_sel(self, value: str) -> None:
        self.src_sdwa[1] = _SDWA[value]


def _vgprs(operand: Operand) -> range:
    if operand.kind not in "va":
        return range(0)
    first = operand.first + (AGPR0 if operand.kind == "a" else 0)
    return range(first, first + operand.dwords)


def encode(statement: Statement, op: int, signature: Signature, resolve: Resolver) -> Fields:
    """Fields of a statement whose opcode is known. Raises ValueError for what cannot be encoded."""
    fields = Fields(op=op, line=statement.line)
    modifiers = _Modifiers(fields, signature)
    for name, value in statement.modifiers:
        modifiers.apply(name, value)
    written = list(statement.operands)
    dst = [written.pop(0) for _ in signature.dst]
    for n, (operand, type_name) in enumerate(zip(dst, signature.dst, strict=True)):
        sdwa, high = (modifiers.dst_sdwa, modifiers.dst_high) if n == 0 else (0, False)
        fields.dst.append(_encode_operand(operand, type_name, sdwa, high, resolve))
        fields.writes.update(_vgprs(operand))
    for n, (type_name, implied) in enumerate(zip(signature.src, signature.implied, strict=True)):
        operand = (dst[0] if implied == "dst" else _IMPLIED[implied]) if implied else written.pop(0)
        if type_name == "mix":
            type_name = "f16" if fields.op_sel_hi >> n & 1 else "f32"
        if operand.neg and type_name in _PACKED_TYPES:
            raise ValueError("a packed operand is negated by neg_lo and neg_hi")
        high = n in modifiers.high or (implied == "dst" and modifiers.dst_high)
        fields.src.append(_encode_operand(operand, type_name, modifiers.src_sdwa[n], high, resolve))
        fields.reads.update(_vgprs(operand))
    return fields


def mark_dual(fields: Fields, second: bool) -> None:
    """Flags one half of a VOPD pair."""
    fields.flags |= _DUAL_Y if second else _DUAL_X


def encode_move(op: int, destination: int, source: int, line: int) -> Fields:
    """A move between VGPRs that is not in the listing, for a VOPD pair whose halves overwrite each other's sources."""
    fields = Fields(op=op, line=line, flags=_BY_DECODER)
    fields.dst.append(_OPERAND.pack(_VGPR, 1, 0, 0, destination, 0, 0))
    fields.src.append(_OPERAND.pack(_VGPR, 1, 0, 0, source, 0, 0))
    return fields
