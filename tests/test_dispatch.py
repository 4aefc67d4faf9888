"""The dispatcher: pure decisions, no GPU."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cupygemm.access import operand_access
from cupygemm.arch import amd_arch, known_archs, nvidia_arch
from cupygemm.dispatch import Decision, Fallback, decide
from cupygemm.launch import arguments, grid
from cupygemm.problem import GemmProblem, Matrix
from cupygemm.source import kernel_source
from cupygemm.tiles import Device, candidates

ARCHS = [nvidia_arch(name[3:]) if name.startswith("sm_") else amd_arch(name) for name in known_archs()]
GFX1201 = Device(amd_arch("gfx1201"), 32)


def square(m: int, n: int, k: int, batch: tuple[int, ...] = ()) -> GemmProblem:
    """Row-major operands and result."""
    size = max(m, n, k) ** 2
    steps = tuple(size * 7**d for d in reversed(range(len(batch))))
    return GemmProblem(m, n, k, batch, Matrix(k, 1, steps, 16), Matrix(1, n, steps, 16), Matrix(n, 1, steps, 16))


@pytest.mark.parametrize("arch", ARCHS, ids=lambda a: a.name)
def test_every_arch_has_large_medium_and_small_tiles(arch):
    tiles = [c.tile for c in candidates(arch)]
    assert len(tiles) >= 3
    assert tiles[0].block_m * tiles[0].block_n >= 128 * 64
    assert tiles[-1].block_m * tiles[-1].block_n <= 64 * 64
    sizes = {decision.config.tile for n in (64, 512, 8192) if (decision := decide(square(n, n, n), Device(arch, 60)))}
    assert len(sizes) >= 2, "one tile for every size"


@pytest.mark.parametrize("name", ["gfx906", "gfx1036", "gfx1250", "gfx1201:sramecc-"])
def test_an_arch_without_a_row_still_has_kernels(name):
    arch = amd_arch(name)
    assert arch.wave == (64 if name == "gfx906" else 32)
    assert isinstance(decide(square(100, 100, 100), Device(arch, 20)), Decision)


def test_what_is_no_amd_gpu():
    with pytest.raises(ValueError, match="sm_90"):
        amd_arch("sm_90")


@given(
    m=st.integers(1, 10**7),
    n=st.integers(1, 10**5),
    k=st.integers(1, 10**6),
    batch=st.integers(1, 2**20),
    arch=st.sampled_from(ARCHS),
)
def test_the_grid_covers_every_tile_within_the_hardware_limits(m, n, k, batch, arch):
    problem = square(m, n, k, (batch,) if batch > 1 else ())
    decision = decide(problem, Device(arch, 40))
    if isinstance(decision, Fallback):
        assert "do not fit the grid" in decision.reason
        return
    x, y, z = grid(problem, decision)
    tile = decision.config.tile
    tiles = -(-m // tile.block_m) * -(-n // tile.block_n)
    assert x * tile.threads < 2**32
    assert max(y, z) <= 65535
    args = arguments(problem, decision)
    assert args["tiles_m"] * args["tiles_n"] == tiles
    assert (args["batches"], args["grid_y"]) == (batch, y)
    if stream_k := decision.stream_k:
        assert (x, y, z) == (stream_k.streams + stream_k.whole, 1, 1)
        assert stream_k.tiles + stream_k.whole == tiles * batch
        assert tiles * batch * stream_k.steps < 2**31
    else:
        assert x == tiles
        assert y * z >= batch


def test_limits_are_fallbacks_with_the_numbers():
    assert "32-bit" in decide(square(2**31, 1, 1), GFX1201).reason
    many = decide(square(4, 4, 4, (2, 2, 2, 2, 2)), GFX1201)
    assert "5 batch dimensions" in many.reason


@pytest.mark.parametrize(
    ("matrix", "rows", "k", "want"),
    [
        (Matrix(64, 1, (), 16), 64, 64, ("k", 4, True, False)),
        (Matrix(1, 64, (), 16), 64, 64, ("rows", 4, True, False)),
        (Matrix(64, 1, (), 8), 64, 64, ("k", 2, True, False)),
        (Matrix(64, 1, (), 4), 64, 64, ("k", 1, True, False)),
        (Matrix(66, 1, (), 16), 64, 64, ("k", 2, True, False)),
        (Matrix(64, 1, (), 16), 64, 62, ("k", 2, True, False)),
        (Matrix(64, 1, (3,), 16), 64, 64, ("k", 1, True, False)),
        (Matrix(64, 2, (), 16), 64, 32, ("k", 1, False, False)),
        (Matrix(2, 128, (), 16), 64, 64, ("rows", 1, False, False)),
        (Matrix(0, 1, (), 16), 64, 64, ("k", 4, True, False)),
        (Matrix(-64, 1, (), 16), 64, 64, ("k", 4, True, True)),
        (Matrix(2**24, 1, (), 16), 64, 64, ("k", 4, True, True)),
        (Matrix(5, 1, (), 16), 1, 64, ("k", 4, True, False)),
        (Matrix(1, 3, (), 16), 64, 1, ("rows", 4, True, False)),
    ],
)
def test_operand_access(matrix, rows, k, want):
    access = operand_access(matrix, rows, k, 128, 16, 4)
    assert (access.contiguous, access.vec, access.unit, access.wide) == want


@pytest.mark.parametrize(
    ("matrix", "rows", "k", "want"),
    [
        (Matrix(64, 1, (), 16), 64, 64, ("k", 4, True)),
        (Matrix(65, 1, (), 16), 64, 64, ("k", 4, False)),
        (Matrix(64, 1, (), 4), 64, 64, ("k", 4, False)),
        (Matrix(64, 1, (), 16), 64, 62, ("k", 4, False)),
        (Matrix(64, 1, (3,), 16), 64, 64, ("k", 4, False)),
        (Matrix(-65, 1, (), 4), 64, 64, ("k", 4, False)),
        (Matrix(3, 1, (), 16), 64, 3, ("k", 1, True)),
        (Matrix(1, 65, (), 16), 128, 64, ("rows", 4, False)),
        (Matrix(1, 65, (), 16), 127, 64, ("rows", 1, True)),
        (Matrix(64, 2, (), 16), 64, 32, ("k", 1, True)),
        (Matrix(65, 1, (), 16), 64, 1, ("k", 1, True)),
        (Matrix(2, 65, (), 16), 1, 64, ("rows", 1, True)),
    ],
)
def test_unaligned_access(matrix, rows, k, want):
    """Along K, one vector must fit; along rows, the tile."""
    access = operand_access(matrix, rows, k, 128, 16, 4, unaligned=True)
    assert (access.contiguous, access.vec, access.aligned) == want


def test_unaligned_vectors_are_for_amd_gpus():
    problem = square(4095, 4095, 4095)
    amd, nvidia = (decide(problem, Device(arch, 64)).config for arch in (amd_arch("gfx1201"), nvidia_arch("90")))
    assert (amd.a.vec, amd.b.vec, amd.c_vec) == (4, 4, 4)
    assert (nvidia.a.vec, nvidia.b.vec, nvidia.c_vec) == (1, 1, 1)
    assert nvidia.a.aligned
    assert nvidia.c_aligned


def test_the_source_names_arch_headers_and_kernel():
    decision = decide(square(512, 512, 512), GFX1201)
    source = kernel_source(decision.config, GFX1201.arch)
    assert "gfx1201" in source.code.splitlines()[0]
    assert source.name in source.code
    assert "--offload-arch=gfx1201" in source.options
    other = kernel_source(decision.config, amd_arch("gfx1200"))
    assert other.code != source.code


def test_different_configurations_have_different_names():
    configs = set()
    for n in (16, 100, 512, 513, 514, 4096):
        for batch in ((), (3,)):
            decision = decide(square(n, n, n, batch), GFX1201)
            configs |= {decision.config, dataclasses.replace(decision.config, c_unit=False, c_vec=1)}
    assert len({c.name for c in configs}) == len(configs)


def test_few_columns_are_turned_round_only_for_the_kernel_for_few_rows():
    """Turned round for nothing, 4096 x 4 x 4096 took 97 us on an H200 instead of about 60."""
    from cupygemm.plan import Layout, Shapes, make_plan

    device = Device(nvidia_arch("90"), 132)
    shapes = Shapes((), 4096, 4, 4096, (4096, 4))
    a, b, c = Layout((4096, 4096), (4096, 1), 16), Layout((4096, 4), (4, 1), 16), Layout((4096, 4), (4, 1), 16)
    straight = make_plan(device, shapes, a, b, c)
    assert not straight.swapped
    assert straight.decision.config.c_unit
    turned = make_plan(device, shapes, a, Layout((4096, 4), (1, 4096), 16), c)
    assert turned.swapped
    assert "gemv" in turned.decision.config.name
