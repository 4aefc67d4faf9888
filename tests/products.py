"""Data and bounds for checking matrix products."""

from __future__ import annotations

import numpy


def integers(rng: numpy.random.Generator, *shape: int, high: int = 4) -> numpy.ndarray:
    """Small integers in FP32: every product and partial sum is exact while K * high**2 < 2**24."""
    return rng.integers(-high, high + 1, shape).astype(numpy.float32)


def assert_close(result: numpy.ndarray, a: numpy.ndarray, b: numpy.ndarray) -> None:
    """`result` is a @ b computed in FP32, up to rounding.

    Every one of the K additions rounds the partial sum by at most u = 2**-24 of itself. The errors are independent, so
    they add up as a random walk: 4 u (|a| @ |b|) for data of mixed sign, and growing with the square root of K where
    all terms have one sign.
    """
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    k = a.shape[-1]
    bound = 2.0**-24 * (4 + numpy.sqrt(k) / 2) * (abs(a) @ abs(b))
    error = abs(result.astype(numpy.float64) - a @ b)
    worst = numpy.argmax(error - bound)
    where = numpy.unravel_index(worst, error.shape)
    assert (error <= bound).all(), f"K = {k}: error {error[where]:.3g} at {where}, bound {bound[where]:.3g}"
