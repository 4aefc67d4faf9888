"""The mutation proof, thinned: what tools/mutation.py does to all kernels (docs/mutation.md), here for one or two of
each architecture and with a sample of the faults; CUPYGEMM_TEST_FULL=1 tries all barriers and waits of them."""

from __future__ import annotations

import re

import pytest

from cupygemm.emulator.compiler import assemble
from tests.conftest import FULL
from tools.mutate import BARRIER, KINDS, WAIT, WEAK_WAIT, Mutant, apply, mutants
from tools.mutation import counts, evenly, judge, table
from tools.survivors import ANALYSIS, PROVEN, REPORT
from tools.waitflow import hazards

from .shipped import cases

#: Faults of a kind, but for barriers.
_SAMPLE = 5
_KERNELS = [
    ("gfx1100", "i8"),
    ("gfx1201", "e4m3"),
    ("gfx942", "packed"),
    ("gfx942", "f32-unaligned"),
    ("gfx950", "blocks"),
]


@pytest.mark.parametrize(("arch", "name"), _KERNELS)
def test_faults_are_found(arch, name):
    kernel = cases(arch)[name]()
    assert kernel.verdict() == ""
    every = mutants(kernel.listing)
    chosen = []
    for kind in KINDS:
        own = [m for m in every if m.kind == kind]
        chosen += evenly(own, 0 if kind == BARRIER or (FULL and kind in (WAIT, WEAK_WAIT)) else _SAMPLE)
    outcomes = judge(kernel, chosen)
    assert [o.mutant for o in outcomes] == chosen
    for o in outcomes:
        assert o.killed or o.sort, f"line {o.mutant.line + 1}, {o.mutant.kind}: {o.mutant.before}"
        if o.mutant.kind == BARRIER:
            assert o.killed == REPORT, o
            assert re.search("LDS race|uninitialised value", o.detail), o.detail
        if o.mutant.kind in (WAIT, WEAK_WAIT):
            assert o.killed or o.sort == PROVEN, o
            assert o.killed != REPORT or re.search("missing wait|LDS race", o.detail), o.detail
    assert counts(outcomes)[0] >= 0.7 * len(outcomes)


@pytest.mark.parametrize("arch", ["gfx1201", "gfx942"])
def test_mutants_assemble(arch):
    """The real assembler takes what the emulator decoded."""
    kernel = cases(arch)["f32-small"]()
    found = mutants(kernel.listing)
    together = kernel.listing
    for kind in KINDS:
        together = apply(together, [m for m in found if m.kind == kind][-1])
    assert assemble(together) != assemble(kernel.listing)


def one(text: str, kind: str) -> list[str]:
    """What becomes of the first line of each mutant of that kind."""
    return [m.after for m in mutants(text) if m.kind == kind]


@pytest.mark.parametrize(("line", "kind", "expected"), [
    ("s_barrier", "barrier removed", ["s_nop 0"]),
    ("s_waitcnt vmcnt(3) lgkmcnt(0)", "wait removed", ["s_nop 0"]),
    ("s_waitcnt vmcnt(3) lgkmcnt(0)", "wait weakened",
     ["s_waitcnt vmcnt(4) lgkmcnt(0)", "s_waitcnt vmcnt(3) lgkmcnt(1)"]),
    ("s_wait_loadcnt_dscnt 0x102", "wait weakened", ["s_wait_loadcnt_dscnt 0x202", "s_wait_loadcnt_dscnt 0x103"]),
    ("s_wait_alu depctr_sa_sdst(0)", "wait removed", []),
    ("ds_load_b128 v[0:3], v4 offset:64", "LDS address", ["ds_load_b128 v[0:3], v4 offset:80"]),
    ("ds_read_b64 v[0:1], v4", "LDS address", ["ds_read_b64 v[0:1], v4 offset:8"]),
    ("ds_write2_b32 v1, v2, v3 offset1:255", "LDS address",
     ["ds_write2_b32 v1, v2, v3 offset1:255 offset0:1", "ds_write2_b32 v1, v2, v3 offset1:254"]),
    ("v_cmp_gt_i32_e32 vcc, s3, v4", "bounds check", ["v_cmp_ge_i32_e32 vcc, s3, v4"]),
    ("s_cmp_eq_u32 s0, 1", "bounds check", ["s_cmp_lg_u32 s0, 1"]),
    ("v_min_i32_e32 v1, s15, v6", "bounds check", ["v_mov_b32_e32 v1, v6"]),
    ("s_and_saveexec_b64 s[2:3], vcc", "EXEC mask", ["s_mov_b64 s[2:3], exec"]),
    ("s_or_b32 exec_lo, exec_lo, s3", "EXEC mask", ["s_nop 0"]),
    ("v_lshrrev_b32_e32 v6, 2, v0", "lane mapping", ["v_lshrrev_b32_e32 v6, 3, v0"]),
    ("v_and_b32_e32 v7, 60, v1", "lane mapping", ["v_and_b32_e32 v7, 56, v1"]),
    ("v_dual_mov_b32 v7, 0 :: v_dual_lshlrev_b32 v2, 3, v0", "lane mapping",
     ["v_dual_mov_b32 v7, 0 :: v_dual_lshlrev_b32 v2, 4, v0"]),
])  # fmt: skip
def test_mutants_of_one_line(line, kind, expected):
    assert one(f"\t{line} ; comment", kind) == expected


def test_both_halves_of_a_split_barrier_go():
    text = "\ts_barrier_signal -1\n\ts_nop 1\n\ts_barrier_wait 0xffff"
    (mutant,) = [m for m in mutants(text) if m.kind == BARRIER]
    assert apply(text, mutant) == "\ts_nop 0\n\ts_nop 1\n\ts_nop 0"


def test_stores_exchange_their_data():
    text = "\tglobal_store_b128 v[0:1], v[4:7], off\n\tglobal_store_b128 v[2:3], v[8:11], off"
    (mutant,) = [m for m in mutants(text) if m.kind == "store data"]
    assert "v[0:1], v[8:11], off" in apply(text, mutant)
    assert "v[2:3], v[4:7], off" in apply(text, mutant)


LOOP = """
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\tglobal_load_dword v1, v0, s[0:1]
\tglobal_load_dword v2, v0, s[0:1]
.LBB0_1:
\ts_waitcnt vmcnt({})
\tds_write_b32 v0, v1
\ts_waitcnt lgkmcnt({})
\ts_barrier
\tglobal_load_dword v1, v0, s[0:1]
\ts_cbranch_scc1 .LBB0_1
\ts_endpgm
"""


@pytest.mark.parametrize(("counts", "lines"), [((0, 0), []), ((1, 0), [6, 9]), ((0, 1), [8])])
def test_hazards_along_the_paths(counts, lines):
    """On the way around the loop, v1 is the youngest load; on the way in, v2 is. Line 9 would overtake the load."""
    assert [h.line for h in hazards(LOOP.format(*counts))] == lines


def test_scalar_loads_need_a_wait_for_none():
    text = (
        "\ts_load_dword s4, s[0:1], 0x0\n\ts_load_dword s5, s[0:1], 0x4\n\ts_waitcnt lgkmcnt({})\n\ts_add_i32 s4, s4, 1"
    )
    assert hazards(text.format(0)) == []
    assert [h.line for h in hazards(text.format(1))] == [3]


def test_a_guarded_wait_counts_only_where_it_is_passed():
    text = "\ts_load_dword s4, s[0:1], 0x0\n\ts_cbranch_execz .L1\n\ts_waitcnt lgkmcnt(0)\n.L1:\n\ts_mov_b32 s5, s4"
    assert [h.line for h in hazards(text)] == [4]
    assert hazards(text, skips=False) == []


FLAG = """
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\ts_mov_b64 s[4:5], {}
\tglobal_load_dword v1, v0, s[0:1]
\ts_cbranch_scc1 .LBB0_2
\ts_waitcnt vmcnt(0)
\ts_mov_b64 s[4:5], {}
.LBB0_2:
\ts_andn2_b64 vcc, exec, s[4:5]
\ts_cbranch_vccnz .LBB0_4
\tv_mov_b32_e32 v2, v1
.LBB0_4:
\ts_endpgm
"""


@pytest.mark.parametrize(("before", "after", "lines"), [(0, -1, []), (-1, 0, [10]), (0, 0, []), (-1, -1, [10])])
def test_flags_tell_paths_apart(before, after, lines):
    """-1 leads to the use of v1, which is waited for on one of the two ways there."""
    assert [h.line for h in hazards(FLAG.format(before, after))] == lines


class _Silent:
    """A kernel on which no run shows anything, and whose code no run reaches."""

    listing = "\tglobal_load_dword v1, v0, s[0:1]\n\ts_waitcnt vmcnt(0)\n\tv_mov_b32_e32 v2, v1"
    config = arch = None
    threads = 64

    def verdict(self, mutant: Mutant | None = None) -> str:
        return ""

    verdict_of_more = verdict

    def trap(self, text: str, more: bool = True) -> None:
        return None


def test_waits_that_no_run_reaches_are_judged_by_the_analysis():
    (mutant,) = [m for m in mutants(_Silent.listing) if m.kind == WAIT]
    (outcome,) = judge(_Silent(), [mutant])
    assert outcome.killed == ANALYSIS
    assert "v1 used before" in outcome.detail
    text = table({("x", "k"): [outcome]})
    assert "| wait removed | 1 | 1 | 100 % | 0 | 0 | 0 | 0 |" in text
    assert "| x k |  | 1/1 |  |  |  |  |  |  | 0 | 0 | 0 |" in text
