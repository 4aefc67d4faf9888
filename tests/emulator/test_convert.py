"""The executor's conversions (native/exec/convert.hpp) against ml_dtypes and exact rational arithmetic."""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from .probe import compile_probe

#: C++ constant -> (bits, NumPy type)
FORMATS = {
    "kF16": (16, np.float16),
    "kBf16": (16, ml_dtypes.bfloat16),
    "kE4m3": (8, ml_dtypes.float8_e4m3fn),
    "kE5m2": (8, ml_dtypes.float8_e5m2),
    "kE4m3Fnuz": (8, ml_dtypes.float8_e4m3fnuz),
    "kE5m2Fnuz": (8, ml_dtypes.float8_e5m2fnuz),
    "kE2m3": (6, ml_dtypes.float6_e2m3fn),
    "kE3m2": (6, ml_dtypes.float6_e3m2fn),
    "kE2m1": (4, ml_dtypes.float4_e2m1fn),
}
NEAREST, UP, DOWN, ZERO = range(4)

_PROBE = (
    '#include "convert.hpp"\nusing namespace emu;\nextern "C" {\n'
    + "".join(
        f"void decode_{f}(const uint32_t* x, float* y, int n) {{\n"
        f"  for (int i = 0; i < n; i++) y[i] = decode<{f}>(x[i]); }}\n"
        f"void encode_{f}(const float* x, uint32_t* y, int n, int mode, int saturate) {{\n"
        f"  for (int i = 0; i < n; i++) y[i] = encode<{f}>(x[i], static_cast<Round>(mode), saturate); }}\n"
        for f in FORMATS
    )
    + "".join(
        f"void {f}(const {x}* x, {y}* y, int n) {{ for (int i = 0; i < n; i++) y[i] = emu::{f}(x[i]); }}\n"
        for f, x, y in [
            ("f16_to_f32", "uint32_t", "float"),
            ("bf16_to_f32", "uint32_t", "float"),
            ("e8m0_to_f32", "uint32_t", "float"),
            ("f32_to_f16", "float", "uint32_t"),
            ("f32_to_bf16", "float", "uint32_t"),
        ]
    ).replace("void ", "void fast_")
    + "}\n"
)


@pytest.fixture(scope="module")
def convert(tmp_path_factory):
    library = compile_probe(_PROBE, tmp_path_factory.mktemp("convert"))

    def call(name, x, out, *extra):
        x = np.ascontiguousarray(x)
        y = np.empty(x.shape, out)
        getattr(library, name)(x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p), x.size, *extra)
        return y

    return call


def all_codes(bits):
    return np.arange(1 << bits, dtype=np.uint32)


def as_type(codes, bits, dtype):
    return codes.astype(np.uint16 if bits == 16 else np.uint8).view(dtype)


def assert_same(got, want):
    """Bit for bit, any NaN for a NaN."""
    wrong = (got.view(np.uint32) != want.view(np.uint32)) & ~(np.isnan(got) & np.isnan(want))
    assert not wrong.any(), (got[wrong][:5], want[wrong][:5])


def interesting(bits, dtype):
    """Every finite value of the format, every tie between neighbours, the numbers next to those, and random ones."""
    values = as_type(all_codes(bits), bits, dtype).astype(np.float32)
    values = np.unique(values[np.isfinite(values)])
    with np.errstate(over="ignore"):
        ties = ((values[1:].astype(np.float64) + values[:-1]) / 2).astype(np.float32)
        beyond = np.float32([values[-1] * f for f in (1.01, 1.03, 1.07, 1.2, 1.5, 2, 4, 1e6)])
        near = [np.nextafter(v, np.float32(s)) for v in (values, ties) for s in (np.inf, -np.inf)]
    rng = np.random.default_rng(bits)
    random = rng.integers(0, 1 << 32, 1 << 16, dtype=np.uint32).view(np.float32)
    scaled = (rng.standard_normal(1 << 16) * np.exp2(rng.integers(-30, 20, 1 << 16))).astype(np.float32)
    x = np.concatenate([values, ties, *near, beyond, -beyond, np.float32([0.0, -0.0]), random, scaled])
    return x[np.isfinite(x)]


@pytest.mark.parametrize("name", FORMATS)
def test_decode_every_code(convert, name):
    bits, dtype = FORMATS[name]
    assert_same(
        convert(f"decode_{name}", all_codes(bits), np.float32), as_type(all_codes(bits), bits, dtype).astype(np.float32)
    )


@pytest.mark.parametrize("name", FORMATS)
def test_encode_rounds_to_nearest_even(convert, name):
    bits, dtype = FORMATS[name]
    x = interesting(bits, dtype)
    if bits >= 8:
        x = np.concatenate([x, np.float32([np.inf, -np.inf, np.nan])])
    with np.errstate(over="ignore", invalid="ignore"):
        want = x.astype(dtype).astype(np.float32)
    assert_same(as_type(convert(f"encode_{name}", x, np.uint32, NEAREST, 0), bits, dtype).astype(np.float32), want)


@pytest.mark.parametrize("mode", [UP, DOWN, ZERO])
@pytest.mark.parametrize("name", FORMATS)
def test_encode_directed(convert, name, mode):
    """The nearest value of the format on the side that the mode names."""
    bits, dtype = FORMATS[name]
    values = as_type(all_codes(bits), bits, dtype).astype(np.float32)
    values = np.unique(values[np.isfinite(values)])
    x = interesting(bits, dtype)
    x = x[np.abs(x) <= values[-1]]
    got = as_type(convert(f"encode_{name}", x, np.uint32, mode, 0), bits, dtype).astype(np.float32)
    up = values[np.searchsorted(values, x, side="left")]
    down = values[np.searchsorted(values, x, side="right") - 1]
    want = {UP: up, DOWN: down, ZERO: np.where(x < 0, up, down)}[mode]
    assert np.array_equal(got, want)


@pytest.mark.parametrize("name", ["kF16", "kE4m3", "kE5m2", "kE4m3Fnuz", "kE5m2Fnuz"])
def test_encode_saturates_when_asked(convert, name):
    bits, dtype = FORMATS[name]
    largest = float(ml_dtypes.finfo(dtype).max)
    x = np.float32([largest * 1.5, -largest * 1.5, 1e30, -1e30, largest])
    got = as_type(convert(f"encode_{name}", x, np.uint32, NEAREST, 1), bits, dtype).astype(np.float32)
    assert got.tolist() == [largest, -largest, largest, -largest, largest]
    unsaturated = as_type(convert(f"encode_{name}", x[:2], np.uint32, NEAREST, 0), bits, dtype).astype(np.float32)
    assert not np.isfinite(unsaturated).any()


def test_encode_is_correctly_rounded_f16(convert):
    """Against rationals: no representable number is nearer than the one returned."""
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(500) * np.exp2(rng.integers(-26, 15, 500))).astype(np.float32)
    codes = convert("encode_kF16", x, np.uint32, NEAREST, 0)
    for value, code in zip(x.tolist(), codes.tolist(), strict=True):
        error = abs(Fraction(value) - Fraction(float(np.uint16(code).view(np.float16))))
        for neighbour in (code - 1, code + 1):
            other = float(np.uint16(neighbour & 0xFFFF).view(np.float16))
            if math.isfinite(other):
                assert error <= abs(Fraction(value) - Fraction(other))


def test_fast_paths_equal_the_general_ones(convert):
    codes = all_codes(16)
    assert_same(convert("fast_f16_to_f32", codes, np.float32), convert("decode_kF16", codes, np.float32))
    assert_same(convert("fast_bf16_to_f32", codes, np.float32), convert("decode_kBf16", codes, np.float32))
    for name, dtype, fast in (
        ("kF16", np.float16, "fast_f32_to_f16"),
        ("kBf16", ml_dtypes.bfloat16, "fast_f32_to_bf16"),
    ):
        x = np.concatenate([interesting(16, dtype), np.float32([np.inf, -np.inf, np.nan, 65519.996, 65520, 3.4e38])])
        assert np.array_equal(convert(fast, x, np.uint32), convert(f"encode_{name}", x, np.uint32, NEAREST, 0))


def test_e8m0(convert):
    codes = all_codes(8)
    got = convert("fast_e8m0_to_f32", codes, np.float32)
    assert_same(got, codes.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float32))
    assert got[127] == 1
    assert math.isnan(got[255])
