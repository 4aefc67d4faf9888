"""The listing parser: operands, modifiers, labels, sections, source lines and kernel directives."""

from __future__ import annotations

import pytest

from cupygemm.emulator.expressions import evaluate
from cupygemm.emulator.listing import Operand, parse_listing, parse_operand
from cupygemm.emulator.waits import decode_waits


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("v7", Operand("v", first=7, name="v7")),
        ("v[4:7]", Operand("v", first=4, dwords=4, name="v[4:7]")),
        ("a[0:15]", Operand("a", first=0, dwords=16, name="a[0:15]")),
        ("s[2:3]", Operand("s", first=2, dwords=2, name="s[2:3]")),
        ("ttmp9", Operand("s", first=117, name="ttmp9")),
        ("vcc_lo", Operand("s", first=106, name="vcc_lo")),
        ("exec", Operand("s", first=126, dwords=2, name="exec")),
        ("v3.h", Operand("v", first=3, half="h", name="v3.h")),
        ("-v3", Operand("v", first=3, neg=True, name="v3")),
        ("|v3|", Operand("v", first=3, abs=True, name="v3")),
        ("-|s3|", Operand("s", first=3, neg=True, abs=True, name="s3")),
        ("neg(0x3f800000)", Operand("int", value=0x3F800000, neg=True)),
        ("sext(v1)", Operand("v", first=1, sext=True, name="v1")),
        ("-16", Operand("int", value=-16)),
        ("0xbf800000", Operand("int", value=0xBF800000)),
        ("-4.0", Operand("float", number=-4.0)),
        ("0.15915494309189532", Operand("float", number=0.15915494309189532)),
        ("[s4,s5]", Operand("s", first=4, dwords=2, name="[s4,s5]")),
        ("off", Operand("special", name="off")),
        ("tab@rel32@lo+4", Operand("symbol", name="tab", relocation="rel32@lo", value=4)),
        (".LBB0_3", Operand("label", name=".LBB0_3")),
        ("glc", None),
    ],
)
def test_operand(text: str, want: Operand | None) -> None:
    assert parse_operand(text) == want


def test_modifiers_with_and_without_operands() -> None:
    text = """
    v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xa bound_ctrl:1
    global_inv scope:SCOPE_DEV
    buffer_load_dword v1, s[0:3], 0 offen offset:64 lds
    ds_swizzle_b32 v1, v2 offset:swizzle(BITMASK_PERM, "00p11")
    """
    swap, inv, load, swizzle = parse_listing(text).statements
    assert [o.name for o in swap.operands] == ["v0", "v1"]
    assert swap.modifiers[0] == ("quad_perm", "[1,0,3,2]")
    assert swap.modifiers[2] == ("bank_mask", "0xa")
    assert inv.operands == ()
    assert inv.modifiers == (("scope", "SCOPE_DEV"),)
    assert load.modifiers == (("offen", ""), ("offset", "64"), ("lds", ""))
    assert swizzle.modifiers == (("offset", 'swizzle(BITMASK_PERM, "00p11")'),)


def test_dual_instruction() -> None:
    (pair,) = parse_listing("v_dual_mul_f32 v0, v1, v2 :: v_dual_mov_b32 v3, 0").statements
    assert pair.mnemonic == "v_dual_mul_f32"
    assert len(pair.operands) == 3
    assert pair.dual is not None
    assert pair.dual.mnemonic == "v_dual_mov_b32"
    assert pair.dual.operands[1].value == 0


def test_labels_sections_comments_and_source_lines() -> None:
    text = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942:sramecc+"
	.text
	.type	f,@function
f:                                      ; @f
	.file	1 "k.hip"
	.loc	1 7 3
	s_nop 0                             // a comment
.LBB0_1:
	s_branch .LBB0_1                    ; another
.Lfunc_end0:
	.section	.rodata,"a",@progbits
	s_nop 5
	.amdhsa_kernel f
		.amdhsa_next_free_vgpr max(3, f.num_vgpr)
	.end_amdhsa_kernel
	.text
	.set f.num_vgpr, 9
"""
    listing = parse_listing(text)
    assert [s.mnemonic for s in listing.statements] == ["s_nop", "s_branch"]
    assert listing.labels[".LBB0_1"] == 1
    assert listing.functions == {"f": (0, 2)}
    assert listing.statements[0].source == (1, 7)
    assert listing.files == {1: "k.hip"}
    assert listing.target == "gfx942"
    assert evaluate(listing.directives["f"]["next_free_vgpr"], listing.symbols) == 9
    assert listing.lines[listing.statements[1].line].strip().startswith("s_branch")


def test_unreadable_instruction_names_its_line() -> None:
    with pytest.raises(ValueError, match=r"line 2.*'%7'"):
        parse_listing("s_nop 0\nv_mov_b32 v0, %7")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("7", 7),
        ("0x10", 16),
        ("max(1, 2)+alignto(5, 4)", 10),
        ("(f.x*2)>>1", 3),
        ("totalnumvgprs(2, 5)", 10),
        ("1!=2", 1),
    ],
)
def test_expression(text: str, want: int) -> None:
    assert evaluate(text, {"f.x": "3"}) == want


def test_expression_with_an_unset_symbol() -> None:
    with pytest.raises(ValueError, match=r"f\.y is not set"):
        evaluate("f.y+1", {})


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("s_waitcnt vmcnt(3) lgkmcnt(0)", {0: 3, 2: 0}),
        ("s_waitcnt 0", {0: 0, 2: 0, 4: 0}),
        ("s_waitcnt_vscnt null, 0x2", {1: 2}),
        ("s_wait_loadcnt 0x5", {0: 5}),
        ("s_wait_loadcnt_dscnt 0x102", {0: 1, 2: 2}),
        ("s_wait_storecnt_dscnt 0x0", {1: 0, 2: 0}),
        ("s_wait_kmcnt 0x0", {3: 0}),
        ("s_wait_alu depctr_va_vcc(0)", {7: 0}),
    ],
)
def test_waits(text: str, want: dict[int, int]) -> None:
    (statement,) = parse_listing(text).statements
    got = decode_waits(statement).to_bytes(8, "little")
    assert {n: count for n, count in enumerate(got) if count != 0xFF} == want
