"""No false positives: the kernels as they are run under the checkers without a report, and give the right numbers.

Of the FP32 shapes every sixth runs, another sixth on each architecture; CUPYGEMM_TEST_FULL=1 runs them all.
"""

from __future__ import annotations

import itertools

import pytest

from cupygemm import dispatch
from cupygemm.arch import amd_arch
from cupygemm.dispatch import Decision
from cupygemm.problem import F32, Types, simplified
from cupygemm.tiles import Device
from tests.conftest import FULL

from .shipped import case, cases, problem_of

ARCHS = ("gfx1100", "gfx1151", "gfx1201", "gfx942", "gfx950")
SIZES = [
    (1, 1, 1), (2, 3, 5), (1, 300, 70), (4, 520, 64), (17, 31, 33),
    (32, 32, 32), (33, 65, 129), (64, 64, 1000), (65, 100, 48), (96, 160, 20),
    (128, 128, 64), (129, 127, 17), (130, 132, 36), (200, 20, 100), (7, 7, 700),
]  # fmt: skip
LAYOUTS = ("rr", "rc", "cr", "cc")
SHAPES = [(size, layout) for size, layout in itertools.product(SIZES, LAYOUTS)]


def run(arch_name: str, size: tuple[int, int, int], layout: str, types: Types = F32, **options: int) -> str:
    """What the kernel that the dispatcher picks for a GPU of 16 units says; "" if all is well."""
    arch = amd_arch(arch_name)
    problem, _ = simplified(problem_of(*size, layout, types, **options))
    decision = dispatch.decide(problem, Device(arch, 16))
    assert isinstance(decision, Decision), decision
    return case([(problem, decision)], arch).verdict()


@pytest.mark.parametrize(("place", "arch"), list(enumerate(ARCHS)), ids=ARCHS)
def test_fp32_shapes(place, arch):
    assert len(SHAPES) == 60
    for size, layout in SHAPES if FULL else SHAPES[place::6]:
        assert run(arch, size, layout) == "", f"{size}, {layout}"


@pytest.mark.parametrize("arch", ["gfx1100", "gfx950"])
def test_batches_gaps_and_odd_addresses(arch):
    for options in ({"batch": 3}, {"pad": 3}, {"align": 4}, {"batch": 2, "pad": 4, "align": 8}):
        for size, layout in (((33, 40, 52), "rr"), ((20, 36, 300), "cr")):
            assert run(arch, size, layout, **options) == "", f"{size}, {layout}, {options}"


@pytest.mark.parametrize("arch", ARCHS)
def test_split_sum_and_few_rows(arch):
    for name in ("f32-split", "f32-sum", "f32-sum-lanes", "f32-stream", "f32-stream-sum", "f32-gemv", "f32-direct"):
        if make := cases(arch).get(name):
            assert make().verdict() == "", name


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("operand", ["f16", "bf16"])
def test_16_bit_shapes(arch, operand):
    types = Types(operand, "f32", operand)
    for size, layout in (((64, 64, 64), "rr"), ((130, 72, 100), "rc"), ((33, 47, 65), "cr"), ((5, 9, 300), "cc")):
        assert run(arch, size, layout, types) == "", f"{size}, {layout}"
