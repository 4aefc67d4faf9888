"""Kept results: handed out again only where a program cannot tell."""

from __future__ import annotations

import itertools
import weakref

import cupy
import numpy
import pytest

import cupygemm
from cupygemm import _spare
from cupygemm._spare import Spares

HOLDERS = {
    "the array": lambda x: x,
    "a list": lambda x: [x],
    "a view": lambda x: x[1:],
    "a view of a view": lambda x: x.T[1:][::2],
    "a reshaped view": lambda x: x.reshape(-1),
    "the address": lambda x: x.data,
    "an address inside": lambda x: x.data + 64,
    "the memory": lambda x: x.data.mem,
    "an array at the address": lambda x: cupy.ndarray((4,), numpy.float32, x.data),
    "strides": lambda x: cupy.lib.stride_tricks.as_strided(x, (2, 2), (4, 4)),
    "a capsule": lambda x: x.__dlpack__(),
    "a closure": lambda x: lambda: x,
}


def spares(n: int = 16) -> Spares:
    return Spares(cupy.empty((n, n), numpy.float32))


def test_a_result_that_nobody_holds_is_the_next_one(device):
    kept = spares()
    assert len({kept.result(0).data.ptr for _ in range(10)}) == 1


def test_two_take_turns_where_the_last_one_is_still_held(device):
    kept = spares()
    seen, x = [], None
    for _ in range(8):
        x = kept.result(0)
        seen.append(x.data.ptr)
    assert len(set(seen)) == 2
    assert all(a != b for a, b in itertools.pairwise(seen))


@pytest.mark.parametrize("what", HOLDERS)
def test_a_result_that_is_held_is_not_handed_out(device, what):
    kept = spares()
    x = kept.result(0)
    before, held = x.data.ptr, HOLDERS[what](x)
    del x
    fresh = [kept.result(0) for _ in range(4)]
    assert before not in {y.data.ptr for y in fresh}
    assert held is not None


def test_a_result_that_is_referred_to_weakly_is_not_handed_out(device):
    kept = spares()
    seen = weakref.ref(kept.result(0))
    assert kept.result(0) is not seen()


def test_a_result_of_changed_shape_is_not_handed_out(device):
    kept = spares()
    kept.result(0).shape = (256,)
    for _ in range(3):
        assert kept.result(0).shape == (16, 16)


def test_streams_share_no_result(device):
    kept = spares()
    assert kept.result(0).data.ptr != kept.result(1000).data.ptr
    per_thread = kept.result(2)
    assert per_thread.data.ptr not in {kept.result(2).data.ptr for _ in range(3)}


def test_large_results_are_not_kept(device):
    pool = cupy.get_default_memory_pool()
    _spare.forget()
    kept = Spares(cupy.empty((2**18 + 1,), numpy.float32))
    before = pool.used_bytes()
    kept.result(0)
    assert pool.used_bytes() == before


def test_few_calls_keep_results_and_all_give_them_back(device):
    pool = cupy.get_default_memory_pool()
    _spare.forget()
    before = pool.used_bytes()
    calls = [spares(128) for _ in range(20)]
    for kept in calls:
        for stream in range(10, 20):
            held = [kept.result(stream) for _ in range(5)]
            del held
    assert pool.used_bytes() - before <= _spare._MOST_CALLS * _spare._MOST_STREAMS * _spare._MOST_ARRAYS * 2**16
    _spare.forget()
    assert pool.used_bytes() == before


def test_products_that_are_kept_keep_their_numbers(device):
    a = cupy.eye(32, dtype=numpy.float32)
    factors = [cupy.full((32, 32), i, numpy.float32) for i in range(8)]
    views = [cupygemm.matmul(a, x)[4:8] for x in factors]
    for i, view in enumerate(views):
        assert (view == i).all()
