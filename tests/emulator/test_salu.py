"""Scalar instructions with a 16-bit constant, and those that combine EXEC with a mask."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import ARCHS
from .opcode_runner import accepted
from .registers import run_registers, wave_size

M32 = (1 << 32) - 1
CONSTANTS = (0, 1, 0x7FFF, 0x8000, 0xFFFF, 0xFFF6)
VALUES = (0, 1, 5, 0x7FFF, 0xFFFF8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFF6)


def _sext(x: int, bits: int = 16) -> int:
    return x - (1 << bits) if x >> bits - 1 else x


def _run(arch: str, lines: list[str]) -> list[list[int]]:
    """Each line runs on s60 and s61 and leaves its result in s62 and SCC; rows are [result, SCC]."""
    body = ""
    for n, line in enumerate(lines):
        body += f"{line}\ns_cselect_b32 s63, 1, 0\nv_writelane_b32 v40, s62, {n}\nv_writelane_b32 v41, s63, {n}\n"
    got = run_registers(arch, body, [], ("v40", 2))[0]
    return [[int(got[0, n]), int(got[1, n])] for n in range(len(lines))]


def _known(arch: str, *names: str) -> str | None:
    """The name by which the arch has an instruction."""
    have = set(accepted(arch)) | {"s_movk_i32", "s_cmovk_i32", "s_mulk_i32"}
    have |= {"s_addk_co_i32"} if arch.startswith("gfx12") else {"s_addk_i32"}
    return next((n for n in names if n in have), None)


@pytest.mark.parametrize("arch", ARCHS)
def test_16_bit_constants(arch: str) -> None:
    addk = "s_addk_co_i32" if arch.startswith("gfx12") else "s_addk_i32"
    lines, want = [], []
    for k in CONSTANTS:
        for x in VALUES:
            start = f"s_mov_b32 s62, {x:#x}\ns_cmp_eq_u32 1, {{scc}}\n"
            total = _sext(x, 32) + _sext(k)
            wrapped = _sext(total & M32, 32)
            for scc in (0, 1):
                head = start.format(scc=scc)
                lines.append(head + f"s_movk_i32 s62, {k:#x}")
                want.append([_sext(k) & M32, scc])
                lines.append(head + f"s_cmovk_i32 s62, {k:#x}")
                want.append([_sext(k) & M32 if scc else x, scc])
                lines.append(head + f"s_mulk_i32 s62, {k:#x}")
                want.append([_sext(x, 32) * _sext(k) & M32, scc])
            lines.append(start.format(scc=0) + f"{addk} s62, {k:#x}")
            want.append([total & M32, int(wrapped != total)])
    for first in range(0, len(lines), 32):
        assert _run(arch, lines[first : first + 32]) == want[first : first + 32]


COMPARES = {"eq": int.__eq__, "lg": int.__ne__, "gt": int.__gt__, "ge": int.__ge__, "lt": int.__lt__, "le": int.__le__}


@pytest.mark.parametrize("arch", [a for a in ARCHS if not a.startswith("gfx12")])
def test_compares_with_16_bit_constants(arch: str) -> None:
    """gfx12 has none."""
    lines, want = [], []
    for name, op in COMPARES.items():
        for k in CONSTANTS:
            for x in VALUES:
                lines += [f"s_mov_b32 s62, {x:#x}\ns_cmpk_{name}_{t} s62, {k:#x}" for t in ("i32", "u32")]
                want += [[x, int(op(_sext(x, 32), _sext(k)))], [x, int(op(x, k))]]
    for first in range(0, len(lines), 32):
        assert _run(arch, lines[first : first + 32]) == want[first : first + 32]


# (name of the operation on gfx9, on later archs): new EXEC from the source s and the old EXEC e
SAVEEXEC = {
    ("s_and_saveexec",): lambda s, e: s & e,
    ("s_or_saveexec",): lambda s, e: s | e,
    ("s_xor_saveexec",): lambda s, e: s ^ e,
    ("s_nand_saveexec",): lambda s, e: ~(s & e),
    ("s_nor_saveexec",): lambda s, e: ~(s | e),
    ("s_xnor_saveexec",): lambda s, e: ~(s ^ e),
    ("s_andn1_saveexec", "s_and_not0_saveexec"): lambda s, e: ~s & e,
    ("s_andn2_saveexec", "s_and_not1_saveexec"): lambda s, e: s & ~e,
    ("s_orn1_saveexec", "s_or_not0_saveexec"): lambda s, e: ~s | e,
    ("s_orn2_saveexec", "s_or_not1_saveexec"): lambda s, e: s | ~e,
    ("s_andn1_wrexec", "s_and_not0_wrexec"): lambda s, e: ~s & e,
    ("s_andn2_wrexec", "s_and_not1_wrexec"): lambda s, e: s & ~e,
}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("names", list(SAVEEXEC), ids=lambda n: n[0])
def test_saveexec(arch: str, names: tuple[str, ...]) -> None:
    wide = wave_size(arch) == 64
    size, bits, file = ("b64", 64, "s[{}:{}]") if wide else ("b32", 32, "s{}")
    name = next((f"{n}_{size}" for n in names if f"{n}_{size}" in accepted(arch)), None)
    assert name is not None
    full = (1 << bits) - 1

    def pair(n: int) -> str:
        return file.format(n, n + 1)

    execute = "exec" if wide else "exec_lo"
    for s in (0, 1, full, 0x0F0F0F0F & full):
        for e in (1, full, 0xFF & full, 0):
            halves = "".join(
                f"s_mov_b32 s{r}, {v:#x}\n" for r, v in ((60, s & M32), (61, s >> 32), (62, e & M32), (63, e >> 32))
            )
            body = f"""{halves}s_mov_{size} {execute}, {pair(62)}
{name} {pair(64)}, {pair(60)}
s_cselect_b32 s70, 1, 0
s_mov_{size} {pair(66)}, {execute}
s_mov_{size} {execute}, -1
""" + "".join(
                f"v_mov_b32 v{40 + n}, s{r}\n"
                for n, r in enumerate((64, 65 if wide else 64, 66, 67 if wide else 66, 70))
            )
            got = [int(x) for x in run_registers(arch, body, [], ("v40", 5))[0, :, 0]]
            fresh = SAVEEXEC[names](s, e) & full
            saved = fresh if "wrexec" in name else e
            read = [got[0] | got[1] << 32, got[2] | got[3] << 32] if wide else [got[0], got[2]]
            assert [*read, got[4]] == [saved, fresh, int(fresh != 0)]


@pytest.mark.parametrize("arch", ARCHS)
def test_scalar_registers_through_m0(arch: str) -> None:
    body = """s_mov_b32 s62, 11
s_mov_b32 s63, 12
s_mov_b32 m0, 2
s_movrels_b32 s66, s60
s_movrels_b64 s[68:69], s[60:61]
s_movreld_b32 s70, s62
s_movreld_b64 s[72:73], s[62:63]
""" + "".join(f"v_mov_b32 v{40 + n}, s{r}\n" for n, r in enumerate((66, 68, 69, 72, 74, 75)))
    got = run_registers(arch, body, [], ("v40", 6))[0, :, 0]
    assert got.tolist() == [11, 11, 12, 11, 11, 12]
    assert np.unique(got).size == 2
