"""CuPy's own kernels on one emulated GPU: run by test_cupy.py in a process a target.

Prints a JSON object: check -> "" or the traceback. Arguments: names of checks, and --whole.
"""

import json
import sys
import traceback

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = [np.dtype(c) for c in "bBhHiIqQ"]
FLOATS = [np.dtype(c) for c in "efd"]
COMPLEX = [np.dtype(c) for c in "FD"]
DTYPES = [np.dtype("?"), *INTEGERS, *FLOATS, BFLOAT16, *COMPLEX]
WHOLE = "--whole" in sys.argv  # every dtype; otherwise those that differ in the instructions they need
if not WHOLE:
    INTEGERS = [np.dtype(c) for c in "bHiQ"]
    DTYPES = [np.dtype("?"), *INTEGERS, *FLOATS, BFLOAT16, np.dtype("F")]
CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


def sample(dtype, shape=(7, 19), low=0, high=50, seed=0):
    """Integer-valued data that every dtype holds exactly, of both signs where the dtype has them."""
    values = np.random.default_rng(seed).integers(low, high, shape)
    if np.dtype(dtype) == np.dtype("?"):
        return values % 2 == 1
    if np.dtype(dtype).kind in "ifcV":
        values = values - high // 2
    return (
        values.astype(dtype) + (1j * values[::-1]).astype(dtype)
        if np.dtype(dtype).kind == "c"
        else values.astype(dtype)
    )


def same(got, expected):
    got = got.get()
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)


@check
def copies_of_every_layout(cp):
    for dtype in DTYPES:
        a = sample(dtype)
        same(cp.ascontiguousarray(cp.asarray(a).T), np.ascontiguousarray(a.T))
        same(cp.asarray(a)[::2, ::-3], a[::2, ::-3])
        same(cp.asarray(a.T).copy("C"), a.T)


@check
def astype_among_all_dtypes(cp):
    for source in DTYPES:
        a = sample(source)
        if source.kind != "c":
            a = np.abs(a.astype("d")).astype(source)  # negative floats to unsigned integers are undefined
        for target in (
            DTYPES if WHOLE else (np.dtype("?"), np.dtype("H"), np.dtype("q"), np.dtype("e"), np.dtype("d"), BFLOAT16)
        ):
            if source.kind == "c" and target.kind != "c":
                continue
            through = a.astype("f") if BFLOAT16 in (source, target) and source.kind != "c" else a
            same(cp.asarray(a).astype(target), through.astype(target))


@check
def rounding_of_narrow_floats(cp):
    values = np.concatenate(
        [
            np.random.default_rng(1).standard_normal(1000) * 10.0 ** np.random.default_rng(2).integers(-9, 9, 1000),
            [0.0, -0.0, 1e-8, 65519.0, 65520.0, np.inf, -np.inf],
        ]
    ).astype("f")
    with np.errstate(over="ignore"):
        for target in (np.dtype("e"), BFLOAT16):
            assert cp.asarray(values).astype(target).get().tobytes() == values.astype(target).tobytes()


@check
def filling_and_ranges(cp):
    for dtype in DTYPES:
        same(cp.full((3, 5), 3, dtype), np.full((3, 5), 3, dtype))
        same(cp.zeros((3, 5), dtype), np.zeros((3, 5), dtype))
    for dtype in [*INTEGERS, *FLOATS]:
        same(cp.arange(3, 40, 4, dtype), np.arange(3, 40, 4, dtype))
    same(cp.linspace(0, 1, 33), np.linspace(0, 1, 33))
    same(cp.eye(5, dtype="f"), np.eye(5, dtype="f"))


@check
def integer_arithmetic(cp):
    for dtype in INTEGERS:
        a, b = sample(dtype), sample(dtype, low=26, seed=1)
        x, y = cp.asarray(a), cp.asarray(b)
        for operation in ("__add__", "__sub__", "__mul__", "__floordiv__", "__mod__", "__and__", "__or__", "__xor__"):
            with np.errstate(divide="ignore"):
                expected = getattr(a, operation)(np.where(b == 0, 1, b).astype(dtype))
            same(getattr(x, operation)(cp.where(y == 0, 1, y).astype(dtype)), expected)
        same(x << 1, a << 1)
        same(x >> 1, a >> 1)
        same(abs(x), abs(a))
        same(x**3, a**3)


@check
def float_arithmetic(cp):
    rng = np.random.default_rng(3)
    for dtype in FLOATS:
        a, b = rng.uniform(-9, 9, 301).astype(dtype), rng.uniform(0.5, 9, 301).astype(dtype)
        x, y = cp.asarray(a), cp.asarray(b)
        for got, expected in (
            (x + y, a + b),
            (x - y, a - b),
            (x * y, a * b),
            (x / y, a / b),
            (-x, -a),
            (abs(x), abs(a)),
            (cp.floor(x), np.floor(a)),
            (cp.ceil(x), np.ceil(a)),
            (cp.trunc(x), np.trunc(a)),
            (cp.rint(x), np.rint(a)),
            (cp.sqrt(y), np.sqrt(b)),
            (x**2, a**2),
            (cp.fmod(x, y), np.fmod(a, b)),
            (cp.maximum(x, y), np.maximum(a, b)),
            (x.clip(-1, 1), a.clip(-1, 1)),
        ):
            same(got, expected)
        np.testing.assert_allclose((x % y).get(), a % b, rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)
        np.testing.assert_array_equal((x // y).get(), a // b)


@check
def bfloat16_arithmetic(cp):
    a, b = sample(BFLOAT16, (64,)), sample(BFLOAT16, (64,), low=26, seed=1)
    x, y = cp.asarray(a), cp.asarray(b)
    for got, expected in ((x + y, a + b), (x - y, a - b), (x * y, a * b)):
        same(got, expected)


@check
def complex_arithmetic(cp):
    for dtype in COMPLEX:
        a, b = sample(dtype), sample(dtype, seed=1) + dtype.type(60)
        x, y = cp.asarray(a), cp.asarray(b)
        for got, expected in (
            (x + y, a + b),
            (x - y, a - b),
            (x * y, a * b),
            (-x, -a),
            (x.conj(), a.conj()),
            (x.real, a.real),
        ):
            same(got, expected)
        cp.testing.assert_allclose(x / y, a / b, rtol=1e-5)
        cp.testing.assert_allclose(abs(x), abs(a), rtol=1e-5)


@check
def comparisons_and_selection(cp):
    for dtype in DTYPES:
        a, b = sample(dtype), sample(dtype, seed=1)
        x, y = cp.asarray(a), cp.asarray(b)
        same(x == y, a == b)
        same(x != y, a != b)
        if dtype.kind != "c":
            same(x < y, a < b)
            same(x >= y, a >= b)
        if dtype != BFLOAT16:  # CuPy gives float32
            same(cp.where(x == y, x, y), np.where(a == b, a, b))
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0])
    for dtype in FLOATS:
        x = cp.asarray(special.astype(dtype))
        for name in ("isnan", "isinf", "isfinite", "signbit"):
            same(getattr(cp, name)(x), getattr(np, name)(special.astype(dtype)))


@check
def reductions(cp):
    for dtype in DTYPES:
        a = sample(dtype, (13, 700), high=4)
        x = cp.asarray(a)
        if dtype != BFLOAT16:
            same(x.sum(), np.asarray(a.sum()))
            same(x.sum(axis=0), a.sum(axis=0))
            same(x.sum(axis=1), a.sum(axis=1))
        if dtype.kind != "c":
            same(x.max(), np.asarray(a.max()))
            same(x.min(axis=1), a.min(axis=1))
        if dtype.kind in "?biuf":
            same(x.argmax(axis=1), a.argmax(axis=1))
        same(x.all(), np.asarray(a.astype("?").all()))
        same(x.any(axis=0), a.astype("?").any(axis=0))
    a = np.random.default_rng(4).standard_normal((50, 60))
    cp.testing.assert_allclose(cp.asarray(a).mean(axis=0), a.mean(axis=0), rtol=1e-12)
    cp.testing.assert_allclose(cp.asarray(a).std(), a.std(), rtol=1e-12)
    same(cp.arange(1000).cumsum(), np.arange(1000).cumsum())


@check
def large_reduction_over_many_blocks(cp):
    a = np.arange(300_000, dtype="i") % 7
    same(cp.asarray(a).sum(), np.asarray(a.sum()))


@check
def assembling_and_indexing(cp):
    a = sample("f", (6, 8))
    x = cp.asarray(a)
    same(cp.concatenate([x, x[:2]]), np.concatenate([a, a[:2]]))
    same(cp.stack([x, x], axis=1), np.stack([a, a], axis=1))
    same(x[:, None, :] + x[None, :, :], a[:, None, :] + a[None, :, :])
    same(cp.broadcast_to(x[0], (4, 8)).copy(), np.broadcast_to(a[0], (4, 8)))
    same(x[cp.asarray([3, 1, 1])], a[[3, 1, 1]])
    same(x.reshape(4, 12).transpose(1, 0).ravel(), a.reshape(4, 12).T.ravel())
    target = cp.zeros((6, 8), "f")
    target[1:5, ::2] = x[1:5, 1::2]
    expected = np.zeros((6, 8), "f")
    expected[1:5, ::2] = a[1:5, 1::2]
    same(target, expected)
    cp.copyto(target, x[0])
    same(target, np.broadcast_to(a[0], (6, 8)))
    same(cp.tril(x), np.tril(a))
    same(cp.pad(x, 1), np.pad(a, 1))


@check
def testing_helpers(cp):
    a = np.random.default_rng(5).standard_normal((9, 9)).astype("f")
    cp.testing.assert_allclose(cp.asarray(a), a)
    cp.testing.assert_array_equal(cp.asarray(a), cp.asarray(a).copy())
    assert bool(cp.allclose(cp.asarray(a), a))
    assert not bool(cp.allclose(cp.asarray(a), a + 1))
    try:
        cp.testing.assert_allclose(cp.asarray(a), a + 1)
    except AssertionError:
        return
    raise RuntimeError("assert_allclose passed on different arrays")


@check
def elementary_functions(cp):
    x = np.random.default_rng(6).uniform(-4, 4, 501)
    cases = {
        "exp": x,
        "exp2": x,
        "expm1": x,
        "sin": 20 * x,
        "cos": 20 * x,
        "tan": x,
        "arctan": x,
        "sinh": x,
        "cosh": x,
        "tanh": x,
        "arcsinh": x,
        "cbrt": x,
        "log": abs(x),
        "log2": abs(x),
        "log10": abs(x),
        "log1p": abs(x),
        "arccosh": 1 + abs(x),
        "arcsin": x / 4,
        "arccos": x / 4,
        "arctanh": x / 4.1,
    }
    for name, values in cases.items():
        expected = getattr(np, name)(values)
        np.testing.assert_allclose(
            getattr(cp, name)(cp.asarray(values)).get(), expected, rtol=2e-14, atol=1e-15, err_msg=name
        )
        single = values.astype("f")
        expected = getattr(np, name)(single.astype("d"))
        np.testing.assert_allclose(
            getattr(cp, name)(cp.asarray(single)).get(), expected, rtol=2e-6, atol=2e-7, err_msg=name
        )
    base, power = abs(x) + 0.1, np.random.default_rng(7).uniform(-30, 30, 501)
    np.testing.assert_allclose((cp.asarray(base) ** cp.asarray(power)).get(), base**power, rtol=1e-14)
    np.testing.assert_allclose(cp.arctan2(cp.asarray(x), cp.asarray(power)).get(), np.arctan2(x, power), rtol=1e-14)
    np.testing.assert_allclose(cp.hypot(cp.asarray(x), cp.asarray(power)).get(), np.hypot(x, power), rtol=1e-14)


@check
def matmul_by_the_blas_stand_in(cp):
    for dtype in [*FLOATS, *COMPLEX]:
        a, b = sample(dtype, (17, 23), high=6), sample(dtype, (23, 9), high=6, seed=1)
        x, y = cp.asarray(a), cp.asarray(b)
        same(cp.matmul(x, y), a @ b)
        same(cp.matmul(y.T, x.T), b.T @ a.T)
        same(cp.dot(x, y[:, 0]), a @ b[:, 0])
        if dtype != np.dtype("e"):
            same(cp.matmul(cp.stack([x, x]), y), np.matmul(np.stack([a, a]), b))
            same(cp.vdot(x[0], x[1]), np.asarray(np.vdot(a[0], a[1])))
            same(cp.outer(x[0], y[0]), np.outer(a[0], b[0]))
        same(cp.tensordot(x, y, 1), np.tensordot(a, b, 1))
    a = sample("b", (17, 23), high=6)
    same(cp.matmul(cp.asarray(a), cp.asarray(a.T)), a @ a.T)


def main():
    import cupy

    results = {}
    for name in [a for a in sys.argv[1:] if a != "--whole"] or CHECKS:
        try:
            CHECKS[name](cupy)
            results[name] = ""
        except Exception:
            results[name] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
