"""Any product of any views, against float64 NumPy: shapes, strides, types, layouts, batches and `out` drawn at random.

What decides on a kernel is drawn from a limited number of kinds, since each kernel takes seconds to compile; sizes and
contents are drawn freely. CUPYGEMM_TEST_EXAMPLES is the number of examples, spread over the devices, and
CUPYGEMM_TEST_KINDS that of the kinds.
"""

from __future__ import annotations

import dataclasses
import os

import cupy
import numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cupygemm
from cupygemm import dtypes
from tests.conftest import DEVICES, REAL_GPU

EXAMPLES = int(os.environ.get("CUPYGEMM_TEST_EXAMPLES", "2000")) // len(DEVICES)
KINDS = int(os.environ.get("CUPYGEMM_TEST_KINDS", "300" if REAL_GPU else "12"))
# NumPy alone does not know bfloat16.
TYPES = [name for name in dtypes.NAMES if name != "bfloat16"]


@dataclasses.dataclass(frozen=True)
class View:
    """How an operand lies in memory: dimensions exchanged, steps and margins of slices, batch extents of 1."""

    exchanged: tuple[int, int] | None
    steps: tuple[int, ...]
    margins: tuple[int, ...]
    broadcast: tuple[bool, ...]

    def of(self, shape: tuple[int, ...], batch: tuple[int, ...], dtype: str, seed: int) -> cupy.ndarray:
        """An operand with that shape of its matrices, filled with -1, 0 and 1."""
        # An operand with fewer dimensions than the batch has lacks the outermost ones.
        inner = batch[len(batch) - len(self.broadcast) :]
        own = [1 if one else extent for extent, one in zip(inner, self.broadcast, strict=True)]
        shape = (*own, *shape)
        rank = len(shape)
        steps = [s if extent > 1 else 1 for extent, s in zip(shape, self.steps[-rank:], strict=True)]
        margins = self.margins[-rank:]
        extents = [(extent - 1) * abs(s) + 1 + m for extent, s, m in zip(shape, steps, margins, strict=True)]
        order = list(range(rank))
        if self.exchanged is not None and rank > 1:
            i, j = (max(d, -rank) for d in self.exchanged)
            order[i], order[j] = order[j], order[i]
        rng = numpy.random.default_rng(seed)
        stored = cupy.asarray(rng.integers(-1, 2, [extents[d] for d in order]).astype(dtype))
        block = stored.transpose([order.index(d) for d in range(rank)])
        block = block[tuple(slice(m, None) for m in margins)]
        return block[tuple(slice(None, None, s) for s in steps)]


@dataclasses.dataclass(frozen=True)
class Kind:
    """Everything about a product but its sizes and contents."""

    dtype: str
    batch: tuple[int, ...]
    a: View
    b: View
    vector: str
    ragged: bool
    out: str


def kind(number: int) -> Kind:
    """The kinds are numbered; each is drawn from a generator of its own."""
    rng = numpy.random.default_rng(number)

    def view(rank: int) -> View:
        return View(
            [None, (-1, -2), (-1, -2), (-1, -3)][rng.integers(4)],
            tuple(int(x) for x in rng.choice([1, 1, 1, 2, -1], 4)),
            tuple(int(x) for x in rng.choice([0, 0, 0, 1, 4], 4)),
            tuple(bool(x) for x in rng.random(rng.integers(0, rank + 1)) < 0.3),
        )

    rank = int(rng.choice([0, 0, 1, 2]))
    return Kind(
        str(rng.choice(TYPES)),
        tuple(int(x) for x in rng.integers(1, 4, rank)),
        view(rank),
        view(rank),
        str(rng.choice(["", "", "", "", "a", "b"])),
        bool(rng.random() < 0.6),
        str(rng.choice(["new", "new", "row-major", "every second", "cast", "F"])),
    )


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    number=st.integers(0, KINDS - 1),
    sizes=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20)),
    seed=st.integers(0, 2**16),
)
def test_any_product_of_any_views(device, number, sizes, seed):
    this = kind(number)
    m, n, k = (7 * size - 6 if this.ragged else 8 * size for size in sizes)
    a, b = this.a.of((m, k), this.batch, this.dtype, seed), this.b.of((k, n), this.batch, this.dtype, seed + 1)
    if this.vector == "a":
        a = a[(0,) * (a.ndim - 1)]
    elif this.vector == "b":
        b = b[(0,) * (b.ndim - 2) + (slice(None), 0)]
    want = numpy.matmul(a.get().astype("d"), b.get().astype("d"))
    if this.dtype == "int8":
        want = want.astype("i8").astype("i1").astype("d")  # wraps
    got = cupygemm.matmul(a, b, **{"F": {"order": "F"}, "new": {}}.get(this.out, {"out": target(this, want.shape)}))
    assert got.shape == want.shape
    assert this.out == "cast" or got.dtype == this.dtype
    assert this.out != "F" or got.flags.f_contiguous
    numpy.testing.assert_array_equal(got.get().astype("d"), want)


def target(this: Kind, shape: tuple[int, ...]) -> cupy.ndarray:
    """An array for the result, full of NaN where its type has that."""
    if this.out == "every second":
        out = cupy.zeros([2 * extent for extent in reversed(shape)], this.dtype).T[(slice(None, None, 2),) * len(shape)]
    else:
        out = cupy.zeros(shape, {"int8": "i2"}.get(this.dtype, "d") if this.out == "cast" else this.dtype)
    if out.dtype.kind == "f":
        out.fill(numpy.nan)
    return out


def test_the_kinds_differ():
    kinds = [kind(number) for number in range(60)]
    assert len(set(kinds)) == 60
    assert {k.dtype for k in kinds} == set(TYPES)
    assert {len(k.batch) for k in kinds} == {0, 1, 2}
    assert {k.vector for k in kinds} == {"", "a", "b"}
