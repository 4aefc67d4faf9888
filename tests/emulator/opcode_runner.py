"""Runs one VALU or SALU opcode on edge values and compares with its reference (opcode_cases.py)."""

from __future__ import annotations

import functools
import inspect
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from cupygemm.emulator.encode import Signature, parse_signature
from cupygemm.emulator.executor import Opcode

from .harness import executor, zig
from .opcode_cases import FORMATS, M32, signed
from .registers import run_registers, wave_size
from .softfloat import Format

LITERAL = 0x41280000  #: the constant of the instructions that have one: 10.5 as f32
LITERAL_F16 = 0x4940
_DWORDS = {"f64": 2, "b64": 2, "i64": 2, "u64": 2, "pf32": 2, "pi32": 2}
_HALF = ("b16", "i16", "u16", "f16", "bf16")
_INTEGER_EDGES = (0, 1, 2, 3, 7, 15, 16, 31, 32, 33, 63, 64, 65, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 1 << 31, (1 << 31) - 1)
_LITERAL_PLACE = {"fmaak": 2, "madak": 2, "fmamk": 1, "madmk": 1}


def opcode_rows(name: str) -> list[tuple[Opcode, Signature]]:
    return [(o, parse_signature(o.signature)) for o in executor().opcodes if o.name == name]


def _edges(f: Format) -> list[int]:
    one, least, inf = f.one, 1 << f.mantissa_bits, f.infinity
    ulp_half = one - (1 << f.mantissa_bits)
    sizes = [
        0,
        1,
        2,
        least - 1,
        least,
        least + 1,
        one - 1,
        one,
        one + 1,
        ulp_half,
        one + (1 << f.mantissa_bits),
        inf - 1,
        inf,
    ]
    sizes += (
        [f.round(x) for x in (1.5, 2.5, 3.5, 255.5, 2.0**31, 2.0**32, 2049.0, 65519.0, 65520.0) if _fits(f, x)]
        if f.bits > 16
        else []
    )
    nans = [inf | 1, f.nan, f.nan | 5]
    return [x | s for x in sizes + nans for s in (0, f.sign_bit)]


def _fits(f: Format, x: float) -> bool:
    return x < 2.0**f.bias


def _float_value(f: Format, rng: random.Random) -> int:
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(_edges(f))
    if kind < 0.55:
        return rng.getrandbits(f.bits)
    exponent = f.bias + rng.randint(-6, 6)
    return rng.getrandbits(1) << f.bits - 1 | exponent << f.mantissa_bits | rng.getrandbits(f.mantissa_bits)


def _integer_value(bits: int, rng: random.Random) -> int:
    if rng.random() < 0.5:
        top = 1 << bits - 1
        base = rng.choice([*_INTEGER_EDGES, top, top - 1, 2 * top - 1, 2 * top - 2])
        return base & (1 << bits) - 1
    return rng.getrandbits(rng.choice([4, bits // 2, bits]))


def _bits_value(type_name: str, rng: random.Random) -> int:
    """A bit pattern as the register, or registers, hold it."""
    if type_name in FORMATS:
        return _float_value(FORMATS[type_name], rng)
    if type_name == "mix":
        return _float_value(FORMATS["f32"], rng)
    if type_name in ("pf16", "pbf16", "pf32"):
        f = FORMATS[type_name[1:]]
        return _float_value(f, rng) | _float_value(f, rng) << f.bits
    if type_name == "pi16":
        return _integer_value(16, rng) | _integer_value(16, rng) << 16
    if type_name == "mask":
        return rng.getrandbits(1)
    return _integer_value(16 if type_name in _HALF else 32 * _DWORDS.get(type_name, 1), rng)


def decode(type_name: str, bits: int) -> object:
    """A pattern as references take it."""
    if type_name == "mask":
        return bool(bits)
    if type_name in ("pi16", "pf16", "pbf16"):
        return [bits & 0xFFFF, bits >> 16]
    if type_name in ("pf32", "pi32"):
        return [bits & M32, bits >> 32]
    width = 16 if type_name in _HALF else 32 * _DWORDS.get(type_name, 1)
    bits &= (1 << width) - 1
    return signed(bits, width) if type_name[0] == "i" and type_name != "imm" else bits


def encode(type_name: str, value: object) -> int:
    if isinstance(value, list):
        width = 32 if type_name in ("pf32", "pi32") else 16
        return value[0] | value[1] << width
    width = 16 if type_name in _HALF else 32 * _DWORDS.get(type_name, 1)
    assert isinstance(value, int)
    return value & (1 << width) - 1


def same(type_name: str, got: int, want: int) -> bool:
    """Equal bits; any quiet NaN for a NaN."""
    if type_name in ("pf16", "pbf16", "pf32"):
        f = FORMATS[type_name[1:]]
        mask = (1 << f.bits) - 1
        return all(same(type_name[1:], got >> n & mask, want >> n & mask) for n in (0, f.bits))
    f = FORMATS.get(type_name)
    if f and f.is_nan(want):
        return f.is_nan(got) and bool(got & 1 << f.mantissa_bits - 1)
    return got == want


def _register(file: str, number: int, dwords: int) -> str:
    return f"{file}{number}" if dwords == 1 else f"{file}[{number}:{number + dwords - 1}]"


def mask_register(arch: str, number: int) -> str:
    return _register("s", number, 2 if wave_size(arch) == 64 else 1)


class Instruction:
    """Text of an opcode with registers of our choice: sources v16, v18, ... or s60, s62, ...; result v40 or s90; masks
    in s[80:81] and s[84:85]. registers.py needs s0 to s59 itself.
    """

    def __init__(self, name: str, signature: Signature, arch: str, true16: bool) -> None:
        self.name, self.signature, self.arch, self.true16 = name, signature, arch, true16
        self.scalar = name.startswith(("s_", "v_s_"))
        file = "s" if self.scalar else "v"
        literal = next((place for key, place in _LITERAL_PLACE.items() if key in name), None)
        self.sources: list[
            tuple[str, str, int]
        ] = []  #: (type, "register" | "mask" | "vcc" | "dst" | "scc" | "literal", number)
        self.result = 90 if self.scalar else 40
        operands = [self._operand(t, file, self.result, mask=84) for t in signature.dst]
        for n, (t, implied) in enumerate(zip(signature.src, signature.implied, strict=True)):
            number = (60 if self.scalar else 16) + 2 * n
            if implied:
                self.sources.append((t, implied, self.result))
            elif n == literal:
                self.sources.append((t, "literal", 0))
                operands.append(hex(LITERAL_F16 if t == "f16" else LITERAL))
            elif t == "mask":
                self.sources.append((t, "mask", 80))
                operands.append(mask_register(arch, 80))
            else:
                self.sources.append((t, "register", number))
                operands.append(self._operand(t, file, number, mask=80))
        self.text = f"{name} {', '.join(operands)}".strip()
        if "bitop3" in name:
            self.text += " bitop3:0xe8"

    def _operand(self, t: str, file: str, number: int, mask: int) -> str:
        if t == "mask":
            return mask_register(self.arch, mask)
        text = _register(file, number, _DWORDS.get(t, 1))
        return text + (".l" if self.true16 and t in _HALF and file == "v" else "")


@functools.cache
def accepted(arch: str) -> dict[str, Instruction]:
    """Opcode name -> an instruction that the assembler takes for ``arch``; opcodes that the arch lacks are absent."""
    out: dict[str, Instruction] = {}
    for true16 in (False, True):
        candidates = []
        for opcode in executor().opcodes:
            if opcode.name.startswith(("v_", "s_")) and opcode.name not in out:
                instruction = Instruction(opcode.name, parse_signature(opcode.signature), arch, true16)
                if opcode.flags & 8 and instruction.signature.dst and not arch.startswith("gfx9"):
                    continue
                candidates.append(instruction)
        good = _assembles([c.text for c in candidates], arch)
        for candidate, ok in zip(candidates, good, strict=True):
            if ok:
                out.setdefault(candidate.name, candidate)
    return out


def _assembles(lines: Sequence[str], arch: str) -> list[bool]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "k.s").write_text("\n".join(lines) + "\n")
        done = zig(
            "clang",
            "-target",
            "amdgcn-amd-amdhsa",
            f"-mcpu={arch}",
            "-fno-caret-diagnostics",
            "-c",
            "k.s",
            "-o",
            "k.o",
            folder=folder,
        )
    bad = {
        int(line.split(":")[1]) for line in done.stderr.splitlines() if line.startswith("k.s:") and " error: " in line
    }
    return [n + 1 not in bad for n in range(len(lines))]


def operand_patterns(instruction: Instruction, count: int) -> list[list[int]]:
    """``count`` operand tuples, the same ones for every arch; the second of two alike types repeats the first now and
    then.
    """
    rng = random.Random(instruction.name)
    cases = []
    for _ in range(count):
        values = []
        for t, where, _ in instruction.sources:
            value = _bits_value(t, rng)
            if values and rng.random() < 0.1:
                value = values[0] ^ (1 << 31 if rng.random() < 0.5 and t == "f32" else 0)
                value &= (1 << (32 * _DWORDS.get(t, 1))) - 1
                value &= 1 if t == "mask" else value
            if where == "literal":
                value = LITERAL_F16 if t == "f16" else LITERAL
            values.append(value)
        cases.append(values)
    return cases


def _images(arch: str, patterns: list[list[int]], place: int, dwords: int) -> np.ndarray:
    """Operand ``place`` of all cases as register images [groups, dwords, lanes]."""
    lanes = wave_size(arch)
    flat = np.array([[p[place] >> 32 * d & M32 for d in range(dwords)] for p in patterns], np.uint32)
    return flat.reshape(-1, lanes, dwords).transpose(0, 2, 1).copy()


def run_vector(instruction: Instruction, patterns: list[list[int]]) -> tuple[list[int], list[int]]:
    """Results, and mask bits (or EXEC for v_cmpx), one a case; the number of cases is a multiple of 64."""
    arch, wide = instruction.arch, wave_size(instruction.arch) == 64
    inputs, before = [], ""
    for n, (t, where, number) in enumerate(instruction.sources):
        if where == "literal":
            continue
        dwords = _DWORDS.get(t, 1)
        if t == "mask":
            inputs.append((f"v{30 + n}", _images(arch, patterns, n, 1)))
            target = ("vcc" if wide else "vcc_lo") if where == "vcc" else mask_register(arch, number)
            before += f"v_cmp_ne_u32 {target}, 0, v{30 + n}\n"
        else:
            inputs.append((f"v{number}", _images(arch, patterns, n, dwords)))
    compare_x = "_cmpx_" in instruction.name
    s = "b64" if wide else "b32"
    execute = instruction.text + "\n"
    if compare_x:
        execute += f"s_mov_{s} {mask_register(arch, 84)}, {'exec' if wide else 'exec_lo'}\n"
        execute += f"s_mov_{s} {'exec' if wide else 'exec_lo'}, -1\n"
    if compare_x or "mask" in instruction.signature.dst:
        execute += f"v_cndmask_b32 v42, 0, 1, {mask_register(arch, 84)}\n"
    got = run_registers(arch, before + execute, inputs, ("v40", 3))
    flat = got.transpose(0, 2, 1).reshape(-1, 3)
    return [int(r[0]) | int(r[1]) << 32 for r in flat], [int(r[2]) for r in flat]


def run_scalar(instruction: Instruction, patterns: list[list[int]], scc: int) -> tuple[list[int], list[int]]:
    """Results and SCC, one workgroup a case."""
    arch, lanes = instruction.arch, wave_size(instruction.arch)
    inputs, before = [], f"s_cmp_eq_u32 {scc}, 1\n"
    for n, (t, where, number) in enumerate(instruction.sources):
        if where == "literal":
            continue
        for d in range(_DWORDS.get(t, 1)):
            column = np.array([p[n] >> 32 * d & M32 for p in patterns], np.uint32)
            register = 20 + 2 * n + d
            inputs.append((f"v{register}", np.broadcast_to(column[:, None, None], (len(patterns), 1, lanes)).copy()))
            before = f"v_readfirstlane_b32 s{number + d}, v{register}\n" + before
    after = "\ns_cselect_b32 s92, 1, 0\nv_mov_b32 v40, s90\nv_mov_b32 v41, s91\nv_mov_b32 v42, s92\n"
    got = run_registers(arch, before + instruction.text + after, inputs, ("v40", 3))[:, :, 0]
    return [int(r[0]) | int(r[1]) << 32 for r in got], [int(r[2]) for r in got]


def differences(instruction: Instruction, reference: Callable, count: int = 256) -> list[str]:
    """What differs between executor and reference, a line a case."""
    patterns = operand_patterns(instruction, count)
    found = []
    for scc in (0, 1) if instruction.scalar else (0,):
        if instruction.scalar:
            results, flags = run_scalar(instruction, patterns, scc)
        else:
            results, flags = run_vector(instruction, patterns)
        for values, got, flag in zip(patterns, results, flags, strict=True):
            operands = [decode(t, v) for (t, _, _), v in zip(instruction.sources, values, strict=True)]
            line = _difference(instruction, reference, operands, got, flag, scc)
            if line:
                found.append(line)
    return found


def _difference(instruction: Instruction, reference: Callable, operands: list, got: int, flag: int, scc: int) -> str:
    if instruction.scalar and "scc" in inspect.signature(reference).parameters:
        operands = [*operands, scc]
    want = reference(*operands)
    if want is None:
        return ""
    types = [t for t in instruction.signature.dst if t != "mask"]
    shown = ", ".join(hex(x) if isinstance(x, int) else str(x) for x in operands)
    want_flag = None
    if isinstance(want, tuple):
        want, want_flag = want
    elif isinstance(want, bool) and not types:
        want, want_flag = None, want
    if want_flag is not None and bool(flag) != want_flag:
        return f"{instruction.text} on {shown}: mask or SCC {flag}, want {want_flag}"
    if types and want is not None:
        bits = encode(types[0], want)
        width = 16 if types[0] in _HALF else 32 * _DWORDS.get(types[0], 1)
        if "mixhi" in instruction.name:
            got >>= 16
        if not same(types[0], got & (1 << width) - 1, bits):
            return f"{instruction.text} on {shown}: {got & (1 << width) - 1:#x}, want {bits:#x}"
    return ""
