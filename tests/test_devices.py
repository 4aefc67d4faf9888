"""Several devices of different architectures in one process; emulated ones, as a rule."""

from __future__ import annotations

import cupy
import numpy
import pytest

import cupygemm
from cupygemm import module
from cupygemm.plan import current_device
from tests.products import integers

COUNT = cupy.cuda.runtime.getDeviceCount()
several = pytest.mark.skipif(COUNT < 2, reason="one device")


def operands(device: int, m: int = 40, n: int = 50, k: int = 30) -> tuple[cupy.ndarray, cupy.ndarray]:
    rng = numpy.random.default_rng(1)
    with cupy.cuda.Device(device):
        return cupy.asarray(integers(rng, m, k)), cupy.asarray(integers(rng, k, n))


@several
def test_every_device_has_kernels_of_its_own():
    module.forget()
    names = {}
    for device in range(COUNT):
        with cupy.cuda.Device(device):
            a, b = operands(device)
            numpy.testing.assert_array_equal(cupygemm.matmul(a, b).get(), a.get() @ b.get())
            names[device] = cupygemm.explain(a, b)
    for device, text in names.items():
        assert text.arch == current_device(device).arch.name
        assert module.is_loaded(text.config, device)
    assert len(module._functions) == COUNT


@several
def test_operands_on_another_device_than_the_current_one():
    with cupy.cuda.Device(0):
        a, b = operands(1)
        got = cupygemm.matmul(a, b)
        assert got.device.id == 1
        assert cupy.cuda.runtime.getDevice() == 0
        assert cupygemm.explain(a, b).arch == current_device(1).arch.name
        out = cupy.ndarray((40, 50), numpy.float32, _memory_of(1, 40 * 50 * 4))
        assert cupygemm.matmul(a, b, out=out) is out
        turned = cupygemm.matmul(a, b, order="F")
        assert turned.device.id == 1
        assert cupy.cuda.runtime.getDevice() == 0
        for x in (got, out, turned):
            numpy.testing.assert_array_equal(x.get(), a.get() @ b.get())


def _memory_of(device: int, size: int) -> cupy.cuda.MemoryPointer:
    with cupy.cuda.Device(device):
        return cupy.cuda.alloc(size)


@several
def test_the_current_device_is_restored_after_an_error():
    with cupy.cuda.Device(0):
        a, b = operands(1)
        with pytest.raises(ValueError, match="aligned"):
            cupygemm.matmul(a, a)
        with pytest.raises(TypeError, match="Cannot cast"):
            cupygemm.matmul(a, b, out=cupy.ndarray((40, 50), numpy.int32, _memory_of(1, 8000)))
        assert cupy.cuda.runtime.getDevice() == 0


@several
def test_arrays_on_different_devices_are_refused():
    a, _ = operands(0)
    _, b = operands(1)
    with pytest.raises(ValueError, match="devices 0 and 1"):
        cupygemm.matmul(a, b)
    _, near = operands(0)
    with pytest.raises(ValueError, match="out on 1"):
        cupygemm.matmul(a, near, out=cupy.ndarray((40, 50), numpy.float32, _memory_of(1, 8000)))
    with pytest.raises(ValueError, match="devices 0 and 1"):
        cupygemm.explain(a, b)


@several
def test_each_device_uses_its_own_current_stream():
    with cupy.cuda.Device(1):
        stream = cupy.cuda.Stream(non_blocking=True)
    a, b = operands(1)
    with cupy.cuda.Device(1), stream:
        stream.begin_capture()
        with cupy.cuda.Device(0):
            got = cupygemm.matmul(a, b)
        graph = stream.end_capture()
        got.fill(numpy.nan)
        graph.launch()
        stream.synchronize()
        numpy.testing.assert_array_equal(got.get(), a.get() @ b.get())
