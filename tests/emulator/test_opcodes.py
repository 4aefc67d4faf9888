"""Every VALU and SALU opcode on every arch that has it, against a reference written a second time."""

from __future__ import annotations

import pytest

from .harness import ARCHS, executor
from .opcode_cases import CASES
from .opcode_runner import accepted, differences

#: Opcodes that other files test, by prefix of the name; the longest prefix counts.
ELSEWHERE = {
    "test_memory.py": """
        global_ flat_ buffer_ tbuffer_ scratch_ s_load_ s_buffer_ s_dcache_ s_scratch_ s_prefetch_ s_memtime
        s_memrealtime s_atc s_gl1 s_store s_get_waveid
    """,
    "test_ds.py": "ds_",
    "test_matrix.py": "v_mfma_ v_wmma_ v_smfmac_ v_swmmac_ v_cvt_scalef32",
    "test_control.py": """
        s_branch s_cbranch s_getpc s_setpc s_swappc s_call s_endpgm s_barrier s_sleep s_trap s_getreg
        s_setreg s_round_mode s_denorm_mode s_wait s_delay_alu s_nop v_nop v_pipeflush s_clause s_setprio
        s_setkill s_sethalt s_wakeup s_sendmsg s_icache_inv s_inst_prefetch s_set_inst_prefetch s_code_end
        s_ttracedata s_incperflevel s_decperflevel s_version unknown
    """,
    "test_salu.py": """
        s_movk s_cmovk s_addk s_mulk s_cmpk_ s_and_saveexec s_or_saveexec s_xor_saveexec s_nand_saveexec
        s_nor_saveexec s_xnor_saveexec s_andn1_ s_andn2_saveexec s_andn2_wrexec s_orn1_ s_orn2_saveexec
        s_and_not0_ s_and_not1_saveexec s_and_not1_wrexec s_or_not0_ s_or_not1_saveexec
    """,
    "test_lanes.py": """
        v_readfirstlane v_readlane v_writelane v_mbcnt_ v_permlane v_swap_ v_movrel v_mov_b32_indexed
        s_set_gpr_idx s_movrel v_accvgpr_
    """,
    "test_transcendental.py": "v_rcp_ v_rsq_ v_sqrt_ v_exp_ v_log_ v_sin_ v_cos_ v_s_ v_div_",
    "test_fp8.py": """
        v_cvt_f32_fp8 v_cvt_f32_bf8 v_cvt_pk_f32_fp8 v_cvt_pk_f32_bf8 v_cvt_pk_fp8 v_cvt_pk_bf8 v_cvt_sr_
    """,
    "test_dot.py": "v_dot2_f32 v_dot2c_f32 v_dot2acc_f32 v_dot2_f16 v_dot2_bf16 v_dot4_f32",
}
_PREFIXES = tuple(prefix for prefixes in ELSEWHERE.values() for prefix in prefixes.split())


def _named(arch: str) -> list[str]:
    return sorted(name for name in accepted(arch) if name in CASES)


def test_every_opcode_has_a_case() -> None:
    names = {opcode.name for opcode in executor().opcodes}
    missing = sorted(name for name in names if name not in CASES and not name.startswith(_PREFIXES))
    assert not missing


def test_every_case_runs_on_some_arch() -> None:
    """A reference that no arch's assembler takes an instruction for would never be compared."""
    known = {opcode.name for opcode in executor().opcodes}
    assert sorted(set(CASES) - known) == []
    run = {name for arch in ARCHS for name in accepted(arch)}
    assert sorted(set(CASES) - run) == []


@pytest.mark.parametrize("arch", ARCHS)
def test_opcodes(arch: str) -> None:
    names = _named(arch)
    failed = {}
    for name in names:
        found = differences(accepted(arch)[name], CASES[name], 96 if name.startswith("s_") else 256)
        if found:
            failed[name] = found
    print(f"{arch}: {len(names)} opcodes")
    assert not failed, "\n".join(f"{len(v)} x {v[0]}" for v in failed.values())
