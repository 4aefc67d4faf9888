"""Figures of the FP32 SIMT kernels that the compiler gives without a GPU: registers, spills, what the hot loop
issues."""

from __future__ import annotations

import dataclasses

import pytest

from cupygemm.arch import amd_arch
from cupygemm.kernel_config import KernelConfig, Tile, infeasible
from cupygemm.ladder import decision
from cupygemm.problem import F32, GemmProblem, Matrix
from cupygemm.tiles import candidates
from tests.conftest import FULL
from tests.static import covered, listing, shipped, stats

ARCHS = [amd_arch(name) for name in ("gfx1100", "gfx1151", "gfx1201", "gfx942", "gfx950")]
SIZE = 4096
#: Layouts of A and B, and the alignment of their addresses; an ordinary run takes the first two.
ACCESS = [("rr", 16), ("cc", 4), ("rc", 16), ("cr", 16), ("cc", 16), ("rr", 4), ("ss", 16)]


def square(layout: str, size: int = SIZE, align: int = 16) -> GemmProblem:
    """A large product; "r" operands are row-major, "c" column-major, "s" strided both ways."""
    strides = {"r": (size, 1), "c": (1, size), "s": (2 * size, 2)}
    a, b = (strides[order] for order in layout)
    return GemmProblem(
        size, size, size, (), Matrix(*a, (), align), Matrix(b[1], b[0], (), align), Matrix(size, 1, (), align), F32
    )


def tiles(arch) -> list[Tile]:
    """The SIMT tiles of the table, and each TilePolicy on the large one."""
    found = [c.tile for c in candidates(arch, F32) if isinstance(c.tile, Tile)]
    large = next(t for t in found if t.staging == "registers")
    policies = [dataclasses.replace(large, buffers=b, staging=s) for b in (1, 2) for s in ("registers", "direct")]
    return list(dict.fromkeys([*found, *(t for t in policies if infeasible(t, arch, F32) is None)]))


@pytest.mark.parametrize("arch", ARCHS, ids=lambda a: a.name)
@pytest.mark.parametrize(("layout", "align"), ACCESS if FULL else ACCESS[:2])
def test_no_scratch_and_no_spills(arch, layout, align):
    for tile in tiles(arch):
        config = shipped(square(layout, align=align), tile, arch)
        assert config.a.aligned == config.b.aligned == config.c_aligned == (align == 16)
        for kernel in (config, in_streams(config)) if align == 16 else (config,):
            found = stats(kernel, arch)
            assert found.spills == found.scratch == 0, kernel.name
            assert found.lds == tile.lds_bytes, kernel.name
            assert covered(found, tile), kernel.name
            assert "\tflat_" not in listing(kernel, arch), kernel.name


def in_streams(config: KernelConfig) -> KernelConfig:
    """The kernel for tiles that blocks share."""
    return dataclasses.replace(config, stream_k=True)


@pytest.mark.parametrize("stream_k", [False, True])
@pytest.mark.parametrize("arch", ARCHS[:3], ids=lambda a: a.name)
def test_flops_per_instruction(arch, stream_k):
    """The best peers without spills have 96.0 on gfx1100 and 99.6 on gfx1201, counted the same way; at most 128."""
    large = next(c.tile for c in candidates(arch, F32))
    config = decision(large, square("rr")).config
    found = stats(in_streams(config) if stream_k else config, arch)
    assert found.flops_per_instruction >= (102 if arch.family == "rdna4" else 100)
    total = found.flops // (2 * arch.wave)
    pairs = total - found.kinds["fma"]  # a dual-issued pair is one instruction
    assert 2 * pairs / total >= 0.95
