"""The counters, on kernels small enough to count by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cupygemm.emulator.executor import Counters

from .harness import ARCHS, Kernel, compile_hip
from .registers import BUFFER0, run_registers, wait_all, wave_size

#: What run_registers itself does for one input and one output register: an LDS-free load and store of 4 bytes a lane.
LDS = 64 << 10


def lds_read(arch: str, dwords: int) -> str:
    bits = 32 * dwords
    return f"ds_read_b{bits}" if arch.startswith("gfx9") else f"ds_load_b{bits}"


def lds_write(arch: str, dwords: int) -> str:
    return lds_read(arch, dwords).replace("read", "write").replace("load", "store")


def register_range(first: int, dwords: int) -> str:
    return f"v{first}" if dwords == 1 else f"v[{first}:{first + dwords - 1}]"


def count(arch: str, body: str, values: np.ndarray, **launch) -> Counters:
    """Counters of ``body`` with ``values`` (one a lane, uint32) in v16."""
    counters = Counters()
    image = np.asarray(values, np.uint32).reshape(1, -1)
    run_registers(arch, body, [("v16", image)], ("v16", 1), counters=counters, **launch)
    return counters


def lds_counts(arch: str, instruction: str, addresses: np.ndarray) -> tuple[int, int, int]:
    """(instructions, cycles, conflicts) of one LDS instruction; v16 holds the addresses, v20 and up are data."""
    c = count(arch, instruction, addresses, lds=LDS)
    return c.lds, c.lds_cycles, c.lds_conflicts


def banks(arch: str) -> int:
    return 64 if arch == "gfx950" else 32


# ---- LDS ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("stride", [1, 2, 3, 8, 32, 33, 64])
def test_strided_dwords_conflict_by_the_common_divisor(arch: str, stride: int) -> None:
    lanes = wave_size(arch)
    phases = max(1, lanes // banks(arch))
    in_one_phase = lanes // phases
    ways = min(math.gcd(stride, banks(arch)), in_one_phase)
    # Fewer lanes than banks meet only if their stride takes them round the banks.
    ways = max(1, ways * in_one_phase // banks(arch))
    got = lds_counts(arch, f"{lds_read(arch, 1)} v20, v16", 4 * stride * np.arange(lanes))
    assert got == (1, phases * ways, phases * (ways - 1))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dwords", [1, 2, 4])
def test_contiguous_accesses_of_any_width_have_no_conflict(arch: str, dwords: int) -> None:
    lanes = wave_size(arch)
    addresses = 4 * dwords * np.arange(lanes)
    cycles = lanes * dwords // banks(arch) or 1
    data = register_range(20, dwords)
    assert lds_counts(arch, f"{lds_read(arch, dwords)} {data}, v16", addresses) == (1, cycles, 0)
    assert lds_counts(arch, f"{lds_write(arch, dwords)} v16, {data}", addresses) == (1, cycles, 0)


@pytest.mark.parametrize("arch", ARCHS)
def test_one_dword_for_all_lanes_is_a_broadcast(arch: str) -> None:
    phases = max(1, wave_size(arch) // banks(arch))
    assert lds_counts(arch, f"{lds_read(arch, 1)} v20, v16", np.full(wave_size(arch), 64)) == (1, phases, 0)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_planted_conflict_is_counted_exactly(arch: str) -> None:
    """Lane 5 asks for another dword of lane 0's bank; lanes 6 and 7 for two more."""
    addresses = 4 * np.arange(wave_size(arch))
    phases = max(1, wave_size(arch) // banks(arch))
    read = f"{lds_read(arch, 1)} v20, v16"
    addresses[5] = 4 * banks(arch)
    assert lds_counts(arch, read, addresses) == (1, phases + 1, 1)
    addresses[6:8] = 8 * banks(arch), 12 * banks(arch)
    assert lds_counts(arch, read, addresses) == (1, phases + 3, 3)


@pytest.mark.parametrize("arch", ARCHS)
def test_only_active_lanes_conflict(arch: str) -> None:
    """All lanes in one bank, but two are active."""
    mask = "s_mov_b64 exec, 3\n" if arch.startswith("gfx9") else "s_mov_b32 exec_lo, 3\n"
    restore = "\ns_mov_b64 exec, -1" if arch.startswith("gfx9") else "\ns_mov_b32 exec_lo, -1"
    addresses = 4 * banks(arch) * np.arange(wave_size(arch))
    read = f"{lds_read(arch, 1)} v20, v16"
    assert lds_counts(arch, mask + read + restore, addresses) == (1, 2, 1)
    nobody = mask.replace(", 3", ", 0")
    assert lds_counts(arch, nobody + read + restore, addresses) == (1, 0, 0)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_wide_reads_on_cdna_group_other_lanes_than_wide_writes(arch: str) -> None:
    """Groups of four lanes 0-3 lie in the lower half of 32 banks and 4-7 in the upper: a read serves 0 with 5, 1 with 4
    and so on, a write 0 with 1."""
    quad = np.arange(64) // 4
    half = 16 * (quad % 8 // 4)
    dword = 64 * quad + half + 4 * (np.arange(64) % 4)
    if arch == "gfx950":  # four groups a phase: {0, 3, 5, 6} and {1, 2, 4, 7}; give each its own quarter of 64 banks
        quarter = np.array([0, 0, 1, 1, 2, 2, 3, 3])[quad % 8]
        dword = 64 * quad + 16 * quarter + 4 * (np.arange(64) % 4)
    phases = 64 * 4 // banks(arch)
    assert lds_counts(arch, "ds_read_b128 v[20:23], v16", 4 * dword) == (1, phases, 0)
    assert lds_counts(arch, "ds_write_b128 v16, v[20:23]", 4 * dword) == (1, 2 * phases, phases)


@pytest.mark.parametrize("arch", ARCHS)
def test_two_address_forms_count_both(arch: str) -> None:
    name = "ds_read2_b32" if arch.startswith("gfx9") else "ds_load_2addr_b32"
    lanes, width = wave_size(arch), banks(arch)
    phases = max(1, lanes // width)
    contiguous = lds_counts(arch, f"{name} v[20:21], v16 offset1:128", 4 * np.arange(lanes))
    assert contiguous == (1, 2 * phases, 0)
    one_bank = lds_counts(arch, f"{name} v[20:21], v16 offset1:1", 4 * width * (np.arange(lanes) % 2))
    assert one_bank == (1, 4 * phases, 2 * phases)


# ---- Global memory --------------------------------------------------------------------------------------------------


def line_bytes(arch: str) -> int:
    return 64 if arch == "gfx90a" else 128


def global_counts(arch: str, addresses: np.ndarray, width: int = 1) -> tuple[int, int, int]:
    """(read instructions, bytes, lines) that one load at ``addresses`` (bytes into an aligned buffer) adds."""
    nine = arch.startswith("gfx9")
    name = f"global_load_dword{'x' + str(width) if width > 1 else ''}" if nine else f"global_load_b{32 * width}"
    load = f"{name} {register_range(20, width)}, v16, s[{BUFFER0}:{BUFFER0 + 1}]\n" + wait_all(arch)
    block = np.zeros(1 << 16, np.uint8)
    buffer = block[-block.ctypes.data % 256 :][: 1 << 15]
    with_load = count(arch, load, addresses, buffers=[buffer])
    without = count(arch, wait_all(arch), addresses, buffers=[buffer])
    names = ("vmem_read", "bytes_read", "lines_read")
    return tuple(getattr(with_load, n) - getattr(without, n) for n in names)  # type: ignore[return-value]


@pytest.mark.parametrize("arch", ARCHS)
def test_coalesced_and_scattered_loads(arch: str) -> None:
    lanes, line = wave_size(arch), line_bytes(arch)
    lane = np.arange(lanes)
    assert global_counts(arch, 4 * lane) == (1, 4 * lanes, 4 * lanes // line)
    assert global_counts(arch, 4 * lane + 4) == (1, 4 * lanes, 4 * lanes // line + 1)
    assert global_counts(arch, 4 * (lanes - 1 - lane)) == (1, 4 * lanes, 4 * lanes // line)
    assert global_counts(arch, line * lane) == (1, 4 * lanes, lanes)
    assert global_counts(arch, 0 * lane) == (1, 4 * lanes, 1)
    assert global_counts(arch, line * (lane % 2)) == (1, 4 * lanes, 2)
    assert global_counts(arch, 16 * lane, width=4) == (1, 16 * lanes, 16 * lanes // line)
    # Every lane's 16 bytes straddle two lines of its own.
    assert global_counts(arch, 2 * line * lane + line - 8, width=4) == (1, 16 * lanes, 2 * lanes)


@pytest.mark.parametrize("arch", ARCHS)
def test_stores_and_atomics(arch: str) -> None:
    nine, lanes = arch.startswith("gfx9"), wave_size(arch)
    add = "global_atomic_add" if nine else "global_atomic_add_u32"
    returned = {"gfx90a": "glc", "gfx12": "th:TH_ATOMIC_RETURN"}.get(arch[:5] if not nine else arch, "glc")
    returned = "sc0" if arch in ("gfx942", "gfx950") else returned
    base = f"s[{BUFFER0}:{BUFFER0 + 1}]"
    buffer = np.zeros(4096, np.uint32)
    without = count(arch, wait_all(arch), 4 * np.arange(lanes), buffers=[buffer])
    plain = count(arch, f"{add} v16, v16, {base}\n" + wait_all(arch), 4 * np.arange(lanes), buffers=[buffer])
    result = count(arch, f"{add} v20, v16, v16, {base} {returned}\n" + wait_all(arch), 4 * np.arange(lanes),
                   buffers=[buffer])  # fmt: skip
    assert (plain.vmem_write - without.vmem_write, plain.bytes_written - without.bytes_written) == (1, 4 * lanes)
    assert plain.vmem_read == without.vmem_read
    assert (result.vmem_read - without.vmem_read, result.bytes_read - without.bytes_read) == (1, 4 * lanes)
    assert result.vmem_write == without.vmem_write


# ---- Instructions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHS)
def test_every_unit_once_a_turn_of_a_loop(arch: str) -> None:
    """Seven turns on two waves of three workgroups."""
    nine = arch.startswith("gfx9")
    vmem = "global_load_dword v2, v1, s[16:17]" if nine else "global_load_b32 v2, v1, s[16:17]"
    store = vmem.replace("load", "store").replace("v2, v1", "v1, v2")
    load = "s_load_dwordx2 s[16:17], s[0:1], 0x0" if nine else "s_load_b64 s[16:17], s[0:1], 0x0"
    barrier = "s_barrier_signal -1\ns_barrier_wait -1" if arch.startswith("gfx12") else "s_barrier"
    text = f"""
{load}
v_lshlrev_b32_e32 v1, 2, v0
s_movk_i32 s20, 0x0
{wait_all(arch)}
.LBB0_1:
{vmem}
{wait_all(arch)}
{store}
{lds_write(arch, 1)} v1, v2
{lds_read(arch, 1)} v3, v1
{wait_all(arch)}
{barrier}
v_add_f32_e32 v2, v3, v3
s_nop 0
s_add_i32 s20, s20, 1
s_cmp_lt_i32 s20, 7
s_cbranch_scc1 .LBB0_1
s_endpgm
"""
    lanes = wave_size(arch)
    data, c = np.zeros(2 * lanes, np.float32), Counters()
    Kernel.from_assembly(text, arch).launch(3, 2 * lanes, data, dynamic_lds=8 * lanes, counters=c)
    waves = 6
    assert c.waves == waves
    assert {
        n: getattr(c, n) for n in ("smem", "valu", "salu", "branch", "vmem_read", "vmem_write", "lds", "barrier")
    } == {
        "smem": waves,
        "valu": waves * 8,
        "salu": waves * (1 + 2 * 7),
        "branch": waves * 7,
        "vmem_read": waves * 7,
        "vmem_write": waves * 7,
        "lds": waves * 14,
        "barrier": waves * 7,
    }
    assert (c.bytes_read, c.bytes_written) == (waves * 7 * 4 * lanes,) * 2
    assert (c.valu_flops, c.vopd, c.matrix) == (waves * 7 * lanes, 0, 0)


@pytest.mark.parametrize(
    ("instruction", "flops"),
    [
        ("v_add_f32_e32 v20, v16, v16", 1),
        ("v_sub_f32_e32 v20, v16, v16", 1),
        ("v_mul_f32_e32 v20, v16, v16", 1),
        ("v_fma_f32 v20, v16, v16, v16", 2),
        ("v_fmac_f32_e32 v20, v16, v16", 2),
        ("v_pk_fma_f16 v20, v16, v16, v16", 4),
        ("v_pk_add_f16 v20, v16, v16", 2),
        ("v_fma_f64 v[20:21], v[16:17], v[16:17], v[16:17]", 2),
        ("v_rcp_f32_e32 v20, v16", 1),
        ("v_dot2_f32_f16 v20, v16, v16, v16", 4),
        ("v_max_f32_e32 v20, v16, v16", 0),
        ("v_cvt_f16_f32_e32 v20, v16", 0),
        ("v_mul_lo_u32 v20, v16, v16", 0),
        ("v_mov_b32_e32 v20, v16", 0),
    ],
)
def test_operations_of_active_lanes(instruction: str, flops: int) -> None:
    arch = "gfx1100"
    body = f"s_mov_b32 exec_lo, 0xff\n{instruction}\ns_mov_b32 exec_lo, -1"
    c = count(arch, body, np.zeros(32))
    assert (c.valu_flops, c.matrix_flops, c.matrix_iops) == (8 * flops, 0, 0)


@pytest.mark.parametrize(
    ("arch", "instruction", "flops", "iops"),
    [
        ("gfx1100", "v_wmma_f32_16x16x16_f16 v[32:39], v[40:47], v[48:55], v[32:39]", 8192, 0),
        ("gfx1201", "v_wmma_f32_16x16x16_fp8_fp8 v[32:39], v[40:41], v[48:49], v[32:39]", 8192, 0),
        ("gfx1201", "v_wmma_i32_16x16x16_iu8 v[32:39], v[40:41], v[48:49], v[32:39]", 0, 8192),
        ("gfx942", "v_mfma_f32_32x32x8_f16 v[32:47], v[48:49], v[50:51], v[32:47]", 16384, 0),
        ("gfx942", "v_mfma_f32_16x16x4_4b_f16 v[32:47], v[48:49], v[50:51], v[32:47]", 8192, 0),
        ("gfx942", "v_mfma_f64_16x16x4_f64 v[32:39], v[48:49], v[50:51], v[32:39]", 2048, 0),
        ("gfx942", "v_mfma_f64_4x4x4_4b_f64 v[32:33], v[48:49], v[50:51], v[32:33]", 512, 0),
        ("gfx942", "v_mfma_i32_16x16x32_i8 v[32:35], v[48:49], v[50:51], v[32:35]", 0, 16384),
        ("gfx90a", "v_mfma_f32_32x32x1f32 v[32:63], v48, v50, v[32:63]", 4096, 0),
        ("gfx950", "v_mfma_f32_16x16x128_f8f6f4 v[32:35], v[48:55], v[56:63], v[32:35]", 65536, 0),
    ],
)
def test_matrix_instructions(arch: str, instruction: str, flops: int, iops: int) -> None:
    lanes = wave_size(arch)
    base = count(arch, "", np.zeros(lanes))
    c = count(arch, f"{instruction}\n{instruction}", np.zeros(lanes))
    assert (c.matrix, c.valu - base.valu) == (2, 2)
    assert (c.matrix_flops, c.matrix_iops, c.valu_flops) == (2 * flops, 2 * iops, 0)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1151", "gfx1201"])
def test_a_vopd_pair_is_one_instruction_and_both_operations(arch: str) -> None:
    base = count(arch, "", np.zeros(32))
    pair = "v_dual_fmac_f32 v20, v16, v16 :: v_dual_mul_f32 v21, v16, v16"
    crossed = "v_dual_mul_f32 v20, v21, v16 :: v_dual_mul_f32 v21, v20, v16"  # decoded with a helper move
    c = count(arch, f"{pair}\n{crossed}", np.zeros(32))
    assert (c.valu - base.valu, c.vopd, c.valu_flops) == (2, 2, 32 * (2 + 1 + 1 + 1))


def test_threads_add_up_and_the_result_is_the_same() -> None:
    source = """
extern "C" __global__ void k(const float* x, float* y) {
  int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  for (int n = 0; n <= i % 7; n++) sum += x[i] * n;
  y[i] = sum;
}"""
    kernel = Kernel.from_hip(source, "gfx1201")
    x = np.arange(256 * 40, dtype=np.float32)
    y = np.zeros_like(x)
    results = []
    for threads, counted in ((1, False), (1, True), (3, True)):
        y[:], c = 0, Counters()
        kernel.launch(40, 256, x, y, threads=threads, counters=c if counted else None)
        results.append((y.copy(), c))
    (plain, none), (one, single), (three, several) = results
    assert np.array_equal(plain, one)
    assert np.array_equal(plain, three)
    assert bytes(single) == bytes(several)
    assert (none.waves, single.waves) == (0, 40 * 8)


def test_counting_and_checking_at_once() -> None:
    c, checked = Counters(), Counters()
    kernel = Kernel.from_assembly(compile_hip(PLAIN, "gfx942"), "gfx942")
    x = np.zeros(512, np.float32)
    kernel.launch(2, 256, x, counters=c)
    kernel.launch(2, 256, x, counters=checked, check=True)
    assert bytes(c) == bytes(checked)
    assert c.vmem_write == 8


PLAIN = """
extern "C" __global__ void k(float* y) {
  y[__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x()] = 1;
}"""
