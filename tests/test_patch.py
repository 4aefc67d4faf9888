"""patch(): CuPy's names mean our functions, and mean CuPy's again afterwards."""

from __future__ import annotations

import threading

import cupy
import numpy
import pytest

import cupygemm
from cupygemm import _patch, recall
from tests.products import integers

NAMES = ("matmul", "dot", "tensordot")


def functions() -> list[object]:
    return [getattr(cupy, name) for name in NAMES] + [cupy.linalg.matmul]


@pytest.fixture
def calls(monkeypatch):
    """Shapes of the operands of every product that reaches our kernels."""
    seen: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    honest = cupygemm._matmul._run

    def noted(a, b, c, shapes):
        seen.append((a.shape, b.shape))
        honest(a, b, c, shapes)

    known = recall.again

    def noted_again(a, b, out):
        result = known(a, b, out)
        if result is not None:
            seen.append((a.shape, b.shape))
        return result

    monkeypatch.setattr(cupygemm._matmul, "_run", noted)
    monkeypatch.setattr(recall, "again", noted_again)
    return seen


def operand(*shape: int) -> cupy.ndarray:
    return cupy.asarray(integers(numpy.random.default_rng(sum(shape)), *shape))


def test_names_change_and_change_back():
    before = functions()
    with cupygemm.patch():
        assert cupy.matmul is cupy.linalg.matmul is cupygemm.matmul
        assert not set(map(id, before)) & set(map(id, functions()))
    assert functions() == before


def test_patches_nest_in_any_order():
    before = functions()
    first, second = cupygemm.patch(), cupygemm.patch()
    first.undo()
    first.undo()
    assert cupy.matmul is cupygemm.matmul
    second.undo()
    assert functions() == before
    with pytest.raises(KeyError), cupygemm.patch():
        raise KeyError
    assert functions() == before


def test_threads_may_patch_at_the_same_time():
    before = functions()

    def work() -> None:
        for _ in range(200):
            with cupygemm.patch():
                assert cupy.matmul is cupygemm.matmul

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert functions() == before
    assert _patch._depth == 0


def test_products_by_every_name_reach_our_kernels(device, calls):
    a, b = operand(6, 5), operand(5, 7)
    want = a.get() @ b.get()
    ways = {
        "cupy.matmul": lambda: cupy.matmul(a, b),
        "cupy.dot": lambda: cupy.dot(a, b),
        "cupy.tensordot": lambda: cupy.tensordot(a, b, 1),
        "cupy.linalg.matmul": lambda: cupy.linalg.matmul(a, b),
        "numpy.matmul": lambda: numpy.matmul(a, b),
        "numpy.dot": lambda: numpy.dot(a, b),
        "numpy.tensordot": lambda: numpy.tensordot(a, b, 1),
        "numpy.linalg.matmul": lambda: numpy.linalg.matmul(a, b),
    }
    with cupygemm.patch():
        for name, call in ways.items():
            calls.clear()
            numpy.testing.assert_array_equal(call().get(), want)
            assert len(calls) == 1, name
        out = cupy.zeros((6, 7), numpy.float32)
        assert numpy.matmul(a, b, out=out) is out
        numpy.testing.assert_array_equal(out.get(), want)
    calls.clear()
    numpy.testing.assert_array_equal(cupy.matmul(a, b).get(), want)
    assert not calls


def test_the_operator_stays_cupys(device, calls):
    a = operand(4, 4)
    with cupygemm.patch():
        numpy.testing.assert_array_equal((a @ a).get(), a.get() @ a.get())
        numpy.testing.assert_array_equal(a.dot(a).get(), a.get() @ a.get())
    assert not calls


@pytest.mark.parametrize(
    ("left", "right", "ours"),
    [
        ((5,), (5,), True),
        ((4, 5), (5,), True),
        ((2, 4, 5), (5,), True),
        ((2, 4, 5), (5, 3), True),
        ((5,), (5, 3), True),
        ((4, 5), (2, 5, 3), False),
        ((), (4, 5), False),
        ((4, 0), (0, 3), False),
    ],
)
def test_dot(device, calls, left, right, ours):
    a, b = operand(*left), operand(*right)
    with cupygemm.patch():
        got = cupy.dot(a, b)
    numpy.testing.assert_array_equal(got.get(), numpy.dot(a.get(), b.get()))
    assert bool(calls) == ours


def test_dot_refuses_what_cupys_refuses(device):
    a, b = operand(4, 5), operand(5, 3)
    for out in (cupy.zeros((3, 4), "f").T, cupy.zeros((4, 3), "d"), cupy.zeros((4, 4), "f")):
        messages = []
        for _ in range(2):
            with pytest.raises(ValueError) as refused:
                cupy.dot(a, b, out)
            messages.append(str(refused.value))
            if len(messages) == 1:
                handle = cupygemm.patch()
        handle.undo()
        assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("left", "right", "axes"),
    [
        ((3, 4, 5), (4, 5, 2), 2),
        ((3, 4, 5), (5, 4, 2), ([1, 2], [1, 0])),
        ((3, 4, 5), (4, 2, 3), ([0, 1], [2, 0])),
        ((3, 4), (4, 3), ([-1], [0])),
        ((3, 4), (4, 3), (0, 1)),
        ((3, 4), (3, 4), 2),
        ((3, 0), (0, 4), 1),
    ],
    ids=str,
)
def test_tensordot(device, calls, left, right, axes):
    a, b = operand(*left), operand(*right)
    with cupygemm.patch():
        got = cupy.tensordot(a, b, axes)
    want = numpy.tensordot(a.get(), b.get(), axes)
    assert got.shape == want.shape
    numpy.testing.assert_array_equal(got.get(), want)
    assert bool(calls) == (0 not in left)


@pytest.mark.parametrize(
    "axes", [0, ([0, 1], [0]), ([0], [1]), ([0, 0], [0, 0]), ([5], [0]), ([0],), ([], [])], ids=str
)
def test_tensordot_that_is_no_matrix_product_is_cupys(device, calls, axes):
    a, b = operand(3, 4), operand(3, 4)
    outcomes = []
    for patched in (False, True):
        handle = cupygemm.patch() if patched else None
        try:
            outcomes.append(cupy.tensordot(a, b, axes).get())
        except Exception as error:
            outcomes.append(str(error))
        finally:
            if handle:
                handle.undo()
    numpy.testing.assert_array_equal(outcomes[0], outcomes[1])
    assert not calls


def test_cupys_own_code_follows(device, calls):
    a = operand(4, 4)
    with cupygemm.patch():
        got = cupy.linalg.matrix_power(a, 3)
    numpy.testing.assert_array_equal(got.get(), numpy.linalg.matrix_power(a.get(), 3))
    assert len(calls) == 2
