"""What the compiler says of the WMMA kernels without a GPU: registers, spills, LDS, and what the hot loop issues."""

from __future__ import annotations

import re

import pytest

from cupygemm.arch import Arch, amd_arch
from cupygemm.kernel_config import KernelConfig
from cupygemm.ladder import Step, decision, steps
from cupygemm.problem import Types
from cupygemm.tiles import candidates
from tests.conftest import FULL
from tests.static import covered, listing, shipped, stats
from tools.figures import square

# An ordinary run leaves gfx1151 out, whose figures are those of gfx1100.
ARCHS = [amd_arch(name) for name in ("gfx1100", "gfx1151", "gfx1201")[:: 1 if FULL else 2]]
SIZE = 8192
F16 = Types("f16", "f32", "f16")
FP16_STEPS = {step.name: step for step in steps("fp16")}


def largest(arch: Arch, layout: str, types: Types = F16) -> KernelConfig:
    return shipped(square(types, layout, SIZE), candidates(arch, types)[0].tile, arch)


def of_step(name: str) -> KernelConfig:
    step: Step = FP16_STEPS[name]
    return step.decision(square(step.types, "rc", SIZE)).config


def waves_per_simd(config: KernelConfig, arch: Arch) -> int:
    """Waves that LDS leaves room for; the register files hold more of them in all these kernels."""
    return arch.lds_bytes // config.tile.lds_bytes * config.tile.threads // arch.wave // arch.simds


@pytest.mark.parametrize("arch", ARCHS, ids=lambda a: a.name)
@pytest.mark.parametrize(("layout", "gfx11", "gfx12"), [("rc", 2450, 3000), ("rr", 1950, 2400)])
def test_flops_per_instruction(arch, layout, gfx11, gfx12):
    """The best peers have 2427 and 2819 with B K-contiguous, 1725 and 1900 with row-major B (counted the same way)."""
    found = stats(largest(arch, layout), arch)
    assert found.spills == found.scratch == 0
    assert found.flops_per_instruction >= (gfx12 if arch.family == "rdna4" else gfx11)


@pytest.mark.parametrize("arch", ARCHS, ids=lambda a: a.name)
@pytest.mark.parametrize(("layout", "gfx11", "gfx12"), [("rc", 2450, 3000), ("rr", 1950, 2400)])
def test_odd_sizes_and_addresses(arch, layout, gfx11, gfx12):
    """Rows of 8191 elements are aligned to 2 bytes. Loads are as wide as ever."""
    found = stats(shipped(square(F16, layout, 8191), candidates(arch, F16)[0].tile, arch), arch)
    assert found.spills == found.scratch == 0
    assert {n for n in found.names if re.match("(buffer|global)_load", n)} == {"buffer_load_b128"}
    assert found.flops_per_instruction >= (gfx12 if arch.family == "rdna4" else gfx11)


@pytest.mark.parametrize("arch", ARCHS, ids=lambda a: a.name)
@pytest.mark.parametrize("layout", ["rr", "cc"])
@pytest.mark.parametrize("operand", ["f16", "bf16", "i8"])
def test_every_tile_of_the_table(arch, layout, operand):
    types = Types(operand, "i32", "i8") if operand == "i8" else Types(operand, "f32", operand)
    if operand == "bf16" and layout == "cc":
        pytest.skip("moves data as f16 does")
    for candidate in candidates(arch, types):
        config = shipped(square(types, layout, SIZE), candidate.tile, arch)
        found = stats(config, arch)
        assert found.spills == found.scratch == 0, config.name
        assert found.lds == candidate.tile.lds_bytes, config.name
        assert covered(found, candidate.tile), config.name
        assert found.kinds.get("flat", 0) == 0, config.name
        assert sum(n for name, n in found.names.items() if name.startswith("s_barrier")) <= 4, config.name
        assert found.names.get("s_barrier", 0) + found.names.get("s_barrier_signal", 0) <= 2, config.name
        loads = {name for name in found.names if name.startswith(("buffer_load", "global_load"))}
        assert loads == {"buffer_load_b128"}, config.name
        slow = [n for n in found.names if re.search("mul|div|mad_.*64", n)]
        assert not slow, f"{config.name}: {slow}"
        waves = -(-config.tile.threads // arch.wave // arch.simds)
        assert found.vgprs * waves <= arch.vgprs, f"{config.name}: a SIMD cannot hold its waves of one block"


@pytest.mark.parametrize("arch", ARCHS, ids=lambda a: a.name)
@pytest.mark.parametrize(
    ("name", "lds", "waves", "gfx11", "gfx12"), [("fp16-7", 64512, 2, 205, 138), ("fp16-8", 32256, 4, 200, 133)]
)
def test_steps_7_and_8_of_the_tutorial(arch, name, lds, waves, gfx11, gfx12):
    """Table 13: LDS, waves a SIMD and registers of the 128x96x64 tile with FP16 accumulators."""
    config = of_step(name)
    found = stats(config, arch)
    assert (found.lds, waves_per_simd(config, arch)) == (lds, waves)
    assert found.vgprs <= (gfx12 if arch.family == "rdna4" else gfx11)
    assert found.spills == found.scratch == 0
    assert found.kinds["matrix"] == 48
    assert found.names["buffer_load_b128"] == 14


@pytest.mark.parametrize("arch", ARCHS, ids=lambda a: a.name)
def test_step_8_with_fp32_accumulators(arch):
    types = Types("f16", "f32", "f16")
    config = decision(FP16_STEPS["fp16-8"].tile, square(types, "rc", SIZE)).config
    found = stats(config, arch)
    assert found.spills == found.scratch == 0
    if arch.name == "gfx1201":
        assert min(waves_per_simd(config, arch), arch.vgprs // (-(-found.vgprs // 24) * 24)) >= 3


def test_the_tuned_tile():
    arch = amd_arch("gfx1201")
    found = stats(of_step("fp16-tuned"), arch)
    assert found.lds <= 58.5 * 1024
    assert found.spills == found.scratch == 0


@pytest.mark.parametrize("name", ["gfx1102", "gfx1103", "gfx1150", "gfx1152", "gfx1153"])
def test_smaller_register_files(name):
    """512 KB of vector registers a WGP instead of 768: fewer waves fit, and so fewer tiles."""
    small, large = amd_arch(name), amd_arch("gfx1100")
    tiles = {c.tile for c in candidates(small, F16)}
    assert tiles
    assert tiles <= {c.tile for c in candidates(large, F16)}
    step = FP16_STEPS["fp16-2"]
    assert step.infeasible(large) is None
    assert "registers" in str(step.infeasible(small))


def test_a_planted_spill_is_seen():
    """The checks above read the compiler's figures: a tile too large for the registers must show in them."""
    arch = amd_arch("gfx1100")
    found = stats(of_step("fp16-tuned"), arch)
    assert found.spills > 0
    assert found.kinds["scratch"] > 0
    assert "scratch_" in listing(of_step("fp16-tuned"), arch)
