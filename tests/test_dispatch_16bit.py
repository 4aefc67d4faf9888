"""What the dispatcher picks for FP16 on RDNA: the choices that docs/fp16-rdna.md lists with their reasons. No GPU."""

from __future__ import annotations

import pytest

from cupygemm.arch import amd_arch
from cupygemm.dispatch import Decision, decide
from cupygemm.problem import GemmProblem, Matrix, Types
from cupygemm.tiles import Device, candidates

# Units as HIP counts them: pairs of compute units.
DEVICES = [Device(amd_arch("gfx1100"), 48), Device(amd_arch("gfx1151"), 20), Device(amd_arch("gfx1201"), 32)]


def choice(m: int, n: int, k: int, device: Device, operand: str = "f16") -> Decision:
    types = Types(operand, "f32", operand)
    problem = GemmProblem(m, n, k, (), Matrix(k, 1, (), 16), Matrix(1, n, (), 16), Matrix(n, 1, (), 16), types)
    answer = decide(problem, device)
    assert isinstance(answer, Decision)
    return answer


@pytest.mark.parametrize(
    ("shape", "tiles", "splits"),
    [
        ((8192, 8192, 8192), ["256x128"] * 3, [1, 1, 1]),
        ((8192, 28672, 8192), ["256x128"] * 3, [1, 1, 1]),
        ((4096, 4096, 4096), ["256x128"] * 3, [1, 1, 1]),
        ((1024, 1024, 1024), ["256x128", "256x128", "128x64"], [3, 1, 1]),
        ((16, 4096, 4096), ["16x128"] * 3, [6, 2, 4]),
        ((1, 4096, 4096), ["16x128"] * 3, [6, 2, 4]),
    ],
    ids=str,
)
def test_choices(shape, tiles, splits):
    found = [choice(*shape, device) for device in DEVICES]
    assert [f"{d.config.tile.block_m}x{d.config.tile.block_n}" for d in found] == tiles
    assert [d.splits for d in found] == splits


@pytest.mark.parametrize("device", DEVICES, ids=lambda d: d.arch.name)
def test_types_and_loads(device):
    config = choice(4096, 4096, 4096, device, "bf16").config
    assert config.types == Types("bf16", "f32", "bf16")
    assert (config.a.vec, config.b.vec, config.c_vec) == (8, 8, 8)
    assert config.a.whole
    assert config.b.whole
    odd = choice(2001, 4099, 4097, device).config
    assert (odd.a.vec, odd.b.vec, odd.c_vec) == (8, 8, 8)
    assert (odd.a.aligned, odd.b.aligned, odd.c_aligned) == (False, False, False)
    narrow = choice(100, 7, 97, device).config
    assert (narrow.a.vec, narrow.b.vec, narrow.c_vec) == (8, 1, 1)
    assert narrow.b.aligned


@pytest.mark.parametrize("device", DEVICES, ids=lambda d: d.arch.name)
def test_partial_products_are_fp32(device):
    config = choice(16, 4096, 4096, device).config
    assert config.split
    assert config.types.result == "f32"
    assert config.c_vec == 4


def test_blocks_are_grouped():
    for device in DEVICES:
        assert choice(8192, 8192, 8192, device).group_m == 8


def test_an_arch_without_wmma_has_no_16_bit_tiles():
    assert candidates(amd_arch("gfx1030"), Types("f16", "f32", "f16")) == ()
