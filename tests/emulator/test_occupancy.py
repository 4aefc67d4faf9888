"""Waves a SIMD, against the figure that clang writes under every kernel."""

from __future__ import annotations

import re

import pytest

from cupygemm.emulator import occupancy
from cupygemm.emulator.listing import parse_listing
from cupygemm.emulator.program import kernel_facts
from cupygemm.emulator.targets import TARGETS

from .harness import compile_hip


def clang_and_ours(arch: str, registers: int, lds: int = 0, agprs: int = 0, work_items: int = 256) -> tuple[int, float]:
    clobbers = [f'"v{registers - 1}"'] + ([f'"a{agprs - 1}"'] if agprs else [])
    source = f"""
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size({work_items}, {work_items}))) void k(int* a) {{
  {f"__shared__ int tile[{lds // 4}]; tile[__builtin_amdgcn_workitem_id_x()] = a[1];" if lds else ""}
  asm volatile("" ::: {", ".join(clobbers)}, "memory");
  a[0] = {"tile[a[2]]" if lds else 1};
}}"""
    text = compile_hip(source, arch)
    found = re.search(r"; Occupancy: (\d+)", text)
    assert found
    facts = kernel_facts(parse_listing(text), "k")
    ours = occupancy.waves_per_simd(
        TARGETS[arch],
        vgprs=facts.vgprs,
        agprs=facts.agprs,
        sgprs=facts.sgprs,
        lds_bytes=facts.static_lds,
        work_items=work_items,
        both_units=bool(facts.workgroup_processor_mode),
    )
    return int(found[1]), ours


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1102", "gfx1151", "gfx1201"])
@pytest.mark.parametrize("registers", [40, 80, 104, 120, 168, 256])
def test_registers_of_rdna(arch: str, registers: int) -> None:
    clang, ours = clang_and_ours(arch, registers)
    # Whole workgroups of 8 waves on 4 SIMDs: two waves a SIMD at a time.
    assert ours == clang // 2 * 2


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(("registers", "agprs"), [(40, 0), (65, 0), (129, 0), (200, 0), (100, 60), (130, 128)])
def test_registers_of_cdna(arch: str, registers: int, agprs: int) -> None:
    clang, ours = clang_and_ours(arch, registers, agprs=agprs)
    assert ours == clang


@pytest.mark.parametrize(
    ("arch", "lds", "waves"),
    [
        ("gfx942", 16 << 10, 4),  # four workgroups of one wave a SIMD
        ("gfx942", 40 << 10, 1),
        ("gfx950", 40 << 10, 4),
        ("gfx950", 41 << 10, 3),
        ("gfx1201", 32 << 10, 8),  # 128 KiB of both compute units: four workgroups of two waves a SIMD
        ("gfx1201", 40 << 10, 6),
    ],
)
def test_lds_limits_the_workgroups(arch: str, lds: int, waves: int) -> None:
    _, ours = clang_and_ours(arch, 16, lds=lds)
    assert ours == waves


def test_one_compute_unit_of_two() -> None:
    """40 KiB go three times into 128 KiB, but once into each half."""
    facts = {"vgprs": 16, "agprs": 0, "sgprs": 16, "lds_bytes": 40 << 10, "work_items": 256}
    assert occupancy.waves_per_simd(TARGETS["gfx1201"], both_units=True, **facts) == 6
    assert occupancy.waves_per_simd(TARGETS["gfx1201"], both_units=False, **facts) == 4


def test_barriers_limit_small_workgroups() -> None:
    """16 barriers a compute unit of CDNA: 16 workgroups of 2 waves on 4 SIMDs. One wave needs no barrier."""
    facts = {"vgprs": 16, "agprs": 0, "sgprs": 16, "lds_bytes": 0, "both_units": False}
    assert occupancy.waves_per_simd(TARGETS["gfx942"], work_items=128, **facts) == 8
    assert occupancy.waves_per_simd(TARGETS["gfx942"], work_items=64, **facts) == 8


def test_what_does_not_fit() -> None:
    facts = {"vgprs": 256, "agprs": 256, "sgprs": 16, "lds_bytes": 0, "both_units": False}
    assert occupancy.waves_per_simd(TARGETS["gfx942"], work_items=1024, **facts) == 0
