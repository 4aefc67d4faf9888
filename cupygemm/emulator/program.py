"""A parsed listing -> packed instructions and kernel descriptions for the native executor.

Mnemonics lose their encoding suffix and find their row by name and number of operands; what has no row becomes an
instruction that stops the launch when it is executed. A VOPD pair becomes two instructions such that both read before
either writes. Symbols are resolved against one code base a module, which is also what s_getpc_b64 gives.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .encode import AGPR0, INSN_BYTES, Fields, Signature, encode, encode_move, mark_dual, parse_signature
from .executor import Executor, KernelDesc, Opcode
from .expressions import evaluate
from .listing import Listing, Operand, Statement
from .waits import decode_waits

_SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa")
_CODE_STRIDE = 16
#: Any address whose low bits leave room for a module's code, and that no allocation has: it is never read.
CODE_BASE = 0x0000_5000_0000_0000

# enum emu_arch
_ARCH = {
    "gfx90a": 4,
    "gfx942": 0,
    "gfx950": 1,
    "gfx1100": 2,
    "gfx1101": 2,
    "gfx1102": 2,
    "gfx1103": 2,
    "gfx1150": 5,
    "gfx1151": 5,
    "gfx1152": 5,
    "gfx1153": 5,
    "gfx1200": 3,
    "gfx1201": 3,
}

# enum emu_enable, by the descriptor's directive
_ENABLE = {
    "user_sgpr_private_segment_buffer": 1 << 0,
    "user_sgpr_dispatch_ptr": 1 << 1,
    "user_sgpr_queue_ptr": 1 << 2,
    "user_sgpr_kernarg_segment_ptr": 1 << 3,
    "user_sgpr_dispatch_id": 1 << 4,
    "user_sgpr_flat_scratch_init": 1 << 5,
    "user_sgpr_private_segment_size": 1 << 6,
    "system_sgpr_workgroup_id_x": 1 << 8,
    "system_sgpr_workgroup_id_y": 1 << 9,
    "system_sgpr_workgroup_id_z": 1 << 10,
    "system_sgpr_workgroup_info": 1 << 11,
    "enable_private_segment": 1 << 12,
    "system_sgpr_private_segment_wavefront_offset": 1 << 12,
}
_USER_SGPR_DWORDS = (4, 2, 2, 2, 2, 2, 1)


def arch_number(target: str) -> int:
    """The executor's number of a gfx name (feature suffixes ignored). Raises ValueError for one it does not execute."""
    name = target.split(":")[0]
    if name not in _ARCH:
        raise ValueError(f"no emulated GPU for {target!r}; there is one for {', '.join(sorted(_ARCH))}")
    return _ARCH[name]


class OpcodeIndex:
    """Finds rows of the executor's opcode table by mnemonic and number of operands."""

    def __init__(self, opcodes: Iterable[Opcode]) -> None:
        self._rows: dict[str, list[tuple[Opcode, Signature]]] = {}
        for opcode in opcodes:
            self._rows.setdefault(opcode.name, []).append((opcode, parse_signature(opcode.signature)))

    def base_name(self, mnemonic: str) -> str:
        """Mnemonic without encoding suffix and without VOPD's prefix, if that is in the table; else as it is."""
        name = "v_" + mnemonic[7:] if mnemonic.startswith("v_dual_") else mnemonic
        if name in self._rows:
            return name
        for suffix in _SUFFIXES:
            if name.endswith(suffix) and name.removesuffix(suffix) in self._rows:
                return name.removesuffix(suffix)
        return mnemonic

    def find(self, mnemonic: str, operands: int) -> tuple[Opcode, Signature] | None:
        rows = self._rows.get(self.base_name(mnemonic), ())
        for row in rows:
            if row[1].written_operands == operands:
                return row
        return None

    def named(self, name: str) -> int:
        return self._rows[name][0][0].number


@dataclass(frozen=True, slots=True)
class Program:
    """A module's code: ``insns`` are packed, ``starts[n]`` is the first instruction of statement n (one more at the
    end).
    """

    listing: Listing
    target: str
    insns: bytes
    starts: tuple[int, ...]
    unknown: tuple[str, ...] = ()  #: mnemonics without a row: executing one stops the launch

    @property
    def insn_count(self) -> int:
        return len(self.insns) // INSN_BYTES


class _Decoder:
    def __init__(
        self, listing: Listing, index: OpcodeIndex, symbols: Mapping[str, int], got: Mapping[str, int]
    ) -> None:
        self.listing, self.index, self.symbols, self.got = listing, index, symbols, got
        self.unknown: list[str] = []
        self.current = 0
        self.starts: list[int] = []
        self.indexed = False  #: between s_set_gpr_idx_on and s_set_gpr_idx_off

    def run(self) -> list[Fields]:
        # Two passes: the number of instructions of a VOPD pair is known only after encoding it, and labels need it.
        self.starts = list(range(len(self.listing.statements) + 1))
        first = self._pass()
        if len(first) == len(self.listing.statements):
            return first
        self.unknown.clear()
        return self._pass()

    def _pass(self) -> list[Fields]:
        out: list[Fields] = []
        starts = []
        for number, statement in enumerate(self.listing.statements):
            self.current = number
            starts.append(len(out))
            out.extend(self._statement(statement))
        starts.append(len(out))
        self.starts = starts
        return out

    def _statement(self, statement: Statement) -> list[Fields]:
        if statement.dual is None:
            return [self._single(statement)]
        x, y = self._single(statement), self._single(statement.dual)
        mark_dual(x, second=False)
        mark_dual(y, second=True)
        if not x.writes & y.reads:
            return [x, y]
        if not y.writes & x.reads:
            return [y, x]
        return self._through_temporaries(x, y, statement)

    def _through_temporaries(self, x: Fields, y: Fields, statement: Statement) -> list[Fields]:
        moves = []
        for n, register in enumerate(sorted(x.writes & y.reads)):
            moves.append(encode_move(self.index.named("v_mov_b32"), AGPR0 + n, register, statement.line))
            y.src = [_renamed(s, register, AGPR0 + n) for s in y.src]
        return [*moves, x, y]

    def _single(self, statement: Statement) -> Fields:
        mnemonic = self._follow_gpr_index(statement.mnemonic)
        row = self.index.find(mnemonic, len(statement.operands))
        if row is None:
            self.unknown.append(statement.mnemonic)
            return Fields(op=self.index.named("unknown"), line=statement.line)
        opcode, signature = row
        try:
            fields = encode(statement, opcode.number, signature, self._resolve)
        except (ValueError, KeyError, OverflowError) as error:
            text = self.listing.lines[statement.line].strip()
            raise ValueError(f"assembly line {statement.line + 1}: {error}: {text}") from error
        if statement.mnemonic.startswith("s_wait"):
            fields.waits = decode_waits(statement)
        return fields

    def _follow_gpr_index(self, mnemonic: str) -> str:
        """Moves in a region of indexed registers (CDNA) are an opcode of their own."""
        if mnemonic in ("s_set_gpr_idx_on", "s_set_gpr_idx_off"):
            self.indexed = mnemonic == "s_set_gpr_idx_on"
        if self.indexed and mnemonic.startswith("v_"):
            base = self.index.base_name(mnemonic)
            return "v_mov_b32_indexed" if base == "v_mov_b32" else f"{base} with an indexed register"
        return mnemonic

    def _resolve(self, operand: Operand) -> int:
        if operand.kind == "label":
            if operand.name not in self.listing.labels:
                raise ValueError(f"unknown label {operand.name}")
            return self.starts[self.listing.labels[operand.name]]
        kind, _, half = operand.relocation.partition("@")
        if kind == "gotpcrel32" and operand.name in self.got:
            address = self.got[operand.name]
        elif operand.name in self.listing.functions:
            address = CODE_BASE + _CODE_STRIDE * self.starts[self.listing.functions[operand.name][0]]
        elif operand.name in self.symbols:
            address = self.symbols[operand.name]
        else:
            raise ValueError(f"unknown symbol {operand.name}")
        if kind in ("rel32", "gotpcrel32"):
            address += operand.value - self._distance_to_literal() - CODE_BASE
        elif kind in ("abs32", "abs64"):
            address += operand.value
        else:
            raise ValueError(f"relocation {operand.relocation} is not supported")
        return (address >> 32 if half == "hi" else address) & 0xFFFFFFFF

    def _distance_to_literal(self) -> int:
        """Bytes from what s_getpc_b64 gives to the literal of the current statement: what clang's addend makes up for.

        Between the two are instructions of 4 bytes, or of 8 if they have a symbol.
        """
        distance = 4
        for statement in reversed(self.listing.statements[: self.current]):
            if statement.mnemonic == "s_getpc_b64":
                return distance
            distance += 8 if any(o.kind == "symbol" for o in statement.operands) else 4
        raise ValueError("a relative symbol without s_getpc_b64 before it")


def _renamed(source: bytes, register: int, temporary: int) -> bytes:
    """A packed VGPR operand with one register for another."""
    if source[0] == 1 and int.from_bytes(source[4:6], "little") == register:
        return source[:4] + temporary.to_bytes(2, "little") + source[6:]
    return source


def assemble(
    listing: Listing,
    index: OpcodeIndex,
    *,
    target: str = "",
    symbols: Mapping[str, int] | None = None,
    got: Mapping[str, int] | None = None,
) -> Program:
    """Packs all instructions of a listing. ``symbols`` gives addresses of data that the code refers to, ``got`` those
    of their slots in the global offset table.

    Raises ValueError for a listing that cannot be encoded; an unknown mnemonic is no error until it is executed.
    """
    target = target or listing.target
    arch_number(target)
    decoder = _Decoder(listing, index, symbols or {}, got or {})
    fields = decoder.run()
    return Program(listing, target, b"".join(f.pack() for f in fields), tuple(decoder.starts), tuple(decoder.unknown))


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What a kernel descriptor says (the .amdhsa_ directives); names as in emu_kernel_desc, sizes in bytes."""

    name: str
    arch: int
    wave_size: int
    enable: int
    user_sgprs: int
    kernarg_preload_offset: int
    kernarg_preload_count: int
    workitem_id_dims: int
    vgprs: int
    agprs: int
    sgprs: int
    static_lds: int
    private_bytes: int
    kernarg_bytes: int
    float_mode: int
    dx10_clamp: int
    ieee: int
    fp16_ovfl: int
    workgroup_processor_mode: int


def kernel_facts(listing: Listing, name: str, target: str = "") -> KernelFacts:
    """Facts of kernel ``name`` from its directives; a listing without directives gets a plain kernel's. Raises
    ValueError.
    """
    target = target or listing.target
    arch = arch_number(target)
    given = listing.directives.get(name, {})
    cdna = arch in (0, 1, 4)

    def get(directive: str, default: int = 0) -> int:
        return evaluate(given[directive], listing.symbols) if directive in given else default

    enable = sum(bit for directive, bit in _ENABLE.items() if get(directive))
    if not given:
        enable = _ENABLE["user_sgpr_kernarg_segment_ptr"] | 7 << 8
    vgprs = get("next_free_vgpr", 256)
    offset = get("accum_offset", vgprs)
    mode = get("float_round_mode_32") | get("float_round_mode_16_64") << 2
    mode |= get("float_denorm_mode_32", 3) << 4 | get("float_denorm_mode_16_64", 3) << 6
    return KernelFacts(
        name=name,
        arch=arch,
        wave_size=64 if cdna or get("wavefront_size32", 1) == 0 else 32,
        enable=enable,
        user_sgprs=get("user_sgpr_count", sum(n for bit, n in enumerate(_USER_SGPR_DWORDS) if enable >> bit & 1)),
        kernarg_preload_offset=get("user_sgpr_kernarg_preload_offset"),
        kernarg_preload_count=get("user_sgpr_kernarg_preload_length"),
        workitem_id_dims=get("system_vgpr_workitem_id", 2),
        vgprs=min(vgprs, offset) if cdna else vgprs,
        agprs=(max(0, vgprs - offset) if given else 256) if cdna else 0,
        sgprs=get("next_free_sgpr", 102),
        static_lds=get("group_segment_fixed_size"),
        private_bytes=get("private_segment_fixed_size"),
        kernarg_bytes=get("kernarg_size"),
        float_mode=mode,
        dx10_clamp=get("dx10_clamp", 1),
        ieee=get("ieee_mode", 1),
        fp16_ovfl=get("fp16_overflow"),
        workgroup_processor_mode=get("workgroup_processor_mode", int(not cdna)),
    )


def _line_text(listing: Listing, statement: Statement) -> str:
    """An instruction as a report shows it: with the source line that it comes from, where that is known."""
    text = listing.lines[statement.line].strip()
    file, line = statement.source
    return f"{text}  ({listing.files.get(file, '?')}:{line})" if line else text


def create_kernel(executor: Executor, program: Program, facts: KernelFacts) -> int:
    """Registers a kernel with the executor and returns its handle. Raises ExecutorError."""
    listing = program.listing
    first, _ = listing.functions.get(facts.name, (0, 0))
    lines = (ctypes.c_char_p * len(listing.lines))()
    for statement in listing.statements:
        lines[statement.line] = _line_text(listing, statement).encode()
    code = ctypes.create_string_buffer(program.insns, len(program.insns))
    desc = KernelDesc(
        name=facts.name.encode(),
        target=program.target.encode(),
        insns=ctypes.addressof(code),
        insn_count=program.insn_count,
        arch=facts.arch,
        wave_size=facts.wave_size,
        enable=facts.enable,
        user_sgprs=facts.user_sgprs,
        kernarg_preload_offset=facts.kernarg_preload_offset,
        kernarg_preload_count=facts.kernarg_preload_count,
        workitem_id_dims=facts.workitem_id_dims,
        vgprs=facts.vgprs,
        agprs=facts.agprs,
        sgprs=facts.sgprs,
        static_lds=facts.static_lds,
        private_bytes=facts.private_bytes,
        kernarg_bytes=facts.kernarg_bytes,
        float_mode=facts.float_mode,
        dx10_clamp=facts.dx10_clamp,
        ieee=facts.ieee,
        fp16_ovfl=facts.fp16_ovfl,
        entry=program.starts[first],
        code_base=CODE_BASE,
        lines=ctypes.cast(lines, ctypes.POINTER(ctypes.c_char_p)),
        line_count=len(listing.lines),
    )
    return executor.create_kernel(desc)
