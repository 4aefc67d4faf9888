"""Branches, calls, barriers, MODE, launch geometry, endless loops, and that waits and hints change nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cupygemm.emulator.executor import ExecutorError

from .harness import ARCHS, Kernel, executor
from .opcode_runner import accepted
from .registers import run_registers, wave_size

WAVE32 = [a for a in ARCHS if not a.startswith("gfx9")]
CDNA = [a for a in ARCHS if a.startswith("gfx9")]


def _scalar(arch: str, body: str) -> int:
    """v40 of lane 0 after ``body``."""
    return int(run_registers(arch, body, [], ("v40", 1))[0, 0, 0])


def _mask(arch: str, name: str) -> str:
    return name if arch.startswith("gfx9") else name + "_lo"


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("set_up", "branch", "taken"),
    [
        ("s_cmp_eq_u32 1, 1", "s_cbranch_scc1", True),
        ("s_cmp_eq_u32 1, 2", "s_cbranch_scc1", False),
        ("s_cmp_eq_u32 1, 2", "s_cbranch_scc0", True),
        ("s_cmp_eq_u32 1, 1", "s_cbranch_scc0", False),
        ("s_mov_M VCC, 0", "s_cbranch_vccz", True),
        ("s_mov_M VCC, 4", "s_cbranch_vccz", False),
        ("s_mov_M VCC, 4", "s_cbranch_vccnz", True),
        ("s_mov_M VCC, 0", "s_cbranch_vccnz", False),
        ("s_mov_M EXEC, 0", "s_cbranch_execz", True),
        ("s_mov_M EXEC, 1", "s_cbranch_execz", False),
        ("s_mov_M EXEC, 1", "s_cbranch_execnz", True),
        ("s_mov_M EXEC, 0", "s_cbranch_execnz", False),
        ("", "s_branch", True),
    ],
)
def test_branch(arch: str, set_up: str, branch: str, taken: bool) -> None:
    size = "b64" if arch.startswith("gfx9") else "b32"
    text = set_up.replace("_M", "_" + size).replace("VCC", _mask(arch, "vcc")).replace("EXEC", _mask(arch, "exec"))
    body = f"""s_mov_b32 s60, 1
{text}
{branch} .LBB0_1
s_mov_b32 s60, 2
.LBB0_1:
s_mov_{size} {_mask(arch, "exec")}, -1
v_mov_b32 v40, s60
"""
    assert _scalar(arch, body) == (1 if taken else 2)


@pytest.mark.parametrize("arch", ARCHS)
def test_call_and_return(arch: str) -> None:
    body = """s_mov_b32 s60, 5
s_branch .LBB0_2
.LBB0_1:
s_mul_i32 s60, s60, 3
s_setpc_b64 s[62:63]
.LBB0_2:
s_call_b64 s[62:63], .LBB0_1
s_call_b64 s[62:63], .LBB0_1
v_mov_b32 v40, s60
"""
    assert _scalar(arch, body) == 45


def test_jump_to_no_instruction() -> None:
    with pytest.raises(ExecutorError, match="no instruction's address"):
        Kernel.from_assembly("s_mov_b64 s[4:5], 12\ns_setpc_b64 s[4:5]\ns_endpgm", "gfx942").launch(1, 64)


@pytest.mark.parametrize("arch", ARCHS)
def test_endless_loop_is_stopped(arch: str) -> None:
    kernel = Kernel.from_assembly("s_nop 0\n.LBB0_1:\ns_nop 1\ns_branch .LBB0_1\ns_endpgm", arch)
    with pytest.raises(ExecutorError, match=r"assembly line 4: s_branch .*\n.*does not end"):
        kernel.launch(1, 64, budget=1000)


def test_code_without_an_end() -> None:
    with pytest.raises(ExecutorError, match="past the end"):
        Kernel.from_assembly("s_nop 0", "gfx1201").launch(1, 32)


@pytest.mark.parametrize("arch", ARCHS)
def test_trap(arch: str) -> None:
    with pytest.raises(ExecutorError, match="s_trap 2"):
        Kernel.from_assembly("s_trap 2\ns_endpgm", arch).launch(1, 64)


@pytest.mark.parametrize("arch", ARCHS)
def test_barrier_orders_all_waves(arch: str) -> None:
    """Each wave reads what the last wave has written before the barrier, and the first one after the next."""
    source = """
    #define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
                 __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    extern "C" __global__ void f(int* a, int n) {
      __shared__ int s[512];
      int i = __builtin_amdgcn_workitem_id_x(), sum = 0;
      for (int k = 0; k < n; k++) { s[i] = i * k + 1; SYNC sum += s[511 - i]; SYNC }
      a[__builtin_amdgcn_workgroup_id_x() * 512 + i] = sum;
    }"""
    kernel = Kernel.from_hip(source, arch)
    assert any("s_barrier" in s.mnemonic for s in kernel.listing.statements)
    a = np.zeros(3 * 512, np.int32)
    kernel.launch(3, 512, a, np.int32(4))
    other = 511 - np.arange(1536) % 512
    assert np.array_equal(a, other * 6 + 4)


def test_split_barrier() -> None:
    text = """
s_barrier_signal -1
s_barrier_wait -1
s_barrier_signal_isfirst -1
s_cselect_b32 s10, 1, 0
s_barrier_wait -1
s_load_b64 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
v_mov_b32 v2, s10
global_store_b32 v1, v2, s[4:5]
s_endpgm"""
    a = np.full(96, 7, np.int32)
    Kernel.from_assembly(text, "gfx1201").launch(1, 96, a)
    assert sorted(a[::32]) == [0, 0, 1]


@pytest.mark.parametrize("arch", ARCHS)
def test_barrier_that_never_completes(arch: str) -> None:
    """Wave 0 waits at a barrier that the other, asleep for ever, does not reach: the sleep loop runs out of budget."""
    barrier = "s_barrier_signal -1\ns_barrier_wait -1" if arch == "gfx1201" else "s_barrier"
    lanes = wave_size(arch)
    text = f"""v_readfirstlane_b32 s10, v0
s_cmp_lt_u32 s10, {lanes}
s_cbranch_scc1 .LBB0_2
.LBB0_1:
s_sleep 1
s_branch .LBB0_1
.LBB0_2:
{barrier}
s_endpgm"""
    with pytest.raises(ExecutorError, match="does not end"):
        Kernel.from_assembly(text, arch).launch(1, 2 * lanes, budget=100)


@pytest.mark.parametrize("arch", ARCHS)
def test_waves_that_have_ended_do_not_hold_up_a_barrier(arch: str) -> None:
    barrier = "s_barrier_signal -1\ns_barrier_wait -1" if arch == "gfx1201" else "s_barrier"
    text = f"""v_readfirstlane_b32 s10, v0
s_cmp_lt_u32 s10, {wave_size(arch)}
s_cbranch_scc1 .LBB0_1
{barrier}
.LBB0_1:
s_endpgm"""
    Kernel.from_assembly(text, arch).launch(1, 4 * wave_size(arch))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("threads", [1, 2])
def test_ids_of_a_three_dimensional_launch(arch: str, threads: int) -> None:
    source = """
    extern "C" __global__ void f(int* a) {
      int x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
      int z = __builtin_amdgcn_workitem_id_z(), g = 2 * __builtin_amdgcn_workgroup_id_z();
      g = __builtin_amdgcn_workgroup_id_x() + 3 * (__builtin_amdgcn_workgroup_id_y() + g);
      a[g * 105 + x + 5 * (y + 7 * z)] += 1 + x + 16 * y + 256 * z + 4096 * g;
    }"""
    a = np.zeros(3 * 2 * 5 * 105, np.int32)
    Kernel.from_hip(source, arch).launch((3, 2, 5), (5, 7, 3), a, threads=threads)
    n = np.arange(a.size)
    item = n % 105
    assert np.array_equal(a, 1 + item % 5 + 16 * (item // 5 % 7) + 256 * (item // 35) + 4096 * (n // 105))


@pytest.mark.parametrize("arch", ARCHS)
def test_mode_register(arch: str) -> None:
    """Round mode of f32 to +infinity for one addition, back to nearest for the next."""
    one, small = np.float32(1), np.float32(2**-30)
    values = [
        ("v2", np.full((1, 1, wave_size(arch)), one.view(np.uint32))),
        ("v3", np.full((1, 1, wave_size(arch)), small.view(np.uint32))),
    ]
    body = """s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
v_add_f32 v40, v2, v3
s_getreg_b32 s60, hwreg(HW_REG_MODE, 0, 4)
s_mov_b32 s61, 0
s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s61
v_add_f32 v41, v2, v3
v_mov_b32 v42, s60
"""
    got = run_registers(arch, body, values, ("v40", 3))[0, :, 0]
    assert got.tolist() == [0x3F800001, 0x3F800000, 1]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("keep", [True, False])
def test_denormal_mode(arch: str, keep: bool) -> None:
    lanes = wave_size(arch)
    values = [
        ("v2", np.full((1, 1, lanes), 0x00400000, np.uint32)),
        ("v3", np.full((1, 1, lanes), 0x3F000000, np.uint32)),
    ]
    body = f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), {3 if keep else 0}\n"
    body += "v_mul_f32 v40, v2, 1.0\nv_max_f32 v41, v2, v2\nv_add_f32 v42, v2, v2\n"
    if arch == "gfx1201":
        body = body.replace("v_max_f32", "v_max_num_f32")
    got = run_registers(arch, body, values, ("v40", 3))[0, :, 0]
    assert got.tolist() == ([0x00400000, 0x00400000, 0x00800000] if keep else [0, 0, 0])


@pytest.mark.parametrize("arch", WAVE32)
def test_round_and_denorm_mode_instructions(arch: str) -> None:
    body = """s_round_mode 0x9
s_denorm_mode 6
s_getreg_b32 s60, hwreg(HW_REG_MODE, 0, 8)
s_round_mode 0
s_denorm_mode 15
v_mov_b32 v40, s60
"""
    assert _scalar(arch, body) == 0x69


_HINT_NAMES = """s_wait s_delay_alu s_nop v_nop v_pipeflush s_clause s_setprio s_setkill s_sethalt s_wakeup s_sendmsg
    s_icache_inv s_inst_prefetch s_set_inst_prefetch s_code_end s_ttracedata s_incperflevel s_decperflevel s_version
    s_sleep
"""
HINTS = tuple(_HINT_NAMES.split())
_HINT_OPERANDS = {
    "s_delay_alu": "instid0(VALU_DEP_1)",
    "s_sendmsg": "sendmsg(MSG_INTERRUPT)",
    "s_waitcnt": "vmcnt(0) lgkmcnt(0)",
    "s_wait_alu": "depctr_va_vcc(0)",
    "s_waitcnt_depctr": "depctr_va_vcc(0)",
}


def test_hints_change_no_register() -> None:
    """All hints and waits of the table, on every arch alike: what an arch lacks does no harm."""
    names = sorted({o.name for o in executor().opcodes if o.name.startswith(HINTS)})
    lines = []
    for name in names:
        signature = next(o.signature for o in executor().opcodes if o.name == name)
        operands = _HINT_OPERANDS.get(
            name, ", ".join((["null"] if "any,any" in signature else []) + (["0"] if signature != "=" else []))
        )
        lines.append(f"{name} {operands}".strip())
    assert len(lines) > 30
    for arch in ("gfx942", "gfx1201"):
        before = np.arange(wave_size(arch), dtype=np.uint32)[None, None]
        got = run_registers(
            arch,
            "s_cmp_eq_u32 1, 1\n" + "\n".join(lines) + "\ns_cselect_b32 s60, 1, 0\nv_mov_b32 v41, s60",
            [("v40", before)],
            ("v40", 2),
        )
        assert np.array_equal(got[0, 0], before[0, 0])
        assert set(got[0, 1]) == {1}


def test_the_assembler_knows_the_hints_of_an_arch() -> None:
    """Guards the names in the table: each is an instruction of some arch."""
    known = {name for arch in ARCHS for name in accepted(arch)}
    spelled = {"s_waitcnt", "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_expcnt", "s_waitcnt_lgkmcnt"}
    names = {o.name for o in executor().opcodes if re.match("s_wait", o.name)}
    assert {n for n in names - known - spelled if not n.startswith("s_wait_")} <= {"s_waitcnt_depctr"}
