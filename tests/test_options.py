"""Options hold where they are entered; strict and not, a kernel that does not compile."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import warnings

import cupy
import numpy
import pytest

import cupygemm
from cupygemm import _matmul, module
from cupygemm._options import Options, config
from tests.products import integers


def test_defaults():
    found = contextvars.Context().run(config.get)
    assert found == Options(strict=False, batch_invariant=False, accumulate="float32", deterministic=True)


@pytest.fixture(autouse=True)
def from_the_defaults():
    """The tests as a whole run under strict=True."""
    with config(strict=False):
        yield


def test_blocks_nest_and_end():
    with config(strict=True) as outer:
        assert outer == config.get() == Options(strict=True)
        with config(batch_invariant=True, strict=False):
            assert config.get() == Options(batch_invariant=True)
        assert config.get() == Options(strict=True)
    assert config.get() == Options()
    with pytest.raises(KeyError), config(accumulate="float16"):
        raise KeyError
    assert config.get() == Options()


def test_a_decorator_enters_anew_at_every_call():
    @config(strict=True)
    def inside() -> Options:
        return config.get()

    assert inside() == inside() == Options(strict=True)


def test_other_threads_and_tasks_keep_their_own():
    seen = []
    with config(strict=True):
        thread = threading.Thread(target=lambda: seen.append(config.get()))
        thread.start()
        thread.join()
    assert seen == [Options()]

    async def task(strict: bool) -> bool:
        with config(strict=strict):
            await asyncio.sleep(0.001)
            return config.get().strict

    async def both() -> list[bool]:
        return await asyncio.gather(task(True), task(False))

    assert asyncio.run(both()) == [True, False]


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"accumulate": "float64"}, ValueError, "'float32' or 'float16', not 'float64'"),
        ({"deterministic": False}, ValueError, "every result is deterministic"),
        ({"strict": 1}, TypeError, "strict must be True or False, not 1"),
        ({"fast": True}, TypeError, "no option named fast; there are strict"),
    ],
)
def test_wrong_options_are_refused_where_they_are_written(wrong, error, words):
    with pytest.raises(error, match=words):
        config(**wrong)


@pytest.fixture
def broken_kernels(monkeypatch):
    """Kernel sources that do not compile; yields the list of warnings given so far."""
    honest = module.kernel_source

    def broken(config, arch):
        source = honest(config, arch)
        return type(source)(source.name, source.code + "\n#error broken on purpose\n", source.options)

    monkeypatch.setattr(module, "kernel_source", broken)
    monkeypatch.setattr(_matmul, "_warned", set())
    module.forget()
    yield
    module.forget()


def operands() -> tuple[cupy.ndarray, cupy.ndarray]:
    rng = numpy.random.default_rng(1)
    return cupy.asarray(integers(rng, 20, 30)), cupy.asarray(integers(rng, 30, 10))


def test_a_kernel_that_does_not_compile_warns_once_and_cupy_takes_over(device, broken_kernels):
    a, b = operands()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(3):
            numpy.testing.assert_array_equal(cupygemm.matmul(a, b).get(), a.get() @ b.get())
    assert [w.category for w in given] == [RuntimeWarning]
    text = str(given[0].message)
    assert "broken on purpose" in text  # the log's first error
    assert "cupygemm_f32" in text
    assert given[0].filename == __file__


def test_a_kernel_that_does_not_compile_raises_under_strict(device, broken_kernels):
    a, b = operands()
    with config(strict=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(cupygemm.KernelError, match="broken on purpose") as raised:
                cupygemm.matmul(a, b)
            assert isinstance(raised.value.__cause__, cupy.cuda.compiler.CompileException)


def test_the_first_error_of_a_log():
    log = "In file included from x:1:\nx.hpp:3: warning: odd\nx.hpp:4:1: error: bad\nx.hpp:5: error: worse\n"
    assert module._first_error(log) == "x.hpp:4:1: error: bad"
    assert module._first_error("only this\n") == "only this"
    assert module._first_error("") == "no message"
