"""What the compiler says of the MFMA kernels without a GPU: registers, spills, LDS, and what the hot loop issues.

Figures of other kernels in the same terms, counted from their machine code: FP16 on gfx942 8066 FLOPs an instruction
with B K-contiguous and 6026 row-major (rocBLAS), on gfx950 8066 (FlyDSL) and 7654 (Triton); FP8 10230 on gfx942
(Triton) and 21454 on gfx950 (FlyDSL); FP32 on gfx942 2089 with B K-contiguous and 1317 row-major (rocBLAS).
"""

from __future__ import annotations

import dataclasses
import re

import pytest

from cupygemm.arch import Arch, amd_arch
from cupygemm.kernel_config import Finish, KernelConfig
from cupygemm.ladder import decision
from cupygemm.mfma_tile import MfmaTile
from cupygemm.packing import pack_access
from cupygemm.problem import Types
from cupygemm.tiles import candidates
from tests.static import covered, listing, shipped, stats
from tools.figures import square

GFX90A, GFX942, GFX950 = (amd_arch(name) for name in ("gfx90a", "gfx942", "gfx950"))
F16, BF16, FP8 = Types("f16", "f32", "f16"), Types("bf16", "f32", "bf16"), Types("e4m3", "f32", "bf16")
INT8, F32, F64 = Types("i8", "i32", "i8"), Types(), Types("f64", "f64", "f64")
SIZE = 8192


def config_of(tile: MfmaTile, types: Types, layout: str) -> KernelConfig:
    """A tile's kernel for a large product; "r" operands are row-major, "c" column-major."""
    return decision(tile, square(types, layout, SIZE)).config


def largest(arch: Arch, types: Types) -> MfmaTile:
    tile = candidates(arch, types)[0].tile
    assert isinstance(tile, MfmaTile)
    return tile


def agprs(config: KernelConfig, arch: Arch) -> int:
    return int(re.search(r"\.agpr_count:\s+(\d+)", listing(config, arch))[1])


def matrix_instructions(names: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in names.items() if name.startswith("v_mfma")}


@pytest.mark.parametrize(
    ("arch", "types", "layout", "least"),
    [
        (GFX942, F16, "rc", 8200),
        (GFX942, F16, "rr", 6500),
        (GFX942, BF16, "rc", 8200),
        (GFX950, F16, "rc", 8200),
        (GFX950, F16, "rr", 7700),
        (GFX90A, F16, "rc", 8200),
        (GFX942, FP8, "rc", 10500),
        (GFX950, FP8, "rc", 28000),
        (GFX942, INT8, "rc", 10500),
        (GFX942, F32, "rc", 2800),
        (GFX942, F32, "rr", 2600),
        (GFX942, F32, "cr", 2400),
        (GFX90A, F32, "rc", 2600),
        (GFX950, F32, "rc", 2600),
        (GFX942, F64, "rc", 1200),
        (GFX942, F64, "rr", 1150),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_flops_per_instruction(arch, types, layout, least):
    found = stats(shipped(square(types, layout, SIZE), largest(arch, types), arch), arch)
    assert found.spills == found.scratch == 0
    assert found.flops_per_instruction >= least


@pytest.mark.parametrize(
    ("arch", "types", "layout", "least"),
    [
        (GFX942, F16, "rc", 8200),
        (GFX942, F16, "rr", 6500),
        (GFX950, F16, "rc", 8200),
        (GFX950, F16, "rr", 7700),
        (GFX942, INT8, "rc", 16000),
        (GFX942, F32, "rr", 2600),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_odd_sizes(arch, types, layout, least):
    """Rows of 8191 elements are aligned to one element. Loads are as wide as ever."""
    found = stats(shipped(square(types, layout, SIZE - 1), largest(arch, types), arch), arch)
    assert found.spills == found.scratch == 0
    assert {n for n in found.names if re.match("(buffer|global)_load", n)} == {"buffer_load_dwordx4"}
    assert found.flops_per_instruction >= least


@pytest.mark.parametrize("arch", [GFX90A, GFX942, GFX950], ids=lambda a: a.name)
@pytest.mark.parametrize("types", [F16, BF16, FP8, INT8, F32, F64], ids=lambda t: t.name)
@pytest.mark.parametrize("layout", ["rc", "cr"])
def test_every_tile_of_the_tables(arch, types, layout):
    if types == BF16 and layout == "cr":
        pytest.skip("moves data as f16 does")
    for candidate in candidates(arch, types):
        if not isinstance(candidate.tile, MfmaTile):
            continue
        config = shipped(square(types, layout, SIZE), candidate.tile, arch)
        found = stats(config, arch)
        assert found.spills == found.scratch == 0, config.name
        assert found.lds == candidate.tile.lds_bytes, config.name
        assert found.names.get("s_barrier", 0) <= 2, config.name
        assert covered(found, candidate.tile), config.name
        assert not [n for n in found.names if re.search("flat_|_mul_|_div|mad_.*64", n)], config.name
        memory = sum(n for name, n in found.names.items() if name.startswith(("ds_", "buffer_", "global_")))
        if candidate.tile.block_m * candidate.tile.block_n >= 128 * 128:
            assert memory < 0.4 * found.instructions, config.name


@pytest.mark.parametrize(
    ("arch", "types", "layout", "most"),
    [(GFX942, F16, "rc", 36), (GFX942, FP8, "rc", 36), (GFX950, F16, "rc", 16), (GFX950, FP8, "rc", 16)],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_other_instructions_are_spread_over_the_matrix_instructions(arch, types, layout, most):
    """What is left in a row is the commit: barrier, writes, barrier, or where tiles go straight to LDS one barrier."""
    found = stats(shipped(square(types, layout, SIZE), largest(arch, types), arch), arch)
    assert found.gap <= most


@pytest.mark.parametrize("arch", [GFX942, GFX950], ids=lambda a: a.name)
def test_copies_in_assembly_have_the_wait_states_that_the_compiler_would_add(arch):
    """A scalar register that a vector instruction wrote may be the address of one of the vector memory only 5
    instructions later, and m0 must be set one before (LLVM's GCNHazardRecognizer); inside of assembly nobody looks."""
    tiles = [dataclasses.replace(c.tile, direct=True, buffers=2) for c in candidates(arch, F16) if c.tile.block_n > 32]
    seen = 0
    for tile in tiles:
        if tile.lds_bytes > arch.lds_bytes:
            continue
        lines = re.findall(r"^\t([a-z]\S+)(?: (.*))?$", listing(config_of(tile, F16, "rc"), arch), re.M)
        for at, (name, operands) in enumerate(lines):
            if not name.startswith("global_load_lds"):
                continue
            seen += 1
            assert [lines[at - 2][0], lines[at - 1][0]] == ["s_add_u32", "s_nop"]
            assert lines[at - 2][1].startswith("m0,")
            base = re.search(r"s\[(\d+):(\d+)\]", operands)
            written = {f"s{n}" for n in range(int(base[1]), int(base[2]) + 1)}
            for other, text in lines[max(0, at - 6) : at]:
                assert not (other.startswith("v_read") and text.split(",")[0] in written), tile.name
    assert seen > 50


def test_the_lock_stepped_kernel():
    """256x256x64 with 4 waves of 16x16x16: all accumulators stay in AGPRs and nothing is moved about."""
    tile = dataclasses.replace(largest(GFX942, F16), instruction=16)
    config = config_of(tile, F16, "rc")
    found = stats(config, GFX942)
    assert agprs(config, GFX942) == 256
    assert found.spills == found.scratch == 0
    assert matrix_instructions(found.names) == {"v_mfma_f32_16x16x16_f16": 256}
    assert found.names["buffer_load_dwordx4"] == 16
    assert found.names["ds_read_b128"] == 32
    assert found.names["ds_write_b128"] == 16
    assert found.names["s_barrier"] == 2
    assert found.lds == 65536
    assert not [name for name in found.names if "accvgpr" in name]


def test_fp8_64x256x128_on_gfx942():
    tile = MfmaTile(64, 256, 128, 1, 4, itemsize=1, instruction=16)
    config = config_of(tile, FP8, "rc")
    found = stats(config, GFX942)
    assert sum(matrix_instructions(found.names).values()) == 64
    assert found.instructions <= 150
    assert found.vgprs - agprs(config, GFX942) <= 148


def test_fp8_on_gfx950_goes_straight_to_lds():
    found = stats(config_of(largest(GFX950, FP8), FP8, "rc"), GFX950)
    assert all(name.endswith("f8f6f4") for name in matrix_instructions(found.names))
    loads = {name for name in found.names if name.startswith(("buffer_load", "global_load"))}
    assert loads == {"global_load_lds_dwordx4"}
    assert not [name for name in found.names if name.startswith("ds_write")]
    assert found.names["s_barrier"] == 1


@pytest.mark.parametrize(
    ("arch", "types", "least"),
    [(GFX942, F16, 9400), (GFX950, F16, 12500), (GFX942, FP8, 18900), (GFX950, FP8, 34000)],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_packed_operands_pass_by_lds(arch, types, least):
    for candidate in candidates(arch, types):
        plain = config_of(candidate.tile, types, "rc")
        config = dataclasses.replace(plain, b=pack_access(types))
        found = stats(config, arch)
        assert found.spills == found.scratch == 0, config.name
        assert found.lds * (candidate.tile.block_m + candidate.tile.block_n) == (
            candidate.tile.lds_bytes * candidate.tile.block_m
        )
        assert not [name for name in found.names if "accvgpr" in name]
        assert covered(found, candidate.tile), config.name
    config = dataclasses.replace(config_of(largest(arch, types), types, "rc"), b=pack_access(types))
    assert stats(config, arch).flops_per_instruction >= least


def test_packed_fp8_64x256x128_on_gfx942():
    """Seed 002, section 9: 64 matrix instructions in 130 to 150, 16 loads of B, 8 of A."""
    tile = MfmaTile(64, 256, 128, 1, 4, itemsize=1, instruction=16)
    config = dataclasses.replace(config_of(tile, FP8, "rc"), b=pack_access(FP8))
    found = stats(config, GFX942)
    assert sum(matrix_instructions(found.names).values()) == 64
    assert found.instructions <= 115
    assert found.names["buffer_load_dwordx4"] == 10


def test_block_scales_on_gfx950():
    """One word of scales for each row or column of an instruction tile and K tile; else the loop without scales."""
    for candidate in candidates(GFX950, FP8):
        config = config_of(candidate.tile, FP8, "rc")
        config = dataclasses.replace(config, finish=Finish(False, False, None, blocks=True))
        found = stats(config, GFX950)
        assert found.spills == found.scratch == 0, config.name
        assert all(name.startswith("v_mfma_scale_f32") for name in matrix_instructions(found.names))
        tile = candidate.tile
        words = (tile.block_m // tile.waves_m + tile.block_n // tile.waves_n) // tile.instruction
        assert found.names["global_load_dword"] == words
        assert tile.block_m < 128 or covered(found, tile), config.name
    largest_one = config_of(largest(GFX950, FP8), FP8, "rc")
    scaled = dataclasses.replace(largest_one, finish=Finish(False, False, None, blocks=True))
    assert stats(scaled, GFX950).flops_per_instruction >= 24000
