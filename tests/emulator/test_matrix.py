"""Every matrix instruction on every arch that has it: layouts by one-hot probing, small integers, random data.

The layouts are written from the tables of AMD's matrix instruction calculator and ISA documents, not from the executor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from .registers import run_registers, wave_size

CDNA = ("gfx90a", "gfx942", "gfx950")
BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "i8": 8, "u8": 8, "i4": 4, "u4": 4}
BITS |= {"e2m3": 6, "e3m2": 6, "e2m1": 4}


def element_type(name: str, arch: str):
    fnuz = arch == "gfx942"
    return {
        "f64": np.float64,
        "f32": np.float32,
        "xf32": np.float32,
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "fp8": ml_dtypes.float8_e4m3fnuz if fnuz else ml_dtypes.float8_e4m3fn,
        "bf8": ml_dtypes.float8_e5m2fnuz if fnuz else ml_dtypes.float8_e5m2,
        "e2m3": ml_dtypes.float6_e2m3fn,
        "e3m2": ml_dtypes.float6_e3m2fn,
        "e2m1": ml_dtypes.float4_e2m1fn,
        "i8": np.int8,
        "u8": np.uint8,
        "i4": np.int8,
        "u4": np.uint8,
        "i32": np.int32,
    }[name]


@dataclass(frozen=True)
class Case:
    """D[blocks][m][m] = A[blocks][m][k] B[blocks][k][m] + C."""

    name: str
    arch: str
    m: int
    k: int
    a: str
    b: str
    acc: str
    blocks: int = 1
    modifiers: str = ""

    @property
    def lanes(self) -> int:
        return wave_size(self.arch)

    def per_lane(self) -> int:
        return self.k if self.arch.startswith("gfx11") else self.k * self.m * self.blocks // self.lanes

    def operand_at(self, lane: int, e: int, kind: str) -> tuple[int, int, int]:
        """(block, row or column, k) of element ``e`` of ``lane`` of A or B."""
        m, p = self.m, self.per_lane()
        if self.arch.startswith("gfx11"):
            return 0, lane % 16, e
        if self.arch.startswith("gfx12"):
            if BITS[kind] == 16:
                gpr, half = divmod(e, 2)
                return 0, lane % 16, 8 * (gpr // 2) + 4 * (lane // 16) + 2 * (gpr % 2) + half
            return 0, lane % 16, p * (lane // 16) + e
        if "f8f6f4" in self.name:
            groups = 64 // m
            if BITS[kind] == 8:
                return 0, lane % m, 16 * (lane // m) + 16 * groups * (e // 16) + e % 16
            return 0, lane % m, 32 * (lane // m) + e
        group = lane // m
        groups = self.k // p
        return group // groups, lane % m, p * (group % groups) + e

    def result_at(self, lane: int, r: int) -> tuple[int, int, int]:
        """(block, row, column) of accumulator element ``r`` (in registers of the accumulator's width) of ``lane``."""
        if self.arch.startswith("gfx11"):
            return 0, 2 * r + lane // 16, lane % 16
        if self.arch.startswith("gfx12"):
            return 0, 8 * (lane // 16) + r, lane % 16
        if self.m == 32:
            return r // 16, 8 * (r % 16 // 4) + 4 * (lane // 32) + r % 4, lane % 32
        if self.m == 16:
            return (
                (0, 4 * r + lane // 16, lane % 16)
                if self.acc == "f64"
                else (r // 4, 4 * (lane // 16) + r % 4, lane % 16)
            )
        if self.acc == "f64":
            return lane // 16, lane // 4 % 4, lane % 4
        return lane // 4, r, lane % 4

    def results(self) -> int:
        return self.m * self.m * self.blocks // self.lanes


def cases() -> list[Case]:
    found = []
    for arch in ("gfx1100", "gfx1151", "gfx1201"):
        found += [Case(f"v_wmma_f32_16x16x16_{t}", arch, 16, 16, t, t, "f32") for t in ("f16", "bf16")]
        found += [Case(f"v_wmma_{t}_16x16x16_{t}", arch, 16, 16, t, t, t) for t in ("f16", "bf16")]
        depths = {8: (16,), 4: (16, 32) if arch == "gfx1201" else (16,)}
        for bits, ks in depths.items():
            for a, b, modifier in (
                ("u", "u", ""),
                ("i", "u", "neg_lo:[1,0,0]"),
                ("u", "i", "neg_lo:[0,1,0]"),
                ("i", "i", "neg_lo:[1,1,0]"),
            ):
                found += [
                    Case(
                        f"v_wmma_i32_16x16x{k}_iu{bits}",
                        arch,
                        16,
                        k,
                        f"{a}{bits}",
                        f"{b}{bits}",
                        "i32",
                        modifiers=modifier,
                    )
                    for k in ks
                ]
    for a in ("fp8", "bf8"):
        for b in ("fp8", "bf8"):
            found.append(Case(f"v_wmma_f32_16x16x16_{a}_{b}", "gfx1201", 16, 16, a, b, "f32"))
            for arch in ("gfx942", "gfx950"):
                found += [
                    Case(f"v_mfma_f32_{m}x{m}x{k}_{a}_{b}", arch, m, k, a, b, "f32") for m, k in ((16, 32), (32, 16))
                ]

    def mfma(archs, shape, kind, acc="f32", joint="_", suffix="", old=""):
        """``shape`` = m, k, blocks; gfx90a writes neither the block count nor the last underscore."""
        m, k, blocks = shape
        for arch in archs:
            many = f"_{blocks}b" if blocks > 1 else ""
            tail = f"{old or kind}{suffix}" if arch == "gfx90a" else f"{many}{joint}{kind}"
            found.append(Case(f"v_mfma_{acc}_{m}x{m}x{k}{tail}", arch, m, k, kind, kind, acc, blocks))

    for shape in ((32, 1, 2), (16, 1, 4), (4, 1, 16), (32, 2, 1), (16, 4, 1)):
        mfma(CDNA, shape, "f32")
    for shape in ((32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)):
        mfma(CDNA, shape, "f16")
        mfma(CDNA, shape, "bf16", suffix="_1k")
    for shape in ((32, 2, 2), (16, 2, 4), (4, 2, 16), (32, 4, 1), (16, 8, 1)):
        mfma(("gfx90a",), shape, "bf16")
    for shape in ((32, 4, 2), (16, 4, 4), (4, 4, 16)):
        mfma(CDNA, shape, "i8", "i32")
    for shape in ((32, 8, 1), (16, 16, 1)):
        mfma(("gfx90a",), shape, "i8", "i32")
    for shape in ((32, 16, 1), (16, 32, 1)):
        mfma(("gfx942", "gfx950"), shape, "i8", "i32")
        mfma(("gfx950",), shape, "f16")
        mfma(("gfx950",), shape, "bf16")
    for shape in ((32, 32, 1), (16, 64, 1)):
        mfma(("gfx950",), shape, "i8", "i32")
    for shape in ((32, 4, 1), (16, 8, 1)):
        mfma(("gfx942",), shape, "xf32")
    for shape in ((16, 4, 1), (4, 4, 4)):
        mfma(CDNA, shape, "f64", "f64")
    formats = ("fp8", "bf8", "e2m3", "e3m2", "e2m1")
    for m, k in ((16, 128), (32, 64)):
        for ai, a in enumerate(formats):
            for bi, b in enumerate(formats):
                if ai == bi or 0 in (ai, bi) or (ai, bi) == (4, 2):
                    found.append(
                        Case(
                            f"v_mfma_f32_{m}x{m}x{k}_f8f6f4",
                            "gfx950",
                            m,
                            k,
                            a,
                            b,
                            "f32",
                            modifiers=f"cbsz:{ai} blgp:{bi}",
                        )
                    )
    return found


CASES = cases()


def case_id(case: Case) -> str:
    return f"{case.arch}-{case.name}-{case.a}-{case.b}"


def codes_of(values: np.ndarray, kind: str, arch: str) -> np.ndarray:
    """Bits of ``values`` (exactly representable) as the element type has them."""
    typed = values.astype(element_type(kind, arch))
    unsigned = {8: np.uint64, 4: np.uint32, 2: np.uint16, 1: np.uint8}[typed.itemsize]
    return typed.view(unsigned).astype(np.uint64) & np.uint64((1 << BITS[kind]) - 1)


def pack_operand(case: Case, values: np.ndarray, kind: str) -> np.ndarray:
    """Register image uint32[groups, registers, lanes] of values[groups, block, row or column, k]."""
    bits, p = BITS[kind], case.per_lane()
    codes = codes_of(values, kind, case.arch)
    image = np.zeros((len(values), (p * bits + 31) // 32 + 1, case.lanes), np.uint64)
    for lane in range(case.lanes):
        for e in range(p):
            code = codes[(slice(None), *case.operand_at(lane, e, kind))]
            word, shift = divmod(e * bits, 32)
            image[:, word, lane] |= code << np.uint64(shift) & np.uint64(0xFFFFFFFF)
            image[:, word + 1, lane] |= code >> np.uint64(32 - shift) if shift or bits > 32 else np.uint64(0)
    return image[:, : (p * bits + 31) // 32].astype(np.uint32)


def pack_result(case: Case, values: np.ndarray) -> np.ndarray:
    dtype = element_type(case.acc, case.arch)
    n = case.results()
    flat = np.zeros((len(values), n, case.lanes), dtype)
    for lane in range(case.lanes):
        for r in range(n):
            flat[:, r, lane] = values[(slice(None), *case.result_at(lane, r))]
    if case.acc == "f64":
        return (
            flat.transpose(0, 1, 2)
            .copy()
            .view(np.uint32)
            .reshape(len(values), n, case.lanes, 2)
            .transpose(0, 1, 3, 2)
            .reshape(len(values), 2 * n, case.lanes)
        )
    if BITS.get(case.acc, 32) == 16:
        halves = flat.view(np.uint16).astype(np.uint32)
        return halves if case.arch.startswith("gfx11") else halves[:, 0::2] | halves[:, 1::2] << 16
    return flat.view(np.uint32)


def unpack_result(case: Case, image: np.ndarray) -> np.ndarray:
    dtype, n = element_type(case.acc, case.arch), case.results()
    if case.acc == "f64":
        pairs = image.reshape(len(image), n, 2, case.lanes).transpose(0, 1, 3, 2)
        flat = np.ascontiguousarray(pairs).view(np.float64)[..., 0]
    elif BITS.get(case.acc, 32) == 16:
        if case.arch.startswith("gfx11"):
            halves = image & 0xFFFF
        else:
            halves = np.stack([image & 0xFFFF, image >> 16], axis=2).reshape(len(image), n, case.lanes)
        flat = halves.astype(np.uint16).view(dtype)
    else:
        flat = np.ascontiguousarray(image).view(dtype)
    values = np.zeros((len(image), case.blocks, case.m, case.m), dtype)
    for lane in range(case.lanes):
        for r in range(n):
            values[(slice(None), *case.result_at(lane, r))] = flat[:, r, lane]
    return values


def registers_of(case: Case) -> dict[str, int]:
    wide = 2 if case.acc == "f64" else 1
    packed = 2 if BITS.get(case.acc, 32) == 16 and case.arch.startswith("gfx12") else 1
    return {
        "a": (case.per_lane() * BITS[case.a] + 31) // 32,
        "b": (case.per_lane() * BITS[case.b] + 31) // 32,
        "d": case.results() * wide // packed,
    }


def span(file: str, first: int, count: int) -> str:
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def run(case: Case, a: np.ndarray, b: np.ndarray, c: np.ndarray, files: str = "vvvv", extra: str = "") -> np.ndarray:
    """D for A[groups, blocks, m, k], B[groups, blocks, k, m], C[groups, blocks, m, m]; ``files`` of D, A, B, C."""
    count = registers_of(case)
    places = {
        "d": span(files[0], 144, count["d"]),
        "a": span(files[1], 16, count["a"]),
        "b": span(files[2], 32, count["b"]),
    }
    places["c"] = span(files[3], 64, count["d"])
    images = [pack_operand(case, a, case.a), pack_operand(case, b.swapaxes(-1, -2), case.b), pack_result(case, c)]
    inputs = [(files[1] + "16", images[0]), (files[2] + "32", images[1]), (files[3] + "64", images[2])]
    body = f"{case.name} {places['d']}, {places['a']}, {places['b']}, {places['c']} {case.modifiers} {extra}".rstrip()
    return unpack_result(case, run_registers(case.arch, body, inputs, (f"{files[0]}144", count["d"])))


def small(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Integers that the type holds and whose sums stay exact."""
    low, high = {"u8": (0, 255), "i8": (-128, 127), "u4": (0, 15), "i4": (-8, 7), "e2m1": (-1, 1)}.get(kind, (-3, 3))
    return rng.integers(low, high + 1, shape).astype(np.float64)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_small_integers_are_exact(case):
    rng = np.random.default_rng(1)
    a, b = small(rng, case.a, (4, case.blocks, case.m, case.k)), small(rng, case.b, (4, case.blocks, case.k, case.m))
    c = rng.integers(-9, 10, (4, case.blocks, case.m, case.m)).astype(np.float64)
    assert np.array_equal(run(case, a, b, c).astype(np.float64), a @ b + c)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_hot(case):
    """A one in each place of A moves a row of B to a row of D; columns of B likewise; C goes straight through."""
    m, k, blocks = case.m, case.k, case.blocks
    places = [(blk, i, kk) for blk in range(blocks) for i in range(m) for kk in range(k)]
    stride = max(1, len(places) // 256)
    places = places[:: stride | 1] if stride > 1 else places
    hot = np.zeros((len(places), blocks, m, k))
    for n, place in enumerate(places):
        hot[(n, *place)] = 1
    rng = np.random.default_rng(2)
    b = np.broadcast_to(small(rng, case.b, (1, blocks, k, m)), (len(places), blocks, k, m))
    zero = np.zeros((len(places), blocks, m, m))
    assert np.array_equal(run(case, hot, b, zero).astype(np.float64), hot @ b)
    a = np.broadcast_to(small(rng, case.a, (1, blocks, m, k)), (len(places), blocks, m, k))
    assert np.array_equal(run(case, a, hot.swapaxes(-1, -2), zero).astype(np.float64), a @ hot.swapaxes(-1, -2))
    c = np.arange(blocks * m * m).reshape(1, blocks, m, m).astype(np.float64) % 251
    assert np.array_equal(run(case, np.zeros((1, blocks, m, k)), b[:1], c).astype(np.float64), c)


@pytest.mark.parametrize("case", [c for c in CASES if c.acc[0] in "fb"], ids=case_id)
def test_random_against_float64(case):
    rng = np.random.default_rng(3)
    dtype = element_type(case.a, case.arch), element_type(case.b, case.arch)
    a = rng.standard_normal((2, case.blocks, case.m, case.k)).astype(dtype[0]).astype(np.float64)
    b = rng.standard_normal((2, case.blocks, case.k, case.m)).astype(dtype[1]).astype(np.float64)
    c = (
        rng.standard_normal((2, case.blocks, case.m, case.m))
        .astype(element_type(case.acc, case.arch))
        .astype(np.float64)
    )
    got = run(case, a, b, c).astype(np.float64)
    unit = {"f32": 2.0**-24, "f64": 2.0**-53, "f16": 2.0**-11, "bf16": 2.0**-8}[case.acc]
    operand = 2.0**-10 if "xf32" in case.name else 0.0
    magnitude = np.abs(a) @ np.abs(b) + np.abs(c)
    steps = case.k + 1 if case.acc in ("f32", "f64") else 1
    assert (
        np.abs(got - (a @ b + c))
        <= (steps * unit + operand) * magnitude + case.k * 2.0**-24 * magnitude * (unit > 1e-6)
    ).all()


@pytest.mark.parametrize("arch", CDNA)
@pytest.mark.parametrize("files", ["aaaa", "avva", "vaav", "vvaa"])
def test_accumulation_registers(arch, files):
    """Any operand in AGPRs. (The D and C of real instructions share a file; the executor does not mind.)"""
    case = next(c for c in CASES if c.arch == arch and c.a == "f16" and c.m == 32 and c.k == 8)
    rng = np.random.default_rng(4)
    a, b, c = small(rng, "f16", (1, 1, 32, 8)), small(rng, "f16", (1, 1, 8, 32)), small(rng, "f32", (1, 1, 32, 32))
    assert np.array_equal(run(case, a, b, c, files).astype(np.float64), a @ b + c)


def find(arch: str, name: str, **fields) -> Case:
    return next(
        c for c in CASES if c.arch == arch and name in c.name and all(getattr(c, f) == v for f, v in fields.items())
    )


@pytest.mark.parametrize("arch", CDNA)
def test_constant_accumulator(arch):
    case = find(arch, "v_mfma_f32_16x16x16", a="f16")
    a, b = np.ones((1, 1, 16, 16)), np.ones((1, 1, 16, 16))
    images = [("v16", pack_operand(case, a, "f16")), ("v32", pack_operand(case, b, "f16"))]
    for constant, value in (("0", 0), ("1.0", 1), ("-4.0", -4)):
        image = run_registers(arch, f"{case.name} v[144:147], v[16:17], v[32:33], {constant}", images, ("v144", 4))
        assert (unpack_result(case, image) == 16 + value).all()


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1151"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("high", [0, 1])
def test_gfx11_half_accumulator_keeps_the_other_half(arch, kind, high):
    case = find(arch, f"v_wmma_{kind}_", a=kind)
    rng = np.random.default_rng(5)
    a, b, c = (small(rng, kind, (1, 1, 16, 16)) for _ in range(3))
    image = pack_result(case, c) << (16 * high) | np.uint32(0x1234) << (16 * (1 - high))
    inputs = [
        ("v16", pack_operand(case, a, kind)),
        ("v32", pack_operand(case, b.swapaxes(-1, -2), kind)),
        ("v64", image),
    ]
    body = f"{case.name} v[64:71], v[16:23], v[32:39], v[64:71] op_sel:[0,0,{high}]"
    out = run_registers(arch, body, inputs, ("v64", 8))
    assert (out >> (16 * (1 - high)) & 0xFFFF == 0x1234).all()
    assert np.array_equal(unpack_result(case, out >> (16 * high) & 0xFFFF).astype(np.float64), a @ b + c)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_integer_clamp_saturates(arch):
    case = find(arch, "16x16x16_iu8", a="i8", b="i8")
    a, b = np.full((1, 1, 16, 16), 127.0), np.full((1, 1, 16, 16), 127.0)
    c = np.full((1, 1, 16, 16), 2.0**31 - 1)
    assert (run(case, a, b, c, extra="clamp") == 2**31 - 1).all()
    assert (run(case, -a, b, -c, extra="clamp") == -(2**31)).all()
    wrapped = (2**31 - 1 + 16 * 127 * 127 + 2**31) % 2**32 - 2**31
    assert (run(case, a, b, c) == wrapped).all()


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_float_negation(arch):
    """neg_lo and neg_hi: even and odd k of A and B; on C negation and absolute value."""
    case = find(arch, "v_wmma_f32_16x16x16_f16")
    rng = np.random.default_rng(6)
    a, b, c = (small(rng, "f16", (1, 1, 16, 16)) for _ in range(3))
    even, odd = np.where(np.arange(16) % 2, 1, -1), np.where(np.arange(16) % 2, -1, 1)
    assert np.array_equal(run(case, a, b, c, extra="neg_lo:[1,0,0]"), (a * even) @ b + c)
    assert np.array_equal(run(case, a, b, c, extra="neg_hi:[0,1,0]"), a @ (b * odd[:, None]) + c)
    assert np.array_equal(run(case, a, b, c, extra="neg_lo:[0,0,1] neg_hi:[0,0,1]"), a @ b - abs(c))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("case_name", ["32x32x4_2b_f16", "16x16x4_4b_f16", "4x4x4_16b_f16"])
def test_broadcast_of_a(arch, case_name):
    """cbsz, abid: every block reads A of block abid within its group of 2**cbsz."""
    case = find(arch, case_name)
    rng = np.random.default_rng(7)
    a, b = small(rng, "f16", (1, case.blocks, case.m, case.k)), small(rng, "f16", (1, case.blocks, case.k, case.m))
    c = np.zeros((1, case.blocks, case.m, case.m))
    for cbsz in range(1, case.blocks.bit_length()):
        for abid in (0, (1 << cbsz) - 1):
            blocks = (np.arange(case.blocks) >> cbsz << cbsz) + abid
            got = run(case, a, b, c, extra=f"cbsz:{cbsz} abid:{abid}")
            assert np.array_equal(got.astype(np.float64), a[:, blocks] @ b)


@pytest.mark.parametrize("blgp", range(8))
def test_lane_pattern_of_b(blgp):
    case = find("gfx942", "v_mfma_f32_32x32x1_2b_f32")
    rng = np.random.default_rng(8)
    a, b = small(rng, "f32", (1, 2, 32, 1)), small(rng, "f32", (1, 2, 1, 32))
    lanes = b.reshape(64)
    pattern: dict[int, Callable[[np.ndarray], np.ndarray]] = {
        0: lambda n: n, 1: lambda n: n % 32, 2: lambda n: 32 + n % 32, 3: lambda n: (n + 16) % 64,
        **{4 + q: (lambda n, q=q: 16 * q + n % 16) for q in range(4)},
    }  # fmt: skip
    seen = lanes[pattern[blgp](np.arange(64))].reshape(1, 2, 1, 32)
    assert np.array_equal(run(case, a, b, np.zeros((1, 2, 32, 32)), extra=f"blgp:{blgp}").astype(np.float64), a @ seen)


def test_f64_negation():
    case = find("gfx942", "v_mfma_f64_16x16x4_f64")
    rng = np.random.default_rng(9)
    a, b, c = (
        rng.standard_normal((1, 1, 16, 4)),
        rng.standard_normal((1, 1, 4, 16)),
        rng.standard_normal((1, 1, 16, 16)),
    )
    plain = run(case, a, b, c)
    assert np.array_equal(run(case, a, b, -c, extra="neg:[1,0,0]"), -plain)
    assert np.array_equal(run(case, -a, -b, -c, extra="neg:[1,1,1]"), plain)


@pytest.mark.parametrize(("m", "k"), [(16, 128), (32, 64)])
@pytest.mark.parametrize(("byte_a", "byte_b"), [(0, 0), (1, 2), (3, 1), (2, 3)])
def test_block_scales(m, k, byte_a, byte_b):
    """One E8M0 scale for 32 values of k, a byte of the lane row + m (k / 32) chosen by op_sel."""
    case = find("gfx950", f"v_mfma_f32_{m}x{m}x{k}_f8f6f4", a="fp8", b="e2m1")
    rng = np.random.default_rng(10)
    a, b = small(rng, "fp8", (1, 1, m, k)), small(rng, "e2m1", (1, 1, k, m))
    scales = rng.integers(124, 131, (2, 4, m, k // 32))
    lanes = scales.transpose(0, 1, 3, 2).reshape(2, 4, 64).astype(np.uint32)
    images = [sum(lanes[n, byte] << np.uint32(8 * byte) for byte in range(4)).reshape(1, 1, 64) for n in range(2)]
    inputs = [("v16", pack_operand(case, a, "fp8")), ("v32", pack_operand(case, b.swapaxes(-1, -2), "e2m1"))]
    inputs += [("v48", images[0]), ("v49", images[1])]
    count = registers_of(case)
    op_sel = f"op_sel:[{byte_a & 1},{byte_b & 1},0] op_sel_hi:[{byte_a >> 1},{byte_b >> 1},0]"
    places = [span("v", 144, count["d"]), span("v", 16, count["a"]), span("v", 32, count["b"])]
    body = f"v_mfma_scale_f32_{m}x{m}x{k}_f8f6f4 {', '.join(places)}"
    out = run_registers("gfx950", f"{body}, 0, v48, v49 {op_sel} {case.modifiers}", inputs, ("v144", count["d"]))
    scale_a = np.repeat(2.0 ** (scales[0, byte_a] - 127), 32, axis=1)
    scale_b = np.repeat(2.0 ** (scales[1, byte_b] - 127), 32, axis=1).T
    assert np.array_equal(unpack_result(case, out)[0, 0].astype(np.float64), (a[0, 0] * scale_a) @ (b[0, 0] * scale_b))


def test_subnormal_operands_are_kept():
    for arch in ("gfx942", "gfx1201"):
        case = find(arch, "16x16x16_f16", acc="f32")
        a = np.full((1, 1, 16, 16), 2.0**-24)
        assert (run(case, a, np.ones((1, 1, 16, 16)), np.zeros((1, 1, 16, 16))) == 2.0**-20).all()
