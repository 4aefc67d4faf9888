"""Data and bounds for checking matrix products."""

from __future__ import annotations

import cupy
import numpy


def place(x: numpy.ndarray, order: str) -> cupy.ndarray:
    """`x` on the device, row-major or column-major in its last two dimensions."""
    if order == "col":
        return cupy.asarray(numpy.ascontiguousarray(x.swapaxes(-1, -2))).swapaxes(-1, -2)
    return cupy.asarray(x)


def integers(rng: numpy.random.Generator, *shape: int, high: int = 4) -> numpy.ndarray:
    """Small integers in FP32: every product and partial sum is exact while K * high**2 < 2**24."""
    return rng.integers(-high, high + 1, shape).astype(numpy.float32)


def assert_close(result: numpy.ndarray, a: numpy.ndarray, b: numpy.ndarray) -> None:
    """`result` is a @ b computed in FP32, up to rounding.

    Each of the K additions rounds the partial sum by at most u = 2**-24 of itself, and the errors are independent: with
    probability near 1 they add up to at most 4 sqrt(K) u (|a| @ |b|) (Higham and Mary, "A New Approach to Probabilistic
    Rounding Error Analysis", SIAM J. Sci. Comput. 41, 2019, theorem 2.4 with lambda = 4).
    """
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    k = a.shape[-1]
    bound = 2.0**-24 * 4 * numpy.sqrt(k) * (abs(a) @ abs(b))
    error = abs(result.astype(numpy.float64) - a @ b)
    worst = numpy.argmax(error - bound)
    where = numpy.unravel_index(worst, error.shape)
    assert (error <= bound).all(), f"K = {k}: error {error[where]:.3g} at {where}, bound {bound[where]:.3g}"


def assert_close_16bit(result: numpy.ndarray, a: numpy.ndarray, b: numpy.ndarray) -> None:
    """`result` is a @ b of 16-bit operands, summed in FP32 as in `assert_close` and rounded once to its own type."""
    half_ulp = 2.0 ** -(11 if result.dtype == numpy.float16 else 8)  # relative, at most
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    exact = a @ b
    sums = 2.0**-24 * 4 * numpy.sqrt(a.shape[-1]) * (abs(a) @ abs(b))
    bound = sums + half_ulp * (abs(exact) + sums) + 2.0**-25  # the last for subnormal FP16 results
    error = abs(result.astype(numpy.float64) - exact)
    where = numpy.unravel_index(numpy.argmax(error - bound), error.shape)
    assert (error <= bound).all(), f"K = {a.shape[-1]}: error {error[where]:.3g} at {where}, bound {bound[where]:.3g}"
