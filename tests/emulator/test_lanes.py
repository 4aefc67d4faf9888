"""Instructions that cross lanes or name registers indirectly, and DPP and SDWA."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from .harness import ARCHS
from .registers import run_registers, wave_size

CDNA = [a for a in ARCHS if a.startswith("gfx9")]
RDNA = [a for a in ARCHS if not a.startswith("gfx9")]


def _image(arch: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, (1, 1, wave_size(arch)), dtype=np.uint32)


def _exec(arch: str, mask: int) -> str:
    if arch.startswith("gfx9"):
        return f"s_mov_b32 exec_lo, {mask & 0xFFFFFFFF:#x}\ns_mov_b32 exec_hi, {mask >> 32:#x}\n"
    return f"s_mov_b32 exec_lo, {mask & 0xFFFFFFFF:#x}\n"


def _full(arch: str) -> str:
    return "s_mov_b64 exec, -1\n" if arch.startswith("gfx9") else "s_mov_b32 exec_lo, -1\n"


@pytest.mark.parametrize("arch", ARCHS)
def test_single_lanes(arch: str) -> None:
    x, lanes = _image(arch, 1), wave_size(arch)
    body = f"""{_exec(arch, 0xFFFF0F00F0)}v_readfirstlane_b32 s60, v2
s_mov_b32 s61, {lanes + 3}
v_readlane_b32 s62, v2, s61
v_readlane_b32 s63, v2, 17
{_exec(arch, 0)}v_readfirstlane_b32 s64, v2
v_writelane_b32 v40, s60, 9
{_full(arch)}v_mov_b32 v41, s60
v_mov_b32 v42, s62
v_mov_b32 v43, s63
v_mov_b32 v44, s64
"""
    got = run_registers(arch, body, [("v2", x), ("v40", x)], ("v40", 5))[0]
    first = 4
    assert got[1:, 0].tolist() == [int(x[0, 0, n]) for n in (first, 3, 17, 0)]
    want = x[0, 0].copy()
    want[9] = x[0, 0, first]
    assert np.array_equal(got[0], want)


@pytest.mark.parametrize("arch", ARCHS)
def test_mbcnt_gives_the_lane(arch: str) -> None:
    lanes = wave_size(arch)
    body = "v_mbcnt_lo_u32_b32 v40, -1, 0\n" + ("v_mbcnt_hi_u32_b32 v40, -1, v40\n" if lanes == 64 else "")
    body += "v_mov_b32 v2, 0x5a5a00ff\nv_mbcnt_lo_u32_b32 v41, v2, 3\nv_mbcnt_hi_u32_b32 v42, v2, 3\n"
    got = run_registers(arch, body, [], ("v40", 3))[0]
    assert got[0].tolist() == list(range(lanes))
    for lane in range(lanes):
        low = 0x5A5A00FF & ((1 << min(lane, 32)) - 1)
        high = 0x5A5A00FF & ((1 << max(lane - 32, 0)) - 1)
        assert got[1:, lane].tolist() == [3 + low.bit_count(), 3 + high.bit_count()]


@pytest.mark.parametrize("arch", RDNA)
@pytest.mark.parametrize("other", [False, True])
def test_permlane16(arch: str, other: bool) -> None:
    x, lanes = _image(arch, 2), np.arange(32)
    name = "v_permlanex16_b32" if other else "v_permlane16_b32"
    select = 0x0123456789ABCDEF
    body = f"s_mov_b32 s60, {select & 0xFFFFFFFF:#x}\ns_mov_b32 s61, {select >> 32:#x}\n"
    body += f"{name} v40, v2, s60, s61\n{_exec(arch, 0x7FFF7FFF)}{name} v41, v2, s60, s61 op_sel:[1,0]\n"
    body += f"{name} v42, v2, s60, s61\n{name} v43, v2, s60, s61 op_sel:[0,1]\n{_full(arch)}"
    old = _image(arch, 3)
    got = run_registers(arch, body, [("v2", x), ("v40", np.repeat(old, 4, axis=1))], ("v40", 4))[0]
    source = (lanes & 16 ^ (16 if other else 0)) + (select >> 4 * (lanes & 15).astype(np.uint64) & 15).astype(int)
    moved, old, active = x[0, 0, source], old[0, 0], (lanes & 15) != 15
    readable = (source & 15) != 15
    assert np.array_equal(got[0], moved)
    assert np.array_equal(got[1], np.where(active, moved, old))
    assert np.array_equal(got[2], np.where(active & readable, moved, old))
    assert np.array_equal(got[3], np.where(active, np.where(readable, moved, 0), old))


def test_permlane16_by_register() -> None:
    x, select, lanes = _image("gfx1201", 4), _image("gfx1201", 5), np.arange(32)
    body = "v_permlane16_var_b32 v40, v2, v3\nv_permlanex16_var_b32 v41, v2, v3\n"
    got = run_registers("gfx1201", body, [("v2", x), ("v3", select)], ("v40", 2))[0]
    nibble = (select[0, 0] & 15).astype(int)
    assert np.array_equal(got[0], x[0, 0, (lanes & 16) + nibble])
    assert np.array_equal(got[1], x[0, 0, (lanes & 16 ^ 16) + nibble])


@pytest.mark.parametrize("arch", RDNA)
def test_permlane64_does_nothing_to_a_wave_of_32(arch: str) -> None:
    x = _image(arch, 6)
    assert np.array_equal(run_registers(arch, "v_permlane64_b32 v40, v2", [("v2", x)], ("v40", 1)), x)


@pytest.mark.parametrize("row", [16, 32])
def test_permlane_swap(row: int) -> None:
    a, b = _image("gfx950", 7), _image("gfx950", 8)
    got = run_registers("gfx950", f"v_permlane{row}_swap_b32 v40, v41", [("v40", a), ("v41", b)], ("v40", 2))[0]
    lanes = np.arange(64)
    odd = (lanes & row) != 0
    assert np.array_equal(got[0], np.where(odd, b[0, 0, lanes - row], a[0, 0]))
    assert np.array_equal(got[1], np.where(odd, b[0, 0], a[0, 0, (lanes + row) % 64]))


@pytest.mark.parametrize("arch", ARCHS)
def test_swap(arch: str) -> None:
    a, b = _image(arch, 9), _image(arch, 10)
    body = f"{_exec(arch, 0xFFFF)}v_swap_b32 v40, v41\n{_full(arch)}"
    got = run_registers(arch, body, [("v40", a), ("v41", b)], ("v40", 2))[0]
    active = np.arange(wave_size(arch)) < 16
    assert np.array_equal(got, [np.where(active, b[0, 0], a[0, 0]), np.where(active, a[0, 0], b[0, 0])])


@pytest.mark.parametrize("arch", RDNA)
def test_swap_halves(arch: str) -> None:
    a, b = _image(arch, 11), _image(arch, 12)
    got = run_registers(arch, "v_swap_b16 v40.h, v41.l", [("v40", a), ("v41", b)], ("v40", 2))[0]
    assert np.array_equal(got[0], a[0, 0] & 0xFFFF | b[0, 0] << 16)
    assert np.array_equal(got[1], b[0, 0] & 0xFFFF0000 | a[0, 0] >> 16)


@pytest.mark.parametrize("arch", RDNA)
def test_registers_through_m0(arch: str) -> None:
    a = np.concatenate([_image(arch, n) for n in range(20, 26)], axis=1)
    body = "s_mov_b32 m0, 3\nv_movrels_b32 v40, v20\nv_movreld_b32 v38, v21\nv_movrelsd_b32 v39, v22\n"
    got = run_registers(arch, body, [("v20", a)], ("v40", 3))[0]
    assert np.array_equal(got, a[0, [3, 1, 5]])


@pytest.mark.parametrize("arch", ["gfx90a"])
def test_indexed_registers_of_cdna(arch: str) -> None:
    a = np.concatenate([_image(arch, n) for n in range(20, 26)], axis=1)
    body = """s_mov_b32 s60, 2
s_set_gpr_idx_on s60, gpr_idx(SRC0)
v_mov_b32 v40, v21
s_set_gpr_idx_idx 4
v_mov_b32 v41, v21
s_set_gpr_idx_mode gpr_idx(DST)
v_mov_b32 v38, v20
s_set_gpr_idx_off
v_mov_b32 v43, v20
"""
    got = run_registers(arch, body, [("v20", a)], ("v40", 4))[0]
    assert np.array_equal(got, a[0, [3, 5, 0, 0]])


@pytest.mark.parametrize("arch", CDNA)
def test_accumulation_registers(arch: str) -> None:
    x = _image(arch, 13)
    body = "v_accvgpr_write_b32 a5, v2\nv_accvgpr_mov_b32 a250, a5\nv_accvgpr_read_b32 v40, a250\n"
    assert np.array_equal(run_registers(arch, body, [("v2", x)], ("v40", 1)), x)


# ---- DPP ------------------------------------------------------------------------------------------------------------

_MOVES: dict[str, Callable[[int], int | None]] = {
    "quad_perm:[1,3,0,2]": lambda n: (n & ~3) + (1, 3, 0, 2)[n & 3],
    "row_shl:3": lambda n: n + 3 if n % 16 < 13 else None,
    "row_shr:2": lambda n: n - 2 if n % 16 >= 2 else None,
    "row_ror:5": lambda n: (n & ~15) + (n - 5) % 16,
    "row_mirror": lambda n: n ^ 15,
    "row_half_mirror": lambda n: n ^ 7,
}
_CDNA_MOVES: dict[str, Callable[[int], int | None]] = {
    "row_newbcast:6": lambda n: (n & ~15) + 6,
    "wave_shl:1": lambda n: n + 1 if n < 63 else None,
    "wave_shr:1": lambda n: n - 1 if n else None,
    "wave_rol:1": lambda n: (n + 1) % 64,
    "wave_ror:1": lambda n: (n - 1) % 64,
    "row_bcast:15": lambda n: (n & ~15) - 1 if n >= 16 else None,
    "row_bcast:31": lambda n: 31 if n >= 32 else None,
}
_RDNA_MOVES: dict[str, Callable[[int], int | None]] = {
    "row_share:9": lambda n: (n & ~15) + 9,
    "row_xmask:6": lambda n: n ^ 6,
}


@pytest.mark.parametrize("arch", ARCHS)
def test_dpp(arch: str) -> None:
    lanes = wave_size(arch)
    x, y, old = (_image(arch, n)[0, 0] for n in (14, 15, 16))
    moves = _MOVES | (_CDNA_MOVES if lanes == 64 else _RDNA_MOVES)
    add = "v_add_u32_dpp" if lanes == 64 else "v_add_nc_u32_dpp"
    bound = "bound_ctrl:0" if lanes == 64 else "bound_ctrl:1"
    active = 0xFFFFFFFF_FFFFFDFF & ((1 << lanes) - 1)
    for control, source in moves.items():
        for options, zero, rows, banks in (("", False, 15, 15), (bound, True, 15, 15), ("", False, 0b0010, 0b0101)):
            text = f"{add} v40, v2, v3 {control} row_mask:{rows:#x} bank_mask:{banks:#x} {options}"
            inputs = [("v2", x[None, None]), ("v3", y[None, None]), ("v40", old[None, None])]
            got = run_registers(arch, _exec(arch, active) + text + "\n" + _full(arch), inputs, ("v40", 1))[0, 0]
            for lane in range(lanes):
                s = source(lane)
                readable = s is not None and active >> s & 1
                written = (
                    active >> lane & 1 and rows >> lane // 16 & 1 and banks >> lane // 4 % 4 & 1 and (readable or zero)
                )
                want = (
                    (int(x[s]) if readable and s is not None else 0) + int(y[lane]) & 0xFFFFFFFF
                    if written
                    else int(old[lane])
                )
                assert got[lane] == want, (text, lane)


@pytest.mark.parametrize("arch", RDNA)
def test_dpp8(arch: str) -> None:
    x = _image(arch, 17)
    got = run_registers(arch, "v_mov_b32_dpp v40, v2 dpp8:[7,0,1,2,6,5,4,3]", [("v2", x)], ("v40", 1))
    order = [8 * g + n for g in range(4) for n in (7, 0, 1, 2, 6, 5, 4, 3)]
    assert np.array_equal(got[0, 0], x[0, 0, order])


# ---- SDWA, clamp, omod, op_sel --------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", CDNA)
def test_sdwa(arch: str) -> None:
    x, y, old = (_image(arch, n) for n in (18, 19, 20))
    inputs = [("v2", x), ("v3", y), ("v40", np.repeat(old, 4, axis=1))]
    body = """v_add_u32_sdwa v40, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1
v_add_u32_sdwa v41, sext(v2), v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:BYTE_0
v_add_u32_sdwa v42, v2, v3 dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:DWORD
v_add_u32_sdwa v43, v2, v3 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD
"""
    got = run_registers(arch, body, inputs, ("v40", 4))[0]
    a, b, o = x[0, 0].astype(np.int64), y[0, 0].astype(np.int64), old[0, 0].astype(np.int64)
    assert np.array_equal(got[0], (a >> 8 & 255) + (b >> 16))
    top = a >> 24
    signed = np.where(top > 127, top - 256, top)
    assert np.array_equal(got[1], o & 0xFFFF | ((signed + (b & 255)) & 0xFFFF) << 16)
    assert np.array_equal(got[2], (((a & 0xFFFF) + b) & 255) << 16)
    word = a + b & 0xFFFF
    assert np.array_equal(got[3], np.where(word >> 15, word | 0xFFFF0000, word))


@pytest.mark.parametrize("arch", ARCHS)
def test_float_modifiers(arch: str) -> None:
    lanes = wave_size(arch)
    values = np.resize(np.array([0.25, -0.25, 3, -3, 0, np.nan, np.inf, -np.inf], np.float32), lanes)
    body = """v_add_f32 v40, -v2, |v2|
v_add_f32 v41, v2, 0.5 clamp
v_mul_f32 v42, v2, 2.0 mul:4
v_mul_f32 v43, -|v2|, 1.0 div:2
"""
    got = run_registers(arch, body, [("v2", values.view(np.uint32)[None, None])], ("v40", 4))[0].view(np.float32)
    with np.errstate(all="ignore"):
        want = [
            np.abs(values) - values,
            np.nan_to_num(np.clip(values + np.float32(0.5), 0, 1)),
            values * 8,
            -np.abs(values) / 2,
        ]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("arch", ARCHS)
def test_integer_clamp(arch: str) -> None:
    add = "v_add_u32" if arch.startswith("gfx9") else "v_add_nc_u32"
    sub = add.replace("add", "sub")
    x, y = _image(arch, 21), _image(arch, 22)
    got = run_registers(
        arch, f"{add}_e64 v40, v2, v3 clamp\n{sub}_e64 v41, v2, v3 clamp\n", [("v2", x), ("v3", y)], ("v40", 2)
    )[0]
    a, b = x[0, 0].astype(np.int64), y[0, 0].astype(np.int64)
    assert np.array_equal(got[0], np.minimum(a + b, 0xFFFFFFFF))
    assert np.array_equal(got[1], np.maximum(a - b, 0))


@pytest.mark.parametrize("arch", ARCHS)
def test_packed_selections(arch: str) -> None:
    x, y, z = (_image(arch, n) for n in (23, 24, 25))
    body = """v_pk_add_u16 v40, v2, v3 op_sel:[1,0] op_sel_hi:[0,1]
v_pk_mad_u16 v41, v2, v3, v4 op_sel:[0,1,1] op_sel_hi:[0,0,1]
v_pk_add_u16 v42, v2, 5 op_sel_hi:[1,0]
"""
    got = run_registers(arch, body, [("v2", x), ("v3", y), ("v4", z)], ("v40", 3))[0].astype(np.int64)
    (al, ah), (bl, bh), (_, ch) = (
        (v[0, 0].astype(np.int64) & 0xFFFF, v[0, 0].astype(np.int64) >> 16) for v in (x, y, z)
    )
    assert np.array_equal(got[0], (ah + bl & 0xFFFF) | (al + bh & 0xFFFF) << 16)
    assert np.array_equal(got[1], (al * bh + ch & 0xFFFF) | (al * bl + ch & 0xFFFF) << 16)
    assert np.array_equal(got[2], (al + 5 & 0xFFFF) | (ah + 5 & 0xFFFF) << 16)


@pytest.mark.parametrize("arch", ARCHS)
def test_half_results_and_the_other_half(arch: str) -> None:
    """gfx9 clears the high half but for three-operand instructions; later archs keep it."""
    x = _image(arch, 26)
    one = np.full_like(x, 0x3C003C00)
    keep = not arch.startswith("gfx9")
    add = "v_add_f16 v40.l, v2.l, v3.h" if arch.startswith("gfx11") else "v_add_f16 v40, v2, v3"
    fma = "v_fma_f16 v41.l, v2.l, v3.l, v4.l" if arch.startswith("gfx11") else "v_fma_f16 v41, v2, v3, v4"
    high = (
        "v_fma_f16 v42.h, v2.l, v3.l, v4.l"
        if arch.startswith("gfx11")
        else "v_fma_f16 v42, v2, v3, v4 op_sel:[0,0,0,1]"
    )
    inputs = [("v2", one), ("v3", one), ("v4", one), ("v40", np.repeat(x, 3, axis=1))]
    got = run_registers(arch, f"{add}\n{fma}\n{high}\n", inputs, ("v40", 3))[0]
    old, two = x[0, 0], np.uint32(0x4000)
    assert np.array_equal(got[0], old & 0xFFFF0000 | two if keep else np.full_like(old, two))
    assert np.array_equal(got[1], old & 0xFFFF0000 | two)
    assert np.array_equal(got[2], old & 0xFFFF | two << 16)


@pytest.mark.parametrize("arch", ARCHS)
def test_mixed_precision_operands(arch: str) -> None:
    halves = np.full((1, 1, wave_size(arch)), 0x40003C00, np.uint32)  # 1.0 low, 2.0 high
    single = np.full((1, 1, wave_size(arch)), 0x41200000, np.uint32)  # 10.0
    body = """v_fma_mix_f32 v40, v2, v3, v2 op_sel:[1,0,0] op_sel_hi:[1,0,1]
v_fma_mix_f32 v41, -v2, |v3|, v3 op_sel_hi:[1,0,0]
v_fma_mixlo_f16 v42, v2, v3, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]
v_fma_mixhi_f16 v42, v2, v3, v3 op_sel_hi:[1,0,0]
"""
    got = run_registers(arch, body, [("v2", halves), ("v3", single)], ("v40", 3))[0, :, 0]
    assert got[:2].view(np.float32).tolist() == [21, 0]
    assert got[2:].view(np.float16).tolist() == [30, 20]
