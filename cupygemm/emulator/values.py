"""Bits of constant operands: numbers as an operand type takes them, and the expressions hwreg(...), gpr_idx(...) and
swizzle(...).
"""

from __future__ import annotations

import re
import struct

from .listing import Operand


def _f16_bits(x: float) -> int:
    return int(struct.unpack("<H", struct.pack("<e", x))[0])


def _f32_bits(x: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


def _f64_bits(x: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def _bf16_bits(x: float) -> int:
    bits = _f32_bits(x)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def encode_constant(operand: Operand, type_name: str) -> int:
    """Bits of a constant as an operand of ``type_name`` takes it.

    Inline constants have the operand's own width; a 32-bit literal in an f64 operand is its high half; integers of 64
    bits are written in full by clang. In a packed 16-bit operand a float constant fills the low half only; packed f32
    operands see it in both halves.
    """
    if operand.kind == "float":
        if type_name in ("f16", "b16", "i16", "u16", "pf16", "pi16"):
            return _f16_bits(operand.number)
        if type_name in ("bf16", "pbf16"):
            return _bf16_bits(operand.number)
        if type_name in ("f64", "b64", "i64", "u64"):
            return _f64_bits(operand.number)
        bits = _f32_bits(operand.number)
        return bits | bits << 32 if type_name in ("pf32", "pi32") else bits
    value = operand.value
    if type_name == "f64" and not -16 <= value <= 64:
        return (value & 0xFFFFFFFF) << 32 if value >> 32 == 0 else value & 0xFFFFFFFFFFFFFFFF
    if type_name in ("pf32", "pi32"):
        return value & 0xFFFFFFFF | (value & 0xFFFFFFFF) << 32
    if type_name in ("b64", "i64", "u64", "f64", "mask", "any", "imm"):
        return value & 0xFFFFFFFFFFFFFFFF
    return value & 0xFFFFFFFF


_HWREG_NAMES = {
    "HW_REG_MODE": 1,
    "HW_REG_WAVE_MODE": 1,
    "HW_REG_STATUS": 2,
    "HW_REG_WAVE_STATUS": 2,
    "HW_REG_TRAPSTS": 3,
    "HW_REG_HW_ID": 4,
    "HW_REG_GPR_ALLOC": 5,
    "HW_REG_LDS_ALLOC": 6,
    "HW_REG_IB_STS": 7,
    "HW_REG_SH_MEM_BASES": 15,
    "HW_REG_XCC_ID": 20,
    "HW_REG_HW_ID1": 23,
    "HW_REG_HW_ID2": 24,
    "HW_REG_SHADER_CYCLES": 29,
    "HW_REG_SHADER_CYCLES_LO": 29,
    "HW_REG_SHADER_CYCLES_HI": 30,
}


def _encode_hwreg(text: str) -> int:
    """``hwreg(HW_REG_MODE, 4, 2)`` -> register number, offset << 6, (width - 1) << 11."""
    match = re.match(r"hwreg\((.*)\)$", text)
    if not match:
        return int(text, 0)
    parts = [p.strip() for p in match[1].split(",")]
    number = _HWREG_NAMES.get(parts[0])
    if number is None:
        number = 63 if not parts[0].isdigit() else int(parts[0])
    offset, width = (int(parts[1], 0), int(parts[2], 0)) if len(parts) == 3 else (0, 32)
    return number | offset << 6 | (width - 1) << 11


_GPR_INDEX_BITS = {"SRC0": 1, "SRC1": 2, "SRC2": 4, "DST": 8}


def encode_text(text: str) -> int:
    """Value of an operand written as an expression; 0 for those that only matter to timing or messages."""
    if text.startswith("hwreg"):
        return _encode_hwreg(text)
    if text.startswith("gpr_idx"):
        return sum(_GPR_INDEX_BITS[name] for name in re.findall(r"\w+", text[7:]))
    return 0


def encode_swizzle(text: str) -> int:
    """``offset:`` of ds_swizzle_b32: a number or ``swizzle(MODE, ...)``. Source: the CDNA 3 ISA, DS_SWIZZLE_B32."""
    match = re.match(r"swizzle\((.*)\)$", text)
    if not match:
        return int(text, 0)
    mode, *rest = [p.strip().strip('"') for p in match[1].split(",")]
    if mode == "QUAD_PERM":
        return 0x8000 | sum(int(x) << 2 * n for n, x in enumerate(rest))
    if mode == "BITMASK_PERM":
        and_mask = or_mask = xor_mask = 0
        for n, c in enumerate(reversed(rest[0])):
            and_mask |= (c in "pi") << n
            or_mask |= (c == "1") << n
            xor_mask |= (c == "i") << n
        return and_mask | or_mask << 5 | xor_mask << 10
    if mode == "BROADCAST":
        return (0x1F & ~(int(rest[0]) - 1)) | int(rest[1]) << 5
    if mode == "SWAP":
        return 0x1F | int(rest[0]) << 10
    if mode == "REVERSE":
        return 0x1F | (int(rest[0]) - 1) << 10
    if mode == "FFT":
        return 0xE000 | int(rest[0], 0)
    if mode == "ROTATE":
        return 0xC000 | int(rest[0]) << 10 | int(rest[1]) << 5
    raise ValueError(f"unknown swizzle {text}")
