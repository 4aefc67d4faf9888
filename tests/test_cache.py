"""What is compiled when: never for a new shape, never twice, never from a broken cache entry."""

from __future__ import annotations

import io
import os
import pathlib
import subprocess
import sys

import cupy
import numpy
import pytest

import cupygemm
from cupygemm import module
from tests.conftest import REAL_GPU
from tests.products import integers

emulated = pytest.mark.skipif(REAL_GPU, reason="counts the compilations of the emulated GPU")


def compilations() -> int:
    import cupygemm.emulator

    return cupygemm.emulator.compilations()


@pytest.fixture
def loaded(monkeypatch):
    """Sources that are handed to CuPy, in order; nothing is loaded at the beginning."""
    sources: list[str] = []
    honest = module._load

    def noted(source):
        sources.append(source.code)
        return honest(source)

    monkeypatch.setattr(module, "_load", noted)
    module.forget()
    return sources


def product(m: int, n: int, k: int) -> None:
    rng = numpy.random.default_rng(m)
    a, b = integers(rng, m, k), integers(rng, k, n)
    numpy.testing.assert_array_equal(cupygemm.matmul(cupy.asarray(a), cupy.asarray(b)).get(), a @ b)


def test_a_new_shape_loads_nothing_once_its_kernel_is_loaded(device, loaded):
    product(64, 64, 64)
    assert len(loaded) == 1
    for m, n, k in ((32, 64, 64), (60, 64, 128), (64, 32, 4), (48, 16, 256), (36, 40, 20)):
        a, b = cupy.zeros((m, k), "f"), cupy.zeros((k, n), "f")
        if cupygemm.explain(a, b).kernel in loaded[0]:
            product(m, n, k)
    assert len(loaded) == 1
    product(64, 64, 64)
    assert len(loaded) == 1


def test_warmup_loads_what_its_shapes_need(device, loaded):
    shapes = [(64, 64, 64), (65, 63, 31), (3, 32, 16, 64)]
    names = cupygemm.warmup(shapes, layouts=("rr", "rc"))
    assert len(names) == len(loaded) == len(set(names)) > 1
    rng = numpy.random.default_rng(1)
    for *batch, m, n, k in shapes:
        a, b = integers(rng, *batch, m, k), integers(rng, *batch, k, n)
        turned = cupy.asarray(numpy.ascontiguousarray(b.swapaxes(-1, -2))).swapaxes(-1, -2)
        for right in (cupy.asarray(b), turned):
            numpy.testing.assert_array_equal(cupygemm.matmul(cupy.asarray(a), right).get(), a @ b)
    assert len(loaded) == len(names)
    assert cupygemm.warmup(shapes, layouts=("rr", "rc")) == ()


def test_warmup_shows_its_progress_where_asked(device, loaded):
    screen = io.StringIO()
    names = cupygemm.warmup([(64, 64, 64)], layouts=("rr",), progress=screen)
    assert f"0/1 {names[0]}" in screen.getvalue()
    assert screen.getvalue().endswith(" s\n")
    again = io.StringIO()
    cupygemm.warmup([(64, 64, 64)], layouts=("rr",), progress=again)
    assert again.getvalue() == ""


def test_warmup_is_quiet_where_there_is_no_terminal(device, loaded, capfd):
    cupygemm.warmup([(64, 64, 64)], layouts=("rr",))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"shapes": [(64, 64)]}, ValueError, r"\(64, 64\)"),
        ({"shapes": [(64, 0, 64)]}, ValueError, r"\(64, 0, 64\)"),
        ({"layouts": ["xx"]}, ValueError, "no layout 'xx'"),
        ({"dtypes": ["complex64"]}, TypeError, "no kernels for complex64"),
    ],
)
def test_what_warmup_refuses(device, arguments, error, words):
    with pytest.raises(error, match=words):
        cupygemm.warmup(**arguments)


_PROGRAM = """
import cupygemm.emulator
cupygemm.emulator.activate("gfx1201")
import cupy, numpy, cupygemm
a = numpy.arange(64 * 64, dtype=numpy.float32).reshape(64, 64) % 5
got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(a)).get()
assert (got == a @ a).all()
assert not cupygemm.explain(cupy.asarray(a), cupy.asarray(a)).is_fallback
print(cupygemm.emulator.compilations())
"""


def compiled_by_a_process(cache: pathlib.Path, prologue: str = "") -> int:
    environment = os.environ | {"CUPY_CACHE_DIR": str(cache)}
    program = _PROGRAM.replace("import cupy, numpy", prologue + "import cupy, numpy") if prologue else _PROGRAM
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@emulated
def test_the_second_process_compiles_nothing(tmp_path):
    assert compiled_by_a_process(tmp_path) == 1
    assert compiled_by_a_process(tmp_path) == 0


@emulated
@pytest.mark.parametrize("damage", ["emptied", "truncated", "one bit flipped"])
def test_a_broken_cache_entry_is_rebuilt(tmp_path, damage):
    compiled_by_a_process(tmp_path)
    entries = list(tmp_path.glob("*.hsaco"))
    assert entries
    for entry in entries:
        data = bytearray(entry.read_bytes())
        if damage == "one bit flipped":
            data[len(data) // 2] ^= 1
        else:
            del data[0 if damage == "emptied" else len(data) // 2 :]
        entry.write_bytes(data)
    assert compiled_by_a_process(tmp_path) == 1
    assert compiled_by_a_process(tmp_path) == 0


@emulated
def test_an_entry_that_is_whole_but_does_not_load_is_compiled_again(tmp_path):
    """CuPy's check passes for whatever was written with its own digest, such as the file of another tool's making."""
    from cupy.cuda._compiler_cache import _hash_hexdigest

    compiled_by_a_process(tmp_path)
    for entry in tmp_path.glob("*.hsaco"):
        entry.write_bytes(_hash_hexdigest(b"no code object").encode() + b"no code object")
    assert compiled_by_a_process(tmp_path) == 1
    assert compiled_by_a_process(tmp_path) == 0


@emulated
def test_another_compiler_version_is_another_entry(tmp_path):
    newer = "import cupy.cuda.compiler\ncupy.cuda.compiler._get_nvrtc_version = lambda: (99, 1)\n"
    assert compiled_by_a_process(tmp_path) == 1
    assert compiled_by_a_process(tmp_path, newer) == 1
    assert compiled_by_a_process(tmp_path, newer) == 0


@emulated
def test_archs_that_cupy_cannot_tell_apart_have_entries_of_their_own(tmp_path):
    """gfx1200 and gfx1201 have the same compute capability, which is all of the arch that CuPy's key holds."""
    from cupygemm._warmup import _operands
    from cupygemm.arch import amd_arch
    from cupygemm.plan import make_plan
    from cupygemm.source import kernel_source
    from cupygemm.tiles import Device

    sources = set()
    for name in ("gfx1200", "gfx1201"):
        arch = amd_arch(name)
        todo = make_plan(Device(arch, 32), *_operands((1, 64, 64, 64), "rr"))
        source = kernel_source(todo.decision.config, arch)
        assert f"--offload-arch={name}" in source.options
        assert name in source.code
        sources.add(source.code)
    assert len(sources) == 2
