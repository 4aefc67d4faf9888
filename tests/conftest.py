"""Where the tests run: on the GPU that is there, or else on emulated AMD GPUs, one device an architecture.

Every launch runs under the emulator's checkers, unless CUPYGEMM_TEST_CHECK is 0. CUPYGEMM_TEST_ARCHS names the emulated
architectures, separated by commas; CUPYGEMM_TEST_FULL=1 runs every case of the sweeps, of which an ordinary run takes a
sample.
"""

from __future__ import annotations

import collections
import os

import pytest

from examples.demo import real_gpu

ARCHS = tuple(os.environ.get("CUPYGEMM_TEST_ARCHS", "gfx1100,gfx1151,gfx1201,gfx942,gfx950").split(","))
REAL_GPU = real_gpu()
CHOSEN = "CUPYGEMM_TEST_ARCHS" in os.environ
FULL = REAL_GPU or bool(os.environ.get("CUPYGEMM_TEST_FULL"))
DEVICES = ("gpu",) if REAL_GPU else ARCHS

if not REAL_GPU:
    import cupygemm.emulator

    cupygemm.emulator.activate(*ARCHS, check=os.environ.get("CUPYGEMM_TEST_CHECK", "1") != "0")


#: What an ordinary run takes of suites, and of tests, that compile many kernels: one device of each wave size, or of
#: each kind of matrix instruction.
FEW_DEVICES = ("gfx1201", "gfx942")
ORDINARY = {
    "test_counted": ("gfx1201", "gfx950"),
    "test_faults": FEW_DEVICES,
    "test_fp32_kernels": FEW_DEVICES,
    "test_matmul::test_ragged_around_tile_edges": FEW_DEVICES,
    "test_matmul_16bit": ("gfx1100", "gfx1201"),
    "test_matmul_16bit::test_all_small_sizes": ("gfx1201",),
    "test_parts": FEW_DEVICES,
    "test_patch": FEW_DEVICES,
    "test_profile": FEW_DEVICES,
    "test_recall": FEW_DEVICES,
    "test_scaled": FEW_DEVICES,
    "test_semantics": FEW_DEVICES,
    "test_stream_k": FEW_DEVICES,
    "test_streams": FEW_DEVICES,
}
#: Tests of which an ordinary run takes every n-th case: each has kernels of its own to compile.
EVERY_NTH = {
    "test_block_scales::test_every_tile": 2,
    "test_clean::test_16_bit_shapes": 2,
    "test_clean::test_fp32_shapes": 2,
    "test_faults::test_every_small_size": 2,
    "test_fp32_kernels::test_few_rows_and_few_columns": 3,
    "test_matmul::test_all_small_sizes": 3,
    "test_matmul::test_ragged_around_tile_edges": 3,
    "test_matmul::test_random_against_float64": 3,
    "test_matmul_16bit::test_ragged_around_tile_edges": 3,
    "test_matmul_16bit::test_random_against_float64": 3,
    "test_matmul_16bit::test_every_combination_of_types": 3,
    "test_mfma::test_every_tile_at_its_edges": 3,
    "test_mfma_wide::test_every_tile_at_its_edges": 3,
    "test_preshuffle::test_every_tile": 2,
    "test_scaled::test_against_float64_of_the_dequantised": 3,
    "test_static_mfma::test_every_tile_of_the_tables": 2,
    "test_static_wmma::test_every_tile_of_the_table": 2,
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what an ordinary run does not take, and tests of the emulated GPU where a real one is."""
    if REAL_GPU:
        skip = pytest.mark.skip(reason="a test of the emulated GPU; a real GPU is here")
        for item in items:
            if "emulator" in item.path.parts:
                item.add_marker(skip)

    seen: collections.Counter[str] = collections.Counter()

    def wanted(item: pytest.Item) -> bool:
        device = item.callspec.params.get("device") if hasattr(item, "callspec") else None
        name = f"{item.path.stem}::{getattr(item, 'originalname', '')}"
        if isinstance(device, str) and device not in ORDINARY.get(name, ORDINARY.get(item.path.stem, DEVICES)):
            return False
        seen[name] += 1
        return (seen[name] - 1) % EVERY_NTH.get(name, 1) == 0

    taken = {item.nodeid for item in items if FULL or CHOSEN or wanted(item)}
    if len(taken) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in taken])
        items[:] = [item for item in items if item.nodeid in taken]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest):
    """Each device in turn, made the current one."""
    import cupy

    with cupy.cuda.Device(DEVICES.index(request.param)) as current:
        yield current


@pytest.fixture(autouse=True)
def strict():
    """A kernel that does not compile must fail its test, not hide behind cupy.matmul."""
    from cupygemm._options import config

    with config(strict=True):
        yield
