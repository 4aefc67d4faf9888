"""CuPy's own run-time-compiled kernels on emulated GPUs: cupy_program.py, once a target."""

import json
import pathlib
import subprocess
import sys

import pytest

from tests.conftest import FEW_DEVICES, FULL
from tests.emulator import cupy_program, emulated

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx950"] if FULL else FEW_DEVICES[1:]


@pytest.mark.parametrize("arch", ARCHS)
def test_cupy(arch):
    """One process runs all checks, since each of them compiles kernels that others need too."""
    script = pathlib.Path(cupy_program.__file__)
    whole = ["--whole"] if FULL and arch == "gfx1201" else []
    command = [sys.executable, "-m", "cupygemm.emulator", "--arch", arch, str(script), *whole]
    done = subprocess.run(command, capture_output=True, text=True, env=emulated.environment(), timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == set(cupy_program.CHECKS)
    failures = {name: text for name, text in found.items() if text}
    assert not failures, failures
