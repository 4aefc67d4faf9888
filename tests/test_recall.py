"""Repeated calls: the short way gives what the long way gives, and is not taken where it would be wrong."""

from __future__ import annotations

import cupy
import numpy

import cupygemm
from cupygemm import module, recall
from cupygemm._options import config
from tests.products import integers


def pair(seed: int, n: int = 48) -> tuple[cupy.ndarray, cupy.ndarray]:
    rng = numpy.random.default_rng(seed)
    return cupy.asarray(integers(rng, n, n)), cupy.asarray(integers(rng, n, n))


def test_repeated_calls_are_recalled_and_right(device):
    a, b = pair(1)
    module.launches.clear()
    assert recall.again(a, b, None) is None
    results = [cupygemm.matmul(a, b)]
    for seed in range(2, 6):
        x, y = pair(seed)
        got = recall.again(x, y, None)
        assert got is not None
        results.append(got)
        numpy.testing.assert_array_equal(got.get(), x.get() @ y.get())
    numpy.testing.assert_array_equal(results[0].get(), a.get() @ b.get())
    assert len({r.data.ptr for r in results}) == len(results), "two results share memory"


def test_recalled_with_out(device):
    a, b = pair(7)
    out = cupygemm.matmul(a, b)
    x, y = pair(8)
    assert recall.again(x, y, out) is out
    numpy.testing.assert_array_equal(out.get(), x.get() @ y.get())


def test_overlap_shape_dtype_and_alignment_take_the_long_way(device):
    a, b = pair(9)
    cupygemm.matmul(a, b)
    assert recall.again(a, b, a) is None
    assert recall.again(a, b, cupy.empty((48, 49), numpy.float32)) is None
    assert recall.again(a, b, cupy.empty((48, 48), numpy.float64)) is None
    assert recall.again(a, b, cupy.empty((48, 48), numpy.float32, order="F")) is None
    assert recall.again(a.astype(numpy.float64), b.astype(numpy.float64), None) is None
    off = cupy.empty(48 * 48 + 1, numpy.float32)[1:].reshape(48, 48)
    off[...] = a
    assert recall.again(off, b, None) is None
    with config(batch_invariant=True):
        assert recall.again(a, b, None) is None
    want = a.get() @ b.get()
    numpy.testing.assert_array_equal(cupygemm.matmul(off, b).get(), want)
    cupygemm.matmul(a, b, out=a)
    numpy.testing.assert_array_equal(a.get(), want)


def test_transposed_views_have_keys_of_their_own(device):
    a, b = pair(10)
    want = a.get() @ b.get(), a.get().T @ b.get(), a.get() @ b.get().T, a.get().T @ b.get().T
    for _ in range(2):
        got = cupygemm.matmul(a, b), cupygemm.matmul(a.T, b), cupygemm.matmul(a, b.T), cupygemm.matmul(a.T, b.T)
        for x, y in zip(got, want, strict=True):
            numpy.testing.assert_array_equal(x.get(), y)


def test_a_stream_of_its_own_gets_a_result_of_its_own(device):
    a, b = pair(11)
    kept = [cupygemm.matmul(a, b), cupygemm.matmul(a, b)]
    with cupy.cuda.Stream(non_blocking=True) as stream:
        kept += [cupygemm.matmul(a, b), cupygemm.matmul(a, b)]
        stream.synchronize()
    assert len({x.data.ptr for x in kept}) == 4
    for x in kept:
        numpy.testing.assert_array_equal(x.get(), a.get() @ b.get())
