"""Dot products: exact on small integers in every float format, signs and clamp of the integer ones."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from .harness import ARCHS
from .opcode_runner import accepted
from .registers import run_registers, wave_size


def _packed(values: np.ndarray, dtype: object) -> np.ndarray:
    """[lanes, n] small numbers as one dword a lane."""
    raw = values.astype(dtype)
    return np.ascontiguousarray(raw).view(np.uint32).reshape(1, 1, -1)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_two_products_into_f32(arch: str, element: str, dtype: object) -> None:
    rng, lanes = np.random.default_rng(1), wave_size(arch)
    a, b = (rng.integers(-30, 30, (lanes, 2)).astype(np.float32) for _ in range(2))
    c = rng.integers(-99, 99, lanes).astype(np.float32)
    want = (a * b).sum(axis=1) + c
    tested = 0
    for name in (f"v_dot2_f32_{element}", f"v_dot2c_f32_{element}", f"v_dot2acc_f32_{element}"):
        if name not in accepted(arch):
            continue
        inputs = [("v16", _packed(a, dtype)), ("v18", _packed(b, dtype))]
        inputs += [(r, c.view(np.uint32)[None, None]) for r in ("v20", "v40")]
        got = run_registers(arch, accepted(arch)[name].text, inputs, ("v40", 1))[0, 0].view(np.float32)
        np.testing.assert_array_equal(got, want)
        tested += 1
    assert tested or (arch, element) in (("gfx90a", "bf16"), ("gfx942", "bf16"))


@pytest.mark.parametrize("arch", [a for a in ARCHS if not a.startswith("gfx9")])
@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_two_products_into_a_half(arch: str, element: str, dtype: np.dtype) -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 4, (32, 2)).astype(np.float32) for _ in range(2))
    c = rng.integers(-9, 9, (32, 1)).astype(np.float32)
    want = ((a * b).sum(axis=1) + c[:, 0]).astype(dtype)
    wide = np.concatenate([c, c], axis=1)
    inputs = [("v16", _packed(a, dtype)), ("v18", _packed(b, dtype)), ("v20", _packed(wide, dtype))]
    text = accepted(arch)[f"v_dot2_{element}_{element}"].text
    got = run_registers(arch, text, inputs, ("v40", 1))[0, 0].astype(np.uint16).view(dtype)
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("first", ["fp8", "bf8"])
@pytest.mark.parametrize("second", ["fp8", "bf8"])
def test_four_fp8_products(first: str, second: str) -> None:
    types = {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2}
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 4, (32, 4)).astype(np.float32) for _ in range(2))
    c = rng.integers(-99, 99, 32).astype(np.float32)
    inputs = [
        ("v2", _packed(a, types[first])),
        ("v3", _packed(b, types[second])),
        ("v4", c.view(np.uint32)[None, None]),
    ]
    got = run_registers("gfx1201", f"v_dot4_f32_{first}_{second} v40, v2, v3, v4", inputs, ("v40", 1))[0, 0].view(
        np.float32
    )
    np.testing.assert_array_equal(got, (a * b).sum(axis=1) + c)


@pytest.mark.parametrize("arch", [a for a in ARCHS if not a.startswith("gfx9")])
@pytest.mark.parametrize(("bits", "n"), [(8, 4), (4, 8)])
@pytest.mark.parametrize("signs", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_signs_and_clamp_of_mixed_integers(arch: str, bits: int, n: int, signs: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    raw = rng.integers(0, 1 << bits, (2, 32, n))
    words = (raw << bits * np.arange(n)).sum(axis=2).astype(np.uint32)[:, None, None]
    c = rng.choice([-(2**31), 2**31 - 1, 0, 7], 32).astype(np.int64)
    inputs = [("v2", words[0]), ("v3", words[1]), ("v4", c.astype(np.int32).view(np.uint32)[None, None])]
    values = [
        np.where(s and True, np.where(r >> bits - 1 == 1, r - (1 << bits), r), r)
        for s, r in zip(signs, raw, strict=True)
    ]
    total = (values[0] * values[1]).sum(axis=1) + c
    text = f"v_dot{n}_i32_iu{bits} v{{}}, v2, v3, v4 neg_lo:[{signs[0]},{signs[1]},0]"
    got = run_registers(arch, text.format(40) + "\n" + text.format(41) + " clamp", inputs, ("v40", 2))[0].view(np.int32)
    np.testing.assert_array_equal(got[0], total.astype(np.int64).astype(np.int32))
    np.testing.assert_array_equal(got[1], np.clip(total, -(2**31), 2**31 - 1))
