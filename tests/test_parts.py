"""Products too large for one launch are made of parts; small limits stand in for 2^31."""

from __future__ import annotations

import cupy
import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cupygemm
from cupygemm import _matmul, dispatch
from cupygemm._parts import parts
from cupygemm.plan import Shapes, make_plan
from tests.products import integers


def multiply_in_parts(a, b, c, shapes, cut, deep):
    """As matmul does it, with NumPy for the kernel and `deep` cuts of the same kind one inside another."""
    for i, part in enumerate(parts(shapes, cut)):
        first, second, target = part.of_a(a, shapes), part.of_b(b, shapes), part.of_result(c, shapes)
        inner = _matmul._shapes(first.shape, second.shape)
        product = numpy.empty(target.shape)
        longest = {"k": inner.k, "size": max(inner.m, inner.n, *inner.batch, 0), "batch": max(inner.batch, default=1)}
        if deep and longest[cut] > 1:
            multiply_in_parts(first, second, product, inner, cut, deep - 1)
        else:
            product[...] = numpy.matmul(first, second).reshape(target.shape)
        target[...] = target + product if part.dim == "k" and i else product


@settings(max_examples=300, deadline=None)
@given(data=st.data(), cut=st.sampled_from(["k", "batch", "size"]))
def test_parts_make_the_whole(data, cut):
    sizes = st.integers(1, 5)
    m, n, k = (data.draw(sizes) for _ in range(3))
    batch = [data.draw(sizes) for _ in range(data.draw(st.integers(0, 3)))]

    def operand(rows, columns):
        own = [data.draw(st.sampled_from([1, extent])) for extent in batch][data.draw(st.integers(0, len(batch))) :]
        shape = (*own, rows, columns)
        return numpy.arange(numpy.prod(shape)).reshape(shape) % 7 - 3.0

    a, b = operand(m, k), operand(k, n)
    if data.draw(st.booleans()):
        a = a[..., 0, :] if a.ndim == 2 else a
    if data.draw(st.booleans()):
        b = b[..., 0] if b.ndim == 2 else b
    shapes = _matmul._shapes(a.shape, b.shape)
    longest = {"k": shapes.k, "size": max(shapes.m, shapes.n, *shapes.batch, 0), "batch": max(shapes.batch, default=1)}
    if longest[cut] < 2:
        return
    c = numpy.full(shapes.result, numpy.nan)
    multiply_in_parts(a, b, c, shapes, cut, data.draw(st.integers(0, 2)))
    numpy.testing.assert_array_equal(c, numpy.matmul(a, b))


def test_the_longest_dimension_is_halved():
    assert [p.dim for p in parts(Shapes((3,), 10, 9, 99, (3, 10, 9)), "size")] == ["m", "m"]
    assert [p.dim for p in parts(Shapes((30,), 10, 9, 99, (30, 10, 9)), "size")] == [0, 0]
    with pytest.raises(ValueError, match="cannot be cut"):
        parts(Shapes((), 1, 1, 1, (1, 1)), "k")


@pytest.fixture
def limit_of_50(monkeypatch):
    """Kernels that count no further than 50."""
    monkeypatch.setattr(dispatch, "_INT32", 50)
    forget_plans()
    yield
    forget_plans()


def forget_plans() -> None:
    make_plan.cache_clear()
    for cache in vars(_matmul).values():
        if hasattr(cache, "cache_clear"):
            cache.cache_clear()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    m=st.sampled_from([3, 50, 51, 130]),
    n=st.sampled_from([2, 60, 101]),
    k=st.sampled_from([5, 51, 120]),
    batch=st.sampled_from([(), (2,), (70,)]),
)
def test_dimensions_beyond_the_limit(device, limit_of_50, m, n, k, batch):
    rng = numpy.random.default_rng(m + n + k)
    a, b = integers(rng, *batch, m, k), integers(rng, *batch, k, n)
    out = cupy.full((*batch, m, n), numpy.nan, numpy.float32)
    cupygemm.matmul(cupy.asarray(a), cupy.asarray(b), out=out)
    numpy.testing.assert_array_equal(out.get(), a @ b)


def test_explain_says_that_a_product_is_made_in_parts(device, limit_of_50):
    text = cupygemm.explain(cupy.zeros((60, 8), "f"), cupy.zeros((8, 8), "f"))
    assert "made in parts" in text.why
    assert text.kernel != "cupy.matmul"


def test_more_batch_dimensions_than_a_kernel_walks(device):
    """Every second matrix in six dimensions: nothing merges."""
    rng = numpy.random.default_rng(1)
    shape = (2, 4, 2, 4, 2, 4)
    a, b = integers(rng, *shape, 3, 4), integers(rng, *shape, 4, 5)
    every_second = (slice(None), slice(None, None, 2)) * 3
    x, y = cupy.asarray(a)[every_second], cupy.asarray(b)[every_second]
    out = cupy.full((*x.shape[:-1], 5), numpy.nan, numpy.float32)
    cupygemm.matmul(x, y, out=out)
    numpy.testing.assert_array_equal(out.get(), a[every_second] @ b[every_second])


def test_other_types_beyond_32_bits_are_refused(device):
    """CuPy would hand the size on as a 32-bit integer. No memory is behind these arrays."""
    one = cupy.zeros(1, numpy.complex64)
    long = cupy.lib.stride_tricks.as_strided(one, (2**31 + 5, 1), (0, 0))
    with pytest.raises(ValueError, match="2147483653"):
        cupygemm.matmul(long, one[None])
