"""Reciprocals, roots, exponentials and their kind within an ulp of float64; division, built from its three helpers,
exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from .harness import ARCHS, Kernel
from .opcode_runner import accepted
from .registers import run_registers, wave_size

FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rcp": lambda x: 1 / x,
    "rsq": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "exp": np.exp2,
    "log": np.log2,
    "sin": lambda x: np.sin(2 * math.pi * (x - np.round(x))),
    "cos": lambda x: np.cos(2 * math.pi * (x - np.round(x))),
}
TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def _inputs(dtype: type) -> np.ndarray:
    rng = np.random.default_rng(7)
    special = [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        0.25,
        2,
        3,
        100.5,
        np.inf,
        -np.inf,
        np.nan,
        np.finfo(dtype).max,
        np.finfo(dtype).tiny,
        0.75,
        -0.25,
    ]
    return np.concatenate([np.array(special), np.exp(rng.uniform(-8, 8, 240)) * rng.choice([-1, 1], 240)]).astype(dtype)


def _reference(name: str, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        y = FUNCTIONS[name](wide)
        if name in ("sin", "cos"):
            y = np.where(np.isinf(wide), np.nan, y)
        return np.where(x == 0, {"sin": wide, "rsq": 1 / wide}.get(name, y), y)


def _close(got: np.ndarray, want: np.ndarray, name: str) -> np.ndarray:
    """Within one ulp, and for sine and cosine near a zero within 1e-15."""
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        near = np.abs(got.astype(np.float64) - want) <= np.maximum(
            np.abs(np.spacing(rounded).astype(np.float64)), 1e-15
        )
    return np.where(np.isfinite(rounded), near, (got == rounded) | (np.isnan(got) & np.isnan(rounded)))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("type_name", list(TYPES))
def test_functions(arch: str, type_name: str) -> None:
    x = _inputs(TYPES[type_name])
    lanes, dwords = wave_size(arch), 2 if type_name == "f64" else 1
    tested = 0
    for name in FUNCTIONS:
        instruction = accepted(arch).get(f"v_{name}_{type_name}")
        if instruction is None:
            continue
        raw = x.view(np.uint16).astype(np.uint32) if type_name == "f16" else x.view(np.uint32)
        image = raw.reshape(-1, lanes, dwords).transpose(0, 2, 1).copy()
        flat = (
            run_registers(arch, instruction.text, [("v16", image)], ("v40", dwords))
            .transpose(0, 2, 1)
            .reshape(len(x), dwords)
        )
        got = (flat.astype(np.uint16) if type_name == "f16" else flat.copy()).view(TYPES[type_name]).reshape(-1)
        ok = _close(got, _reference(name, x), name)
        assert ok.all(), (name, x[~ok][:3], got[~ok][:3], _reference(name, x)[~ok][:3])
        tested += 1
    assert tested >= (3 if type_name == "f64" else 7)


@pytest.mark.parametrize("arch", ARCHS)
def test_subnormals_of_f32_are_flushed(arch: str) -> None:
    """On the way in (1/x of a subnormal is infinite) and out (1/x of the largest number is zero)."""
    x = np.resize(np.array([1e-40, -1e-40, 3.4e38, -3.4e38], np.float32), wave_size(arch))
    got = run_registers(arch, "v_rcp_f32 v40, v2", [("v2", x.view(np.uint32)[None, None])], ("v40", 1))[0, 0].view(
        np.float32
    )
    assert got[:4].tolist() == [math.inf, -math.inf, 0, 0]
    assert math.copysign(1, got[3]) == -1


@pytest.mark.parametrize("name", list(FUNCTIONS)[:5])
@pytest.mark.parametrize("type_name", ["f32", "f16"])
def test_pseudo_scalar_functions(name: str, type_name: str) -> None:
    """gfx12: the operand and the result are SGPRs."""
    dtype = TYPES[type_name]
    for x in (0.5, 1, 3, 1000.5):
        bits = int(np.array(x, dtype).view(f"u{np.dtype(dtype).itemsize}"))
        body = f"s_mov_b32 s60, {bits:#x}\nv_s_{name}_{type_name} s61, s60\nv_mov_b32 v40, s61"
        got = run_registers("gfx1201", body, [], ("v40", 1))[0, 0, :1]
        value = got.astype(np.uint16).view(np.float16) if type_name == "f16" else got.view(np.float32)
        assert _close(value, _reference(name, np.array([x], dtype)), name).all()


# ---- Division -------------------------------------------------------------------------------------------------------


def _operands(dtype: type, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    info = np.finfo(dtype)
    unsigned = f"u{np.dtype(dtype).itemsize}"
    limits = [info.max, -info.max, info.tiny, info.tiny / 2, info.smallest_subnormal]
    edges = np.array([0.0, -0.0, 1, -1, 3, 1 / 3, *limits, np.inf, -np.inf, np.nan, 0.1, 1e4], dtype)
    pool = [np.repeat(edges, edges.size), np.tile(edges, edges.size)]
    bits = [rng.integers(0, np.iinfo(unsigned).max, count, unsigned).view(dtype) for _ in range(2)]
    near = [(rng.uniform(1, 2, count) * 2.0 ** rng.integers(-3, 4, count)).astype(dtype) for _ in range(2)]
    # Quotients at the edge of the subnormal range.
    small = [
        near[0] * info.tiny,
        (rng.uniform(1, 2, count) * 2.0 ** rng.integers(0, min(30, info.maxexp - 2), count)).astype(dtype),
    ]
    return tuple(np.concatenate(x) for x in zip(pool, bits, near, small, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("type_name", ["f16", "f32", "f64"])
def test_division_is_correctly_rounded(arch: str, type_name: str) -> None:
    """numpy divides as IEEE 754 says."""
    c_type = {"f16": "_Float16", "f32": "float", "f64": "double"}[type_name]
    source = f"""extern "C" __global__ void f(const {c_type}* a, const {c_type}* b, {c_type}* c, int n) {{
      int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
      if (i < n) c[i] = a[i] / b[i];
    }}"""
    kernel = Kernel.from_hip(source, arch)
    used = {s.mnemonic for s in kernel.listing.statements}
    parts = ("fixup",) if type_name == "f16" else ("scale", "fmas", "fixup")
    assert all(any(m.startswith(f"v_div_{p}_{type_name}") for m in used) for p in parts)
    with np.errstate(all="ignore"):
        a, b = _operands(TYPES[type_name], 4000)
        want = a / b
    c = np.zeros_like(a)
    kernel.launch((len(a) + 255) // 256, 256, a, b, c, np.int32(len(a)))
    unsigned = f"u{c.itemsize}"
    ok = (c.view(unsigned) == want.view(unsigned)) | (np.isnan(c) & np.isnan(want))
    assert ok.all(), [x[~ok][:3] for x in (a, b, c, want)]
