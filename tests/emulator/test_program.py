"""Decoding: constants, opcode lookup, VOPD order, symbols, calls, unknown instructions, descriptors."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from cupygemm.emulator import encode, values
from cupygemm.emulator.executor import ExecutorError
from cupygemm.emulator.listing import parse_listing, parse_operand
from cupygemm.emulator.program import assemble, create_kernel, kernel_facts

from .harness import ARCHS, Kernel, compile_hip, executor, opcode_index
from .registers import run_registers


def test_instruction_layout_is_the_executors() -> None:
    assert executor().lib.emu_insn_size() == encode.INSN_BYTES


@pytest.mark.parametrize(
    ("text", "type_name", "want"),
    [
        ("1.0", "f16", 0x3C00),
        ("1.0", "bf16", 0x3F80),
        ("1.0", "f32", 0x3F800000),
        ("1.0", "b32", 0x3F800000),
        ("1.0", "f64", 0x3FF0000000000000),
        ("1.0", "b64", 0x3FF0000000000000),
        ("1.0", "pf16", 0x3C00),
        ("1.0", "pf32", 0x3F8000003F800000),
        ("-1", "b32", 0xFFFFFFFF),
        ("-1", "b64", 0xFFFFFFFFFFFFFFFF),
        ("-1", "pi16", 0xFFFFFFFF),
        ("2", "f64", 2),
        ("0x40240000", "f64", 0x4024000000000000),
        ("0xfffe7960", "b64", 0xFFFE7960),
        ("0xfffffffffffe7960", "b64", 0xFFFFFFFFFFFE7960),
        ("0.15915494309189532", "f32", 0x3E22F983),
        ("0.15915494309189532", "f16", 0x3118),
        ("0.15915494309189532", "f64", 0x3FC45F306DC9C882),
    ],
)
def test_constant(text: str, type_name: str, want: int) -> None:
    operand = parse_operand(text)
    assert operand is not None
    assert values.encode_constant(operand, type_name) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("swizzle(QUAD_PERM, 0, 1, 2, 3)", 0x80E4),
        ("swizzle(SWAP, 16)", 0x401F),
        ("swizzle(REVERSE, 8)", 0x1C1F),
        ("swizzle(BROADCAST, 32, 5)", 0x00A0),
        ('swizzle(BITMASK_PERM, "01pip")', 0x0907),
        ("1055", 1055),
    ],
)
def test_swizzle(text: str, want: int) -> None:
    assert values.encode_swizzle(text) == want


def test_encoding_suffixes_and_dual_prefix_are_dropped() -> None:
    index = opcode_index()
    for mnemonic in ("v_add_f32", "v_add_f32_e32", "v_add_f32_e64_dpp", "v_add_f32_sdwa", "v_dual_add_f32"):
        assert index.base_name(mnemonic) == "v_add_f32"
    assert index.base_name("v_no_such_thing_e32") == "v_no_such_thing_e32"


_SOURCES = [("v2", np.full((1, 1, 32), 2, np.uint32)), ("v3", np.full((1, 1, 32), 3, np.uint32))]


@pytest.mark.parametrize(
    ("pair", "want"),
    [
        ("v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2", [3, 2]),
        ("v_dual_mov_b32 v2, v3 :: v_dual_add_nc_u32 v3, v3, v2", [3, 5]),
        ("v_dual_add_nc_u32 v2, v3, v2 :: v_dual_mov_b32 v3, v2", [5, 2]),
        ("v_dual_mov_b32 v2, 7 :: v_dual_mov_b32 v3, v2", [7, 2]),
        ("v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, 7", [3, 7]),
    ],
)
def test_dual_halves_read_before_either_writes(pair: str, want: list[int]) -> None:
    got = run_registers("gfx1201", pair, _SOURCES, ("v2", 2))
    assert got[0, :, 0].tolist() == want


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_unknown_instruction_stops_only_when_executed(arch: str) -> None:
    skipped = Kernel.from_assembly("s_branch .LBB0_1\nv_frobnicate_b32 v0, v1\n.LBB0_1:\ns_endpgm", arch)
    assert skipped.program.unknown == ("v_frobnicate_b32",)
    skipped.launch(1, 64)
    executed = Kernel.from_assembly("s_nop 0\nv_frobnicate_b32 v0, v1\ns_endpgm", arch)
    with pytest.raises(ExecutorError, match=r"assembly line 2: v_frobnicate_b32 v0, v1\n.*does not know") as error:
        executed.launch(1, 64)
    assert arch in str(error.value)


def test_unknown_modifier_is_an_error_that_names_the_line() -> None:
    with pytest.raises(ValueError, match="assembly line 1: unknown modifier 'frob'"):
        Kernel.from_assembly("v_add_f32 v0, v1, v2 frob:1", "gfx1201")


@pytest.mark.parametrize("arch", ARCHS)
def test_function_call(arch: str) -> None:
    source = """
    __device__ __attribute__((noinline)) int twice(int x, int n) {
      int s = 0;
      for (int j = 0; j < n; j++) s += 2 * x + j;
      return s;
    }
    extern "C" __global__ void f(int* a, int n) {
      int i = __builtin_amdgcn_workitem_id_x();
      a[i] = twice(a[i], n) + twice(i, 3);
    }
    """
    kernel = Kernel.from_hip(source, arch)
    assert any(s.mnemonic == "s_swappc_b64" for s in kernel.listing.statements)
    a = np.arange(64, dtype=np.int32)
    want = 2 * a * 5 + 10 + 2 * np.arange(64) * 3 + 3
    kernel.launch(1, 64, a, np.int32(5))
    assert np.array_equal(a, want)


@pytest.mark.parametrize("arch", ARCHS)
def test_constant_data(arch: str) -> None:
    source = """
    __device__ __attribute__((constant)) const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    extern "C" __global__ void f(int* a) {
      int i = __builtin_amdgcn_workitem_id_x();
      a[i] = table[a[i] & 7] + table[5];
    }
    """
    listing = parse_listing(compile_hip(source, arch))
    table = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)
    names = {o.name for s in listing.statements for o in s.operands if o.kind == "symbol"}
    program = assemble(listing, opcode_index(), symbols=dict.fromkeys(names, table.ctypes.data))
    a = np.arange(64, dtype=np.int32)[::-1].copy()
    want = table[a & 7] + 9
    handle = create_kernel(executor(), program, kernel_facts(listing, "f"))
    executor().add_memory(a.ctypes.data, a.nbytes)
    executor().add_memory(table.ctypes.data, table.nbytes)
    try:
        executor().launch(handle, (1, 1, 1), (64, 1, 1), struct.pack("<Q", a.ctypes.data) + bytes(256))
    finally:
        executor().remove_memory(a.ctypes.data)
        executor().remove_memory(table.ctypes.data)
        executor().destroy_kernel(handle)
    assert np.array_equal(a, want)


@pytest.mark.parametrize("arch", ARCHS)
def test_facts_of_a_compiled_kernel(arch: str) -> None:
    source = """
    extern "C" __global__ void f(float* a) { __shared__ float s[100]; int i = __builtin_amdgcn_workitem_id_x();
      s[i] = a[i]; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); a[i] = s[99 - i]; }
    """
    facts = Kernel.from_hip(source, arch).facts
    assert facts.static_lds == 400
    assert facts.kernarg_bytes == 8
    assert facts.private_bytes == 0
    assert facts.wave_size == (64 if arch.startswith("gfx9") else 32)
    assert facts.float_mode == 0xF0
    flushing = Kernel.from_hip(source, arch, "-fcuda-flush-denormals-to-zero").facts
    assert flushing.float_mode == 0xC0


def test_report_has_kernel_line_workgroup_wave_lane() -> None:
    text = "v_lshlrev_b32 v1, 2, v0\ns_load_b64 s[4:5], s[0:1], 0x0\nglobal_store_b32 v1, v0, s[4:5] offset:0\ns_endpgm"
    a = np.zeros(40, np.int32)
    with pytest.raises(ExecutorError) as error:
        Kernel.from_assembly(text, "gfx1201").launch(3, 64, a)
    report = str(error.value)
    for part in (
        "kernel kernel",
        "assembly line 3: global_store_b32",
        "workgroup (0, 0, 0)",
        "wave 1",
        "lane 8",
        "out-of-bounds",
    ):
        assert part in report
