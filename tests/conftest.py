"""Where the tests run: on the GPU that is there, or else on emulated AMD GPUs, one device an architecture.

CUPYGEMM_TEST_ARCHS names the emulated architectures, separated by commas.
"""

from __future__ import annotations

import importlib.metadata
import os
import pathlib

import pytest

ARCHS = tuple(os.environ.get("CUPYGEMM_TEST_ARCHS", "gfx1100,gfx1151,gfx1201,gfx942,gfx950").split(","))


def _real_gpu() -> bool:
    """A CUDA build of CuPy means an NVIDIA GPU; /dev/kfd is the kernel driver of AMD GPUs."""
    names = {d.metadata["Name"].lower() for d in importlib.metadata.distributions() if d.metadata["Name"]}
    return any(n.startswith("cupy-cuda") for n in names) or pathlib.Path("/dev/kfd").exists()


REAL_GPU = _real_gpu()
DEVICES = ("gpu",) if REAL_GPU else ARCHS

if not REAL_GPU:
    import cupygemm.emulator

    cupygemm.emulator.activate(*ARCHS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the emulated GPU have nothing to say where a real one is."""
    if REAL_GPU:
        skip = pytest.mark.skip(reason="a test of the emulated GPU; a real GPU is here")
        for item in items:
            if "emulator" in item.path.parts:
                item.add_marker(skip)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest):
    """Each device in turn, made the current one."""
    import cupy

    with cupy.cuda.Device(DEVICES.index(request.param)) as current:
        yield current
