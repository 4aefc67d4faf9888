"""Streams, graphs and threads."""

from __future__ import annotations

import importlib.util
import multiprocessing.pool
import pathlib
import sys

import cupy
import numpy
import pytest

import cupygemm
from cupygemm import _capture, module
from tests.products import integers


@pytest.fixture
def stream(device):
    with cupy.cuda.Stream(non_blocking=True) as current:
        yield current


def operands(seed: int, m: int = 40, n: int = 50, k: int = 30) -> tuple[cupy.ndarray, cupy.ndarray]:
    rng = numpy.random.default_rng(seed)
    return cupy.asarray(integers(rng, m, k)), cupy.asarray(integers(rng, k, n))


def test_work_goes_to_the_current_stream(device):
    """A captured stream carries nothing out: were the kernel elsewhere, the result would be there at once."""
    a, b = operands(1)
    want = a.get() @ b.get()
    out = cupy.full(want.shape, numpy.nan, numpy.float32)
    cupygemm.matmul(a, b, out=out)
    out.fill(numpy.nan)
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        cupygemm.matmul(a, b, out=out)
        graph = stream.end_capture()
        assert numpy.isnan(out.get()).all()
        graph.launch()
        stream.synchronize()
        numpy.testing.assert_array_equal(out.get(), want)


@pytest.mark.parametrize("what", ["plain", "converted", "cast", "deep"])
def test_a_captured_product_replays_on_new_data(stream, what):
    m, n, k = (20, 30, 3000) if what == "deep" else (40, 50, 30)
    a, b = operands(2, m, n, k)
    left = a.astype("e") if what == "converted" else a
    out = cupy.zeros((m, n), "d" if what == "cast" else "f")
    cupygemm.matmul(left, b, out=out)  # compiles, and fills CuPy's pool: neither can be done while capturing
    before = _capture.held_bytes()
    stream.begin_capture()
    cupygemm.matmul(left, b, out=out)
    graph = stream.end_capture()
    if what in ("converted", "cast"):
        assert _capture.held_bytes() > before
    rng = numpy.random.default_rng(3)
    for _ in range(10):
        left[...] = cupy.asarray(integers(rng, m, k))
        noise = [cupy.full(size, numpy.nan, "f") for size in (m * k, m * n, k * n, 2 * m * n) for _ in range(3)]
        out.fill(numpy.nan)
        graph.launch()
        stream.synchronize()
        numpy.testing.assert_array_equal(out.get(), left.get().astype("f") @ b.get())
        assert all(numpy.isnan(x.get()).all() for x in noise), "a replay writes to memory that is no longer its own"
        del noise
    del graph
    cupygemm.release_captured()
    assert _capture.held_bytes() == 0


def test_nothing_is_kept_without_a_capture(device):
    a, b = operands(4)
    cupygemm.release_captured()
    cupygemm.matmul(a.astype("e"), b)
    assert _capture.held_bytes() == 0


def test_two_streams_share_no_workspace(device):
    """Deep products on two streams at once, with everything else freed and reused in between."""
    pairs = [operands(seed, 20, 30, 4000) for seed in (5, 6)]
    want = [a.get() @ b.get() for a, b in pairs]
    cupy.cuda.Device().synchronize()
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in pairs]
    for _ in range(5):
        results = []
        for current, (a, b) in zip(streams, pairs, strict=True):
            with current:
                results.append(cupygemm.matmul(a, b))
        for current in streams:
            current.synchronize()
        for got, expected in zip(results, want, strict=True):
            numpy.testing.assert_array_equal(got.get(), expected)


def test_threads_call_at_the_same_time(device):
    """Four threads, each on its own stream, meet the same kernels before those are loaded."""
    module.forget()
    ordinal = device.id
    sizes = [(33, 40, 50), (64, 64, 64), (1, 80, 70), (90, 1, 20)]

    def work(seed: int) -> int:
        rng = numpy.random.default_rng(seed)
        right = 0
        with cupy.cuda.Device(ordinal), cupy.cuda.Stream(non_blocking=True) as current:
            for turn in range(6):
                m, n, k = sizes[(seed + turn) % len(sizes)]
                a, b = integers(rng, m, k), integers(rng, k, n)
                got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b))
                current.synchronize()
                right += int((got.get() == a @ b).all())
        return right

    with multiprocessing.pool.ThreadPool(4) as pool:
        assert pool.map(work, range(4)) == [6] * 4


def test_operands_may_be_freed_at_once(stream):
    """CuPy hands freed memory out again in stream order, so a product may outlive its operands."""
    rng = numpy.random.default_rng(7)
    for _ in range(10):
        a, b = integers(rng, 40, 30), integers(rng, 30, 50)
        got = cupygemm.matmul(cupy.asarray(a), cupy.asarray(b))
        cupy.full(40 * 30, numpy.nan, numpy.float32)
        cupy.full(30 * 50, numpy.nan, numpy.float32)
        numpy.testing.assert_array_equal(got.get(), a @ b)


def test_a_short_soak(device, monkeypatch):
    """benchmarks/soak.py, whose long runs belong on a real GPU."""
    path = pathlib.Path(__file__).parents[1] / "benchmarks" / "soak.py"
    spec = importlib.util.spec_from_file_location("soak", path)
    soak = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "soak", soak)
    spec.loader.exec_module(soak)
    with multiprocessing.pool.ThreadPool(3) as pool:
        assert pool.starmap(soak.soak, [(seed, 30, device.id, 65) for seed in range(3)]) == [0, 0, 0]
