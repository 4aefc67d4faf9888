"""Conversions between FP8 and f32: FNUZ on gfx942, OCP elsewhere."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from .registers import run_registers, wave_size

FP8_ARCHS = ("gfx942", "gfx950", "gfx1201")


def _dtype(arch: str, name: str) -> np.dtype:
    if arch == "gfx942":
        return np.dtype({"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}[name])
    return np.dtype({"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2}[name])


def _codes(arch: str) -> np.ndarray:
    """All 256 codes, four bytes a lane from the code on, as register images."""
    code = np.arange(256, dtype=np.uint32)
    word = code | (code + 1 & 255) << 8 | (code + 2 & 255) << 16 | (code + 3 & 255) << 24
    return word.reshape(-1, 1, wave_size(arch))


def _values(arch: str, name: str, codes: np.ndarray) -> np.ndarray:
    return codes.astype(np.uint8).view(_dtype(arch, name)).astype(np.float32)


@pytest.mark.parametrize("arch", FP8_ARCHS)
@pytest.mark.parametrize("name", ["fp8", "bf8"])
def test_decode_a_byte(arch: str, name: str) -> None:
    for byte in range(4):
        select = f"byte_sel:{byte}" if arch == "gfx1201" else f"src0_sel:BYTE_{byte}"
        text = f"v_cvt_f32_{name}{'' if arch == 'gfx1201' else '_sdwa'} v40, v2 {select}"
        if arch == "gfx1201":
            text = text.replace("v_cvt_f32_" + name, f"v_cvt_f32_{name}_e64")
        got = run_registers(arch, text, [("v2", _codes(arch))], ("v40", 1)).reshape(-1).view(np.float32)
        np.testing.assert_array_equal(got, _values(arch, name, np.arange(256) + byte & 255))


@pytest.mark.parametrize("arch", FP8_ARCHS)
@pytest.mark.parametrize("name", ["fp8", "bf8"])
@pytest.mark.parametrize("word", [0, 1])
def test_decode_a_pair(arch: str, name: str, word: int) -> None:
    if arch == "gfx1201":
        text = f"v_cvt_pk_f32_{name} v[40:41], v2{'.h' if word else '.l'}"
    else:
        text = f"v_cvt_pk_f32_{name}_sdwa v[40:41], v2 src0_sel:WORD_{word}"
    got = (
        run_registers(arch, text, [("v2", _codes(arch))], ("v40", 2))
        .transpose(0, 2, 1)
        .reshape(256, 2)
        .copy()
        .view(np.float32)
    )
    for n in range(2):
        np.testing.assert_array_equal(got[:, n], _values(arch, name, np.arange(256) + 2 * word + n & 255))


def _numbers(arch: str, name: str) -> np.ndarray:
    """Every finite value, the midpoints between neighbours, and numbers beside them, up to the largest one."""
    exact = _values(arch, name, np.arange(256))
    finite = np.unique(exact[np.isfinite(exact)])
    middle = (finite[1:] + finite[:-1]) / 2
    all_of_them = np.concatenate(
        [finite, middle, np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(-np.inf))]
    )
    return np.resize(all_of_them.astype(np.float32), 1024)


@pytest.mark.parametrize("arch", FP8_ARCHS)
@pytest.mark.parametrize("name", ["fp8", "bf8"])
def test_encode_a_pair(arch: str, name: str) -> None:
    x = _numbers(arch, name)
    y = x[::-1].copy()
    images = [v.view(np.uint32).reshape(-1, 1, wave_size(arch)) for v in (x, y)]
    old = np.full_like(images[0], 0x11223344)
    high = "op_sel:[0,0,1]"
    text = f"v_cvt_pk_{name}_f32 v40, v2, v3\nv_cvt_pk_{name}_f32 v41, v2, v3 {high}"
    inputs = [("v2", images[0]), ("v3", images[1]), ("v40", np.repeat(old, 2, axis=1))]
    got = run_registers(arch, text, inputs, ("v40", 2))
    want = [v.astype(_dtype(arch, name)).view(np.uint8).astype(np.uint32) for v in (x, y)]
    pair = want[0] | want[1] << 8
    np.testing.assert_array_equal(got[:, 0].reshape(-1), 0x11220000 | pair)
    np.testing.assert_array_equal(got[:, 1].reshape(-1), 0x3344 | pair << 16)


@pytest.mark.parametrize("arch", FP8_ARCHS)
@pytest.mark.parametrize("name", ["fp8", "bf8"])
def test_stochastic_rounding(arch: str, name: str) -> None:
    """A representable number stays; else the seed decides between the two neighbours: the least seed rounds towards
    zero, the largest away from it.
    """
    lanes = wave_size(arch)
    codes = np.resize(_values(arch, name, np.arange(0x20, 0x70)), lanes).astype(np.float32)
    step = np.resize(_values(arch, name, np.arange(0x21, 0x71)), lanes).astype(np.float32)
    for x, seed, want in (
        (codes, 0xFFFFFFFF, codes),
        ((codes + step) / 2, 0, codes),
        ((codes + step) / 2, 0x7FFFFFFF, codes),
        ((codes + step) / 2, 0x80000000, step),
        ((codes + step) / 2, 0xFFFFFFFF, step),
    ):
        seeds = np.full((1, 1, lanes), seed, np.uint32)
        inputs = [
            ("v2", x.astype(np.float32).view(np.uint32)[None, None]),
            ("v3", seeds),
            ("v40", np.zeros((1, 1, lanes), np.uint32)),
        ]
        got = run_registers(arch, f"v_cvt_sr_{name}_f32 v40, v2, v3", inputs, ("v40", 1))[0, 0]
        np.testing.assert_array_equal(_values(arch, name, got & 255), want)
        assert (got >> 8 == 0).all()
