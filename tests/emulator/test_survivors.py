"""How survivors of the mutation proof are told apart: probes, origins of numbers, quotients."""

from __future__ import annotations

import numpy as np
import pytest

from cupygemm.emulator.executor import ExecutorError
from tools.difference import probe
from tools.mutate import BOUNDS, EXEC, LANES, Mutant, mutants
from tools.origins import BLOCK, PATH, THREAD, of_half, origins, same_number
from tools.quotient import corrects, worst

from .harness import Kernel

ARGUMENTS = {0: ("m", 1, 2**31 - 1), 4: ("n", 1, 2**31 - 1), 8: ("a", -(2**31), 2**31 - 1)}


def traps(arch: str, text: str, kind: str, before: str) -> bool:
    """Whether one wave sees the first mutant of a line that begins with ``before`` differ."""
    mutant = next(m for m in mutants(text) if m.kind == kind and m.before.startswith(before))
    probed, lines = probe(text, [mutant], 64 if arch.startswith("gfx9") else 32)
    assert list(lines.values()) == [mutant]
    assert probed.split("\n")[next(iter(lines))].strip() == "s_trap 2"
    try:
        Kernel.from_assembly(probed, arch).launch(1, 64 if arch.startswith("gfx9") else 32)
    except ExecutorError as error:
        return "s_trap" in str(error)
    return False


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942"])
@pytest.mark.parametrize(("kind", "line", "differs"), [
    (BOUNDS, "v_cmp_gt_u32_e32 {vcc}, 31, v0", True),
    (BOUNDS, "v_cmp_gt_u32_e32 {vcc}, 64, v0", False),
    (BOUNDS, "v_min_u32_e32 v1, 30, v0", True),
    (BOUNDS, "v_min_u32_e32 v1, 63, v0", False),
    (BOUNDS, "s_cmp_ge_u32 s4, 7", True),
    (BOUNDS, "s_cmp_ge_u32 s4, 6", False),
    (LANES, "v_lshrrev_b32_e32 v1, 4, v0", True),
    (LANES, "v_lshrrev_b32_e32 v1, 6, v0", False),
    (LANES, "s_lshr_b32 s5, s4, 1", True),
    (LANES, "s_lshl_b64 s[6:7], s[8:9], 1", False),
    (EXEC, "s_and_saveexec_b{size} {saved}, {mask}", True),
])  # fmt: skip
def test_a_probe_traps_where_results_differ(arch, kind, line, differs):
    wide = arch == "gfx942"
    names = {"vcc": "vcc", "size": "64", "saved": "s[10:11]", "mask": "s[4:5]"} if wide else {
        "vcc": "vcc_lo", "size": "32", "saved": "s10", "mask": "s4"}  # fmt: skip
    line = line.format(**names)
    text = f"\ts_mov_b64 s[4:5], 7\n\ts_mov_b64 s[8:9], 0\n\t{line}\n\ts_endpgm"
    assert traps(arch, text, kind, line) == differs


def test_a_probe_leaves_scc_alone():
    """The branch after the comparison goes its way, past the trap."""
    text = "\ts_mov_b32 s4, 6\n\ts_cmp_ge_u32 s4, 7\n\ts_cbranch_scc0 .L1\n\ts_trap 2\n.L1:\n\ts_endpgm"
    assert not traps("gfx942", text, BOUNDS, "s_cmp_ge_u32")


KERNEL = """
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\tv_lshrrev_b32_e32 v1, 4, v0
\ts_waitcnt lgkmcnt(0)
\ts_add_i32 s6, s4, -1
\ts_ashr_i32 s7, s6, 31
\ts_lshr_b32 s7, s7, 28
\tv_cmp_gt_i32_e32 vcc, s5, v1
\ts_and_saveexec_b64 s[8:9], vcc
\ts_cbranch_execz .LBB0_2
\tv_add_u32_e32 v2, s2, v1
.LBB0_2:
\ts_or_b64 exec, exec, s[8:9]
\tv_add_u32_e32 v3, v1, v2
\ts_cmp_lt_i32 s4, 5
\ts_cbranch_scc1 .LBB0_4
\tv_mov_b32_e32 v1, 0
.LBB0_4:
\tv_mov_b32_e32 v4, v1
\ts_endpgm
"""


def sources(line: str) -> frozenset[str]:
    lines = KERNEL.split("\n")
    found = origins(KERNEL, 128, ARGUMENTS)[lines.index(f"\t{line}")]
    return frozenset().union(*(value.sources for value in found))


@pytest.mark.parametrize(("line", "expected"), [
    ("v_lshrrev_b32_e32 v1, 4, v0", {THREAD}),
    ("s_ashr_i32 s7, s6, 31", {"m"}),
    ("v_cmp_gt_i32_e32 vcc, s5, v1", {"n", THREAD}),
    ("v_add_u32_e32 v2, s2, v1", {"n", THREAD, BLOCK}),
    ("v_add_u32_e32 v3, v1, v2", {"n", THREAD, BLOCK}),
    ("v_mov_b32_e32 v1, 0", set()),
    ("v_mov_b32_e32 v4, v1", {THREAD, PATH}),
])  # fmt: skip
def test_origins(line, expected):
    assert sources(line) == expected


def test_the_halves_of_a_dual_instruction():
    line = "\tv_dual_cndmask_b32 v1, v2, v3 :: v_dual_and_b32 v4, 15, v5"
    text = f"\ts_load_b64 s[4:5], s[0:1], 0x0\n\tv_mov_b32 v2, s4\n\tv_mov_b32 v3, s5\n\tv_mov_b32 v5, v0\n{line}"
    read = origins(text, 32, ARGUMENTS)[4]
    names = [frozenset[str]().union(*(x.sources for x in of_half(line, second, read))) for second in (False, True)]
    assert names == [{"m", "n", BLOCK}, {THREAD}]


def test_the_sign_of_a_positive_number_is_0():
    lines = KERNEL.split("\n")
    line = lines.index("\ts_lshr_b32 s7, s7, 28")
    read = origins(KERNEL, 128, ARGUMENTS)[line]
    assert same_number(lines[line], "\ts_lshr_b32 s7, s7, 29", read)
    unsure = origins(KERNEL, 128, {0: ("m", -5, 2**31 - 1)})[line]
    assert not same_number(lines[line], "\ts_lshr_b32 s7, s7, 29", unsure)


def test_a_quotient_is_at_most_one_too_small():
    for first in (1, 2**20, 2**24 - 2**18, 2**31 - 2**18, 2**32 - 2**18):
        assert worst(np.arange(first, first + 2**18, dtype=np.uint64)) < 2


def test_corrections_come_in_pairs():
    division = "\tv_rcp_iflag_f32_e32 v1, v1\n\ts_cmp_ge_u32 s7, s5\n\ts_cselect_b32 s7, s10, s7\n\ts_cmp_ge_u32 s7, s5"
    assert [corrects(division, n) for n in range(4)] == [False, True, False, True]
    assert not corrects(division.replace("s_cmp_ge_u32 s7, s5", "s_cmp_ge_u32 s7, s6", 1), 3)
    assert not corrects("\ts_cmp_ge_u32 s7, s5\n\ts_cmp_ge_u32 s7, s5", 1)


def test_mutants_that_cannot_be_probed_are_left_out():
    swapped = Mutant("store data", ((0, "\ts_nop 0"), (1, "\ts_nop 0")), "s_nop 1")
    assert probe("\ts_nop 1\n\ts_nop 1", [swapped], 64)[1] == {}
