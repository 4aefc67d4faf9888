"""Repeated launches as graphs: the same numbers, and not where a graph cannot be started."""

from __future__ import annotations

import cupy
import numpy
import pytest
from cupy_backends.cuda.api import runtime

import cupygemm
from cupygemm import _graphs, module
from tests.products import integers


@pytest.fixture(autouse=True)
def graphs(monkeypatch, device):
    """Graphs in use on every platform, none made yet."""
    monkeypatch.setattr(_graphs, "pays", lambda: True)
    module.launches.clear()
    module.graphs.clear()
    _graphs._seen.clear()
    yield module.graphs
    module.launches.clear()
    module.graphs.clear()


def operands(seed: int, n: int = 48) -> tuple[cupy.ndarray, cupy.ndarray]:
    rng = numpy.random.default_rng(seed)
    return cupy.asarray(integers(rng, n, n)), cupy.asarray(integers(rng, n, n))


def test_a_repeated_call_gets_a_graph_and_stays_right(graphs):
    a, b = operands(1)
    out = cupy.empty((48, 48), numpy.float32)
    for i in range(8):
        a[...] = operands(i)[0]
        out.fill(numpy.nan)
        cupygemm.matmul(a, b, out=out)
        numpy.testing.assert_array_equal(out.get(), a.get() @ b.get())
    assert len(graphs) == 1


def test_new_results_are_right(graphs):
    a, b = operands(2)
    x = None
    for i in range(10):
        a[...] = operands(i)[0]
        x = cupygemm.matmul(a, b)
        numpy.testing.assert_array_equal(x.get(), a.get() @ b.get())
    assert len(graphs) == 2  # of the two results that take turns


def test_other_addresses_are_other_launches(graphs):
    first, second = operands(3), operands(4)
    out = cupy.empty((48, 48), numpy.float32)
    for _ in range(5):
        for a, b in (first, second, (first[0], second[1])):
            cupygemm.matmul(a, b, out=out)
            numpy.testing.assert_array_equal(out.get(), a.get() @ b.get())
    assert len(graphs) == 3


def test_streams_have_graphs_of_their_own(graphs):
    a, b = operands(5)
    out = cupy.empty((48, 48), numpy.float32)
    for stream in [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]:
        with stream:
            for _ in range(5):
                cupygemm.matmul(a, b, out=out)
            stream.synchronize()
        numpy.testing.assert_array_equal(out.get(), a.get() @ b.get())
    assert len(graphs) == 2


def test_a_call_with_a_graph_can_be_captured(graphs):
    a, b = operands(6)
    out = cupy.empty((48, 48), numpy.float32)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for _ in range(5):
            cupygemm.matmul(a, b, out=out)
        assert len(graphs) == 1
        stream.begin_capture()
        cupygemm.matmul(a, b, out=out)
        captured = stream.end_capture()
        a[...] = operands(7)[0]
        out.fill(0)
        captured.launch()
        stream.synchronize()
    numpy.testing.assert_array_equal(out.get(), a.get() @ b.get())
    assert len(graphs) == 1


def test_no_graph_is_made_while_the_stream_is_captured(graphs):
    a, b = operands(8)
    out = cupy.empty((48, 48), numpy.float32)
    cupygemm.matmul(a, b, out=out)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        for _ in range(5):
            cupygemm.matmul(a, b, out=out)
        captured = stream.end_capture()
        captured.launch()
        stream.synchronize()
    numpy.testing.assert_array_equal(out.get(), a.get() @ b.get())
    assert not graphs


def test_the_number_of_graphs_is_bounded_and_the_unused_go(graphs, monkeypatch):
    monkeypatch.setattr(_graphs, "_MOST_GRAPHS", 4)
    monkeypatch.setattr(_graphs, "_PATIENCE", 16)
    a, b = operands(9)
    outs = [cupy.empty((48, 48), numpy.float32) for _ in range(7)]
    for _ in range(12):
        for out in outs:
            cupygemm.matmul(a, b, out=out)
    assert len(graphs) == 4
    for _ in range(40):
        cupygemm.matmul(a, b, out=outs[-1])
    assert outs[-1].data.ptr in {place[3] for place in graphs}
    for out in outs:
        numpy.testing.assert_array_equal(out.get(), a.get() @ b.get())


def test_products_of_two_kernels_have_none(graphs):
    rng = numpy.random.default_rng(10)
    a, b = cupy.asarray(integers(rng, 32, 8192)), cupy.asarray(integers(rng, 8192, 32))
    config = cupygemm.explain(a, b).config
    assert config is not None
    assert config.split or config.stream_k
    for _ in range(5):
        numpy.testing.assert_array_equal(cupygemm.matmul(a, b).get(), a.get() @ b.get())
    assert not graphs


def test_a_graph_that_cannot_be_made_costs_nothing_but_itself(graphs, monkeypatch):
    def fails(*_):
        raise runtime.CUDARuntimeError(900)

    monkeypatch.setattr(_graphs, "_graph", fails)
    a, b = operands(11)
    for _ in range(6):
        numpy.testing.assert_array_equal(cupygemm.matmul(a, b).get(), a.get() @ b.get())
    assert not graphs


def test_forgetting_kernels_forgets_their_graphs(graphs):
    a, b = operands(12)
    out = cupy.empty((48, 48), numpy.float32)
    for _ in range(2):
        for _ in range(5):
            cupygemm.matmul(a, b, out=out)
        assert len(graphs) == 1
        numpy.testing.assert_array_equal(out.get(), a.get() @ b.get())
        module.forget()
        assert not graphs
