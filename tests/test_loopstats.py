"""The counting tool, on listings small enough to count by hand."""

from __future__ import annotations

import pytest

from tests.static import loopstats

LISTING = """
	.text
k:
	s_load_b64 s[0:1], s[0:1], 0x0
	v_fma_f32 v9, v9, v9, v9
.LBB0_1:
	s_setprio 1
	v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]
	s_setprio 0
	v_dual_fmac_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v5, v6
	v_dual_fmac_f32 v1, v2, v3 :: v_dual_mov_b32 v4, v5
	v_add_nc_u32_e32 v1, 4, v1
	buffer_load_b128 v[0:3], v4, s[0:3], 0 offen
	ds_load_b128 v[0:3], v4 offset:16
	ds_store_b128 v4, v[0:3]
	s_waitcnt lgkmcnt(0)                    ; a comment
	s_barrier
	s_add_i32 s2, s2, 1
	s_cbranch_scc0 .LBB0_1
; %bb.2:
.LBB0_3:
	global_store_b32 v0, v1, s[0:1]
	s_cbranch_scc1 .LBB0_3
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel k
amdhsa.kernels:
  - .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 16
    .sgpr_count:     12
    .sgpr_spill_count: 1
    .vgpr_count:     34
    .vgpr_spill_count: 2
    .wavefront_size: 32
"""


def test_counts():
    found = loopstats().loop_stats(LISTING)
    assert found.kernel == "k"
    assert (found.vgprs, found.sgprs, found.spills, found.scratch, found.lds) == (34, 12, 3, 16, 1024)
    assert found.flops == 2 * 16**3 + 3 * 64
    assert found.instructions == 11
    assert found.kinds == {
        "matrix": 1, "fma": 2, "valu": 1, "global_load": 1, "lds_read": 1, "lds_write": 1, "wait": 1, "barrier": 1,
        "salu": 1, "branch": 1,
    }  # fmt: skip
    assert found.names["v_add_nc_u32"] == 1


def test_the_loop_inside_of_another_counts():
    outer = LISTING.replace(".LBB0_1:", ".LBB0_0:\n.LBB0_1:").replace(
        "; %bb.2:", "\tv_fma_f32 v9, v9, v9, v9\n\ts_cbranch_scc0 .LBB0_0"
    )
    assert outer.count("LBB0_0") == 2
    assert loopstats().loop_stats(outer) == loopstats().loop_stats(LISTING)


@pytest.mark.parametrize(
    ("text", "why"), [("", "0 kernels"), (LISTING.replace("s_cbranch_scc0", "s_nop"), "no loop that does arithmetic")]
)
def test_nothing_to_count(text, why):
    with pytest.raises(ValueError, match=why):
        loopstats().loop_stats(text)


LOAD, WORK = "buffer_load_b128 v[0:3], v4, s[0:3], 0 offen", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"


def of_loop(loop: tuple[str, ...]):
    """The counts of LISTING with another loop in it."""
    head, tail = LISTING[: LISTING.index(".LBB0_1:")], LISTING[LISTING.index("; %bb.2:") :]
    body = "".join(f"\t{line}\n" for line in (*loop, "s_cbranch_scc0 .LBB0_1"))
    return loopstats().loop_stats(f"{head}.LBB0_1:\n{body}{tail}")


@pytest.mark.parametrize(
    ("loop", "cover"),
    [
        ((LOAD, "s_waitcnt vmcnt(0)", WORK, WORK), 0),
        ((LOAD, WORK, WORK, "s_waitcnt vmcnt(0) lgkmcnt(0)"), 1),
        ((LOAD, WORK, "s_waitcnt vmcnt(0)", WORK), 0.5),
        ((LOAD, WORK, LOAD, "s_waitcnt vmcnt(1)", WORK, "s_waitcnt vmcnt(0)"), 0.5),
        ((WORK, "s_waitcnt vmcnt(0)", WORK, LOAD), 0.5),  # waited for in the next turn
        ((LOAD, WORK, "s_wait_loadcnt 0x0", WORK), 0.5),
        ((LOAD, LOAD, WORK, "s_wait_loadcnt_dscnt 0x100", WORK, "s_wait_loadcnt_dscnt 0x0"), 0.5),
        (("global_load_lds_dword v0, s[0:1]", "s_waitcnt vmcnt(0)", WORK), 0),
        ((LOAD, "s_waitcnt lgkmcnt(0)", WORK, "s_waitcnt vmcnt(0)"), 1),
    ],
)
def test_what_a_load_can_hide_behind(loop, cover):
    assert of_loop(loop).cover == cover


@pytest.mark.parametrize(
    ("loop", "gap"),
    [
        ((WORK, WORK), 1),  # the branch
        ((WORK, LOAD, "s_setprio 1", LOAD, WORK), 2),
        ((LOAD, WORK, LOAD), 3),  # from one turn to the next
    ],
)
def test_stretches_without_arithmetic(loop, gap):
    assert of_loop(loop).gap == gap
