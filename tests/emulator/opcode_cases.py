"""What every VALU and SALU opcode computes, written down a second time: mnemonic -> reference on Python integers.

A reference takes one operand after the other as an integer: signed for i8..i64, unsigned or bits for everything else,
lists of halves or of dwords (low first) for packed types, a bool for a lane mask. It returns the result in the same
way; a tuple is (result, mask or SCC); None means: no defined result, not compared. Written from AMD's RDNA 3, RDNA 4
and CDNA 3 ISA documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from .softfloat import BF16, F16, F32, F64, Format

CASES: dict[str, Callable] = {}
M16, M32, M64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1


def case(*names: str) -> Callable[[Callable], Callable]:
    def register(function: Callable) -> Callable:
        for name in names:
            assert name not in CASES, name
            CASES[name] = function
        return function

    return register


def define(function: Callable, *names: str) -> None:
    case(*names)(function)


# ---- Integers -------------------------------------------------------------------------------------------------------


def signed(x: int, bits: int) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> bits - 1 else x


def clamp(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


for _w, _m in ((32, M32), (64, M64)):
    _s = f"_b{_w}"
    define(lambda a: a, f"s_mov{_s}")
    define(lambda a, m=_m: (~a & m, ~a & m != 0), f"s_not{_s}")
    define(lambda a, b: (a & b, a & b != 0), f"s_and{_s}")
    define(lambda a, b: (a | b, a | b != 0), f"s_or{_s}")
    define(lambda a, b: (a ^ b, a ^ b != 0), f"s_xor{_s}")
    define(lambda a, b, m=_m: (a & ~b & m, a & ~b & m != 0), f"s_andn2{_s}", f"s_and_not1{_s}")
    define(lambda a, b, m=_m: ((a | ~b) & m, (a | ~b) & m != 0), f"s_orn2{_s}", f"s_or_not1{_s}")
    define(lambda a, b, m=_m: (~(a & b) & m, ~(a & b) & m != 0), f"s_nand{_s}")
    define(lambda a, b, m=_m: (~(a | b) & m, ~(a | b) & m != 0), f"s_nor{_s}")
    define(lambda a, b, m=_m: (~(a ^ b) & m, ~(a ^ b) & m != 0), f"s_xnor{_s}")
    define(lambda a, n, m=_m, w=_w: (a << n % w & m, a << n % w & m != 0), f"s_lshl{_s}")
    define(lambda a, n, w=_w: (a >> n % w, a >> n % w != 0), f"s_lshr{_s}")
    define(lambda a, n, w=_w: (a >> n % w, a >> n % w != 0), f"s_ashr_i{_w}")
    define(lambda a, w=_w: int(f"{a:0{w}b}"[::-1], 2), f"s_brev{_s}")
    define(lambda n, at, m=_m, w=_w: ((1 << n % w) - 1 << at % w) & m, f"s_bfm{_s}")
    define(lambda a: (a.bit_count(), a != 0), f"s_bcnt1_i32_b{_w}")
    define(lambda a, w=_w: (w - a.bit_count(), w != a.bit_count()), f"s_bcnt0_i32_b{_w}")
    define(lambda a: (a & -a).bit_length() - 1, f"s_ff1_i32_b{_w}", f"s_ctz_i32_b{_w}")
    define(lambda a, m=_m: (~a & m & -(~a & m)).bit_length() - 1, f"s_ff0_i32_b{_w}")
    define(lambda a, w=_w: w - a.bit_length() if a else -1, f"s_flbit_i32_b{_w}", f"s_clz_i32_u{_w}")
    define(lambda n, d, w=_w: d & ~(1 << n % w), f"s_bitset0{_s}")
    define(lambda n, d, w=_w: d | 1 << n % w, f"s_bitset1{_s}")
    define(lambda a, n, w=_w: a >> n % w & 1 == 0, f"s_bitcmp0{_s}")
    define(lambda a, n, w=_w: a >> n % w & 1 == 1, f"s_bitcmp1{_s}")
    define(lambda a, b, scc: a if scc else b, f"s_cselect{_s}")
    define(lambda a, d, scc: a if scc else d, f"s_cmov{_s}")

    def _quads(a: int, w: int = _w) -> list[bool]:
        return [a >> 4 * q & 15 != 0 for q in range(w // 4)]

    define(lambda a, q=_quads: (sum(x << n for n, x in enumerate(q(a))), a != 0), f"s_quadmask{_s}")
    define(lambda a, q=_quads: (sum(15 * x << 4 * n for n, x in enumerate(q(a))), a != 0), f"s_wqm{_s}")

    def _bfe(a: int, field: int, w: int = _w, sign: bool = False) -> tuple[int, bool]:
        at, n = field % w, field >> 16 & 0x7F
        x = a >> at
        if n < w:
            x &= (1 << n) - 1
            x = signed(x, n) if sign and n else x
        return x, x != 0

    define(_bfe, f"s_bfe_u{_w}")
    define(lambda a, f, g=_bfe: g(a, f, sign=True), f"s_bfe_i{_w}")

define(lambda a: 31 - (a ^ a >> 31).bit_length() + 1 if a not in (0, -1) else -1, "s_flbit_i32", "s_cls_i32")
define(lambda a: 63 - (a ^ a >> 63).bit_length() + 1 if a not in (0, -1) else -1, "s_flbit_i32_i64", "s_cls_i32_i64")
define(lambda a, b: ((a + b) & M32, a + b > M32), "s_add_u32", "s_add_co_u32")
define(lambda a, b: ((a - b) & M32, b > a), "s_sub_u32", "s_sub_co_u32")
define(lambda a, b: (signed(a + b, 32), signed(a + b, 32) != a + b), "s_add_i32", "s_add_co_i32")
define(lambda a, b: (signed(a - b, 32), signed(a - b, 32) != a - b), "s_sub_i32", "s_sub_co_i32")
define(lambda a, b, scc: ((a + b + scc) & M32, a + b + scc > M32), "s_addc_u32", "s_add_co_ci_u32")
define(lambda a, b, scc: ((a - b - scc) & M32, b + scc > a), "s_subb_u32", "s_sub_co_ci_u32")
define(lambda a, b: (a + b) & M64, "s_add_u64", "s_add_nc_u64")
define(lambda a, b: (a - b) & M64, "s_sub_u64", "s_sub_nc_u64")
define(lambda a, b: a * b & M64, "s_mul_u64")
define(lambda a, b: a * b & M32, "s_mul_i32")
define(lambda a, b: a * b >> 32, "s_mul_hi_u32", "s_mul_hi_i32")
define(lambda a, b: (min(a, b), a < b), "s_min_i32", "s_min_u32")
define(lambda a, b: (max(a, b), a >= b), "s_max_i32", "s_max_u32")
define(lambda a: signed(a, 8), "s_sext_i32_i8")
define(lambda a: signed(a, 16), "s_sext_i32_i16")
define(lambda a: (signed(abs(a), 32), a != 0), "s_abs_i32")
define(lambda a, b: (signed(abs(signed(a - b, 32)), 32), a != b), "s_absdiff_i32")
define(lambda a: sum((a >> n & 1) * 3 << 2 * n for n in range(32)), "s_bitreplicate_b64_b32")
for _n in (1, 2, 3, 4):
    define(lambda a, b, n=_n: (((a << n) + b) & M32, (a << n) + b > M32), f"s_lshl{_n}_add_u32")
define(lambda a, b: a & M16 | b << 16 & M32, "s_pack_ll_b32_b16")
define(lambda a, b: a & M16 | b >> 16 << 16, "s_pack_lh_b32_b16")
define(lambda a, b: a >> 16 | b >> 16 << 16, "s_pack_hh_b32_b16")
define(lambda a, b: a >> 16 | b << 16 & M32, "s_pack_hl_b32_b16")
for _name, _op in {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}.items():
    define(_op, f"s_cmp_{_name}_i32", f"s_cmp_{_name}_u32")
    if _name in ("eq", "lg"):
        define(_op, f"s_cmp_{_name}_u64")

define(lambda a: a, "v_mov_b32", "v_mov_b16", "v_mov_b64")
define(lambda a: ~a & M32, "v_not_b32")
define(lambda a: ~a & M16, "v_not_b16")
define(lambda a: int(f"{a:032b}"[::-1], 2), "v_bfrev_b32")
define(lambda a: 32 - a.bit_length() if a else M32, "v_ffbh_u32", "v_clz_i32_u32")
define(lambda a: (a & -a).bit_length() - 1 & M32, "v_ffbl_b32", "v_ctz_i32_b32")
define(lambda a: 32 - (a ^ a >> 31).bit_length() if a not in (0, -1) else M32, "v_ffbh_i32", "v_cls_i32")
define(lambda a, b: (a.bit_count() + b) & M32, "v_bcnt_u32_b32")
define(lambda a, b: (a + b) & M32, "v_add_u32", "v_add_nc_u32")
define(lambda a, b: (a - b) & M32, "v_sub_u32", "v_sub_nc_u32")
define(lambda a, b: (b - a) & M32, "v_subrev_u32", "v_subrev_nc_u32")
define(lambda a, b: signed(a + b, 32), "v_add_i32", "v_add_nc_i32")
define(lambda a, b: signed(a - b, 32), "v_sub_i32", "v_sub_nc_i32")
define(lambda a, b: ((a + b) & M32, a + b > M32), "v_add_co_u32")
define(lambda a, b: ((a - b) & M32, b > a), "v_sub_co_u32")
define(lambda a, b: ((b - a) & M32, a > b), "v_subrev_co_u32")
define(lambda a, b, c: ((a + b + c) & M32, a + b + c > M32), "v_addc_co_u32", "v_add_co_ci_u32")
define(lambda a, b, c: ((a - b - c) & M32, b + c > a), "v_subb_co_u32", "v_sub_co_ci_u32")
define(lambda a, b, c: ((b - a - c) & M32, a + c > b), "v_subbrev_co_u32", "v_subrev_co_ci_u32")
define(lambda a, b: (a + b) & M16, "v_add_u16", "v_add_nc_u16")
define(lambda a, b: (a - b) & M16, "v_sub_u16", "v_sub_nc_u16")
define(lambda a, b: (b - a) & M16, "v_subrev_u16")
define(lambda a, b: signed(a + b, 16), "v_add_i16", "v_add_nc_i16")
define(lambda a, b: signed(a - b, 16), "v_sub_i16", "v_sub_nc_i16")
define(lambda a, b: a * b & M16, "v_mul_lo_u16")
define(lambda a, b, c: (a * b + c) & M16, "v_mad_u16", "v_mad_legacy_u16")
define(lambda a, b, c: signed(a * b + c, 16), "v_mad_i16", "v_mad_legacy_i16")
define(lambda a, b, c: (a * b + c) & M32, "v_mad_u32_u16", "v_mad_i32_i16")
define(lambda a, b: a & b, "v_and_b32", "v_and_b16")
define(lambda a, b: a | b, "v_or_b32", "v_or_b16")
define(lambda a, b: a ^ b, "v_xor_b32", "v_xor_b16")
define(lambda a, b: ~(a ^ b) & M32, "v_xnor_b32")
define(lambda n, a: a << n % 32 & M32, "v_lshlrev_b32")
define(lambda n, a: a >> n % 32, "v_lshrrev_b32", "v_ashrrev_i32")
define(lambda n, a: a << n % 16 & M16, "v_lshlrev_b16")
define(lambda n, a: a >> n % 16, "v_lshrrev_b16", "v_ashrrev_i16")
define(lambda n, a: a << n % 64 & M64, "v_lshlrev_b64")
define(lambda n, a: a >> n % 64, "v_lshrrev_b64", "v_ashrrev_i64")
define(lambda a, n, b: ((a << n % 8) + b) & M64, "v_lshl_add_u64")
define(lambda a, b, c: ((a * b + c) & M64, a * b + c > M64), "v_mad_u64_u32", "v_mad_co_u64_u32")
define(lambda a, b, c: (signed(a * b + c, 64), signed(a * b + c, 64) != a * b + c), "v_mad_i64_i32", "v_mad_co_i64_i32")
for _t in ("i32", "u32", "i16", "u16"):
    define(lambda *xs: min(xs), f"v_min_{_t}", f"v_min3_{_t}")
    define(lambda *xs: max(xs), f"v_max_{_t}", f"v_max3_{_t}")
    define(lambda a, b, c: sorted((a, b, c))[1], f"v_med3_{_t}")
    if _t.endswith("32"):
        define(lambda a, b, c: max(min(a, b), c), f"v_minmax_{_t}")
        define(lambda a, b, c: min(max(a, b), c), f"v_maxmin_{_t}")
define(lambda a, b: a * b & M32, "v_mul_lo_u32")
define(lambda a, b: a * b >> 32, "v_mul_hi_u32", "v_mul_hi_i32")
define(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) & M32, "v_mul_u32_u24")
define(lambda a, b: signed(a, 24) * signed(b, 24) & M32, "v_mul_i32_i24")
define(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32, "v_mul_hi_u32_u24")
define(lambda a, b: signed(a, 24) * signed(b, 24) >> 32 & M32, "v_mul_hi_i32_i24")
define(lambda a, b, c: ((a & 0xFFFFFF) * (b & 0xFFFFFF) + c) & M32, "v_mad_u32_u24")
define(lambda a, b, c: (signed(a, 24) * signed(b, 24) + c) & M32, "v_mad_i32_i24")
define(lambda a, at, n: a >> at % 32 & (1 << n % 32) - 1, "v_bfe_u32")
define(lambda a, at, n: signed(a >> at % 32, n % 32) & M32 if n % 32 else 0, "v_bfe_i32")
define(lambda m, a, b: m & a | ~m & b & M32, "v_bfi_b32")
define(lambda n, at: ((1 << n % 32) - 1 << at % 32) & M32, "v_bfm_b32")
define(lambda a, b, n: (a << 32 | b) >> n % 32 & M32, "v_alignbit_b32")
define(lambda a, b, n: (a << 32 | b) >> 8 * (n % 4) & M32, "v_alignbyte_b32")
define(lambda a, n, b: ((a << n % 32) + b) & M32, "v_lshl_add_u32")
define(lambda a, b, n: (a + b & M32) << n % 32 & M32, "v_add_lshl_u32")
define(lambda a, b, c: ((a ^ b) + c) & M32, "v_xad_u32")
define(lambda a, b, c: (a + b + c) & M32, "v_add3_u32")
define(lambda a, n, b: a << n % 32 & M32 | b, "v_lshl_or_b32")
define(lambda a, b, c: a & b | c, "v_and_or_b32")
define(lambda a, b, c: a | b | c, "v_or3_b32")
define(lambda a, b, c: a ^ b ^ c, "v_xor3_b32")
define(lambda a, b, c: b if c else a, "v_cndmask_b32", "v_cndmask_b16")
define(lambda a: (a << 1 ^ (197 if a >> 31 else 0)) & M32, "v_prng_b32")


@case("v_perm_b32")
def _perm(a: int, b: int, select: int) -> int:
    data = (a << 32 | b).to_bytes(8, "little")
    out = []
    for s in select.to_bytes(4, "little"):
        if s < 8:
            out.append(data[s])
        elif s < 12:
            out.append(255 * (data[2 * (s - 8) + 1] >> 7))
        else:
            out.append(0 if s == 12 else 255)
    return int.from_bytes(bytes(out), "little")


def _bytes(x: int) -> bytes:
    return x.to_bytes(4, "little")


def _sad(a: int, b: int, masked: bool = False) -> int:
    return sum(abs(x - y) for x, y in zip(_bytes(a), _bytes(b), strict=True) if y or not masked)


define(lambda a, b, c: (_sad(a, b) + c) & M32, "v_sad_u8")
define(lambda a, b, c: ((_sad(a, b) << 16) + c) & M32, "v_sad_hi_u8")
define(lambda a, b, c: (_sad(a, b, True) + c) & M32, "v_msad_u8")
define(lambda a, b, c: (abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c) & M32, "v_sad_u16")
define(lambda a, b, c: (abs(a - b) + c) & M32, "v_sad_u32")
define(
    lambda a, b, c: int.from_bytes(
        bytes((x + y + (z & 1)) >> 1 for x, y, z in zip(_bytes(a), _bytes(b), _bytes(c), strict=True)), "little"
    ),
    "v_lerp_u8",
)


@case("v_bitop3_b32", "v_bitop3_b16")
def _bitop3(a: int, b: int, c: int) -> int:
    """With the table 0xe8: the majority."""
    return a & b | a & c | b & c


for _name, _op in {
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
    "t": lambda a, b: True,
    "f": lambda a, b: False,
}.items():
    for _t in ("i16", "u16", "i32", "u32", "i64", "u64"):
        define(_op, f"v_cmp_{_name}_{_t}", f"v_cmpx_{_name}_{_t}")


# ---- Packed integers and dot products -------------------------------------------------------------------------------


def halves(function: Callable[..., int]) -> Callable[..., list[int]]:
    return lambda *operands: [function(*xs) & M16 for xs in zip(*operands, strict=True)]


def signed_halves(function: Callable[..., int]) -> Callable[..., list[int]]:
    return lambda *operands: [function(*(signed(x, 16) for x in xs)) & M16 for xs in zip(*operands, strict=True)]


define(halves(lambda a, b: a + b), "v_pk_add_u16", "v_pk_add_i16")
define(halves(lambda a, b: a - b), "v_pk_sub_u16", "v_pk_sub_i16")
define(halves(lambda a, b: a * b), "v_pk_mul_lo_u16")
define(halves(lambda a, b, c: a * b + c), "v_pk_mad_u16", "v_pk_mad_i16")
define(halves(min), "v_pk_min_u16")
define(halves(max), "v_pk_max_u16")
define(signed_halves(min), "v_pk_min_i16")
define(signed_halves(max), "v_pk_max_i16")
define(halves(lambda n, a: a << n % 16), "v_pk_lshlrev_b16")
define(halves(lambda n, a: a >> n % 16), "v_pk_lshrrev_b16")
define(halves(lambda n, a: signed(a, 16) >> n % 16), "v_pk_ashrrev_i16")
define(lambda a, b: [a[0], b[0]], "v_pk_mov_b32")


def _dot(a: int, b: int, bits: int, sign_a: bool, sign_b: bool) -> int:
    total = 0
    for at in range(0, 32, bits):
        x, y = a >> at & (1 << bits) - 1, b >> at & (1 << bits) - 1
        total += (signed(x, bits) if sign_a else x) * (signed(y, bits) if sign_b else y)
    return total


for _bits in (4, 8):
    _n = 32 // _bits
    define(
        lambda a, b, c, w=_bits: signed(_dot(a, b, w, True, True) + c, 32),
        f"v_dot{_n}_i32_i{_bits}",
        f"v_dot{_n}c_i32_i{_bits}",
    )
    define(lambda a, b, c, w=_bits: (_dot(a, b, w, False, False) + c) & M32, f"v_dot{_n}_u32_u{_bits}")
    define(lambda a, b, c, w=_bits: signed(_dot(a, b, w, False, False) + c, 32), f"v_dot{_n}_i32_iu{_bits}")
define(
    lambda a, b, c: signed(sum(signed(x, 16) * signed(y, 16) for x, y in zip(a, b, strict=True)) + c, 32),
    "v_dot2_i32_i16",
    "v_dot2c_i32_i16",
)
define(lambda a, b, c: (sum(x * y for x, y in zip(a, b, strict=True)) + c) & M32, "v_dot2_u32_u16")


# ---- Floats ---------------------------------------------------------------------------------------------------------

FORMATS = {"f16": F16, "f32": F32, "f64": F64, "bf16": BF16}


def minimum_number(f: Format, a: int, b: int, largest: bool = False) -> int:
    """IEEE 754-2019 minimumNumber (maximumNumber)."""
    if f.is_nan(a):
        return f.nan if f.is_nan(b) else b
    if f.is_nan(b):
        return a
    return (b if f.lesser(a, b) else a) if largest else (a if f.lesser(a, b) else b)


def minimum(f: Format, a: int, b: int, largest: bool = False) -> int:
    return f.nan if f.is_nan(a) or f.is_nan(b) else minimum_number(f, a, b, largest)


def quiet_in(f: Format, *operands: int) -> bool:
    """False if an operand is a signaling NaN, for which MODE.IEEE changes what min and max give."""
    return not any(f.is_nan(x) and not x & 1 << f.mantissa_bits - 1 for x in operands)


def median(f: Format, a: int, b: int, c: int) -> int:
    if any(f.is_nan(x) for x in (a, b, c)):
        return minimum_number(f, minimum_number(f, a, b), c)
    low, high = minimum_number(f, a, b), minimum_number(f, a, b, True)
    return minimum_number(f, low, minimum_number(f, high, c), True)


def to_integral(f: Format, a: int, how: Callable[[Fraction], int]) -> int:
    x = f.value(a)
    if isinstance(x, float):
        return f.nan if math.isnan(x) else a
    return f.round(Fraction(how(x)), f.is_negative(a))


def _fract(f: Format, a: int) -> int:
    x = f.value(a)
    if isinstance(x, float):
        return f.nan
    part = x - math.floor(x)
    rounded = f.round(part)
    return rounded if rounded < f.one else f.one - 1


def ldexp(f: Format, a: int, n: int) -> int:
    x = f.value(a)
    if isinstance(x, float) or x == 0:
        return f.nan if f.is_nan(a) else a
    return f.round(x * Fraction(2) ** clamp(n, -3000, 3000))


def frexp(f: Format, a: int) -> tuple[int, int]:
    x = f.value(a)
    if isinstance(x, float) or x == 0:
        return (f.nan if f.is_nan(a) else a), 0
    n = 0
    while abs(x) >= 1:
        x, n = x / 2, n + 1
    while abs(x) < Fraction(1, 2):
        x, n = x * 2, n - 1
    return f.round(x), n


def number_class(f: Format, a: int) -> int:
    negative, exponent = f.is_negative(a), a & f.infinity
    mantissa = a & (1 << f.mantissa_bits) - 1
    if exponent == f.infinity:
        if mantissa:
            return 1 if mantissa >> f.mantissa_bits - 1 else 0
        return 2 if negative else 9
    if exponent:
        return 3 if negative else 8
    if mantissa:
        return 4 if negative else 7
    return 5 if negative else 6


def compares() -> dict[str, Callable[[object, object], bool]]:
    def ordered(a: object, b: object) -> bool:
        return a == a and b == b

    return {
        "f": lambda a, b: False,
        "lt": lambda a, b: a < b,
        "eq": lambda a, b: a == b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "lg": lambda a, b: ordered(a, b) and a != b,
        "ge": lambda a, b: a >= b,
        "o": ordered,
        "u": lambda a, b: not ordered(a, b),
        "nge": lambda a, b: not a >= b,
        "nlg": lambda a, b: not (ordered(a, b) and a != b),
        "ngt": lambda a, b: not a > b,
        "nle": lambda a, b: not a <= b,
        "neq": lambda a, b: a != b,
        "nlt": lambda a, b: not a < b,
        "tru": lambda a, b: True,
        "t": lambda a, b: True,
    }


def define_float(t: str, f: Format) -> None:
    """Opcodes that exist alike for f16, f32 and f64; those of three operands but for f64."""
    define(f.add, f"v_add_{t}")
    define(f.mul, f"v_mul_{t}")
    define(f.fma, f"v_fma_{t}", f"v_fmac_{t}")
    for large, name in ((False, "min"), (True, "max")):
        define(
            lambda a, b, g=large: minimum_number(f, a, b, g) if quiet_in(f, a, b) else None,
            f"v_{name}_{t}",
            f"v_{name}_num_{t}",
        )
        define(lambda a, b, g=large: minimum(f, a, b, g), f"v_{name}imum_{t}")
    for name, how in (("trunc", math.trunc), ("ceil", math.ceil), ("floor", math.floor), ("rndne", round)):
        define(lambda a, h=how: to_integral(f, a, h), f"v_{name}_{t}")
    define(lambda a: _fract(f, a), f"v_fract_{t}")
    define(lambda a, n: ldexp(f, a, n), f"v_ldexp_{t}")
    define(lambda a: frexp(f, a)[0], f"v_frexp_mant_{t}")
    define(lambda a: frexp(f, a)[1], f"v_frexp_exp_i{16 if t == 'f16' else 32}_{t}")
    define(lambda a, mask: bool(mask >> number_class(f, a) & 1), f"v_cmp_class_{t}", f"v_cmpx_class_{t}")
    for name, op in compares().items():
        define(lambda a, b, op=op: bool(op(f.value(a), f.value(b))), f"v_cmp_{name}_{t}", f"v_cmpx_{name}_{t}")


def define_three_operand_float(t: str, f: Format) -> None:
    define(f.sub, f"v_sub_{t}")
    define(lambda a, b: f.sub(b, a), f"v_subrev_{t}")
    define(f.fma, f"v_fmaak_{t}", f"v_fmamk_{t}")
    define(lambda a, b, c: median(f, a, b, c) if quiet_in(f, a, b, c) else None, f"v_med3_{t}", f"v_med3_num_{t}")
    for large, name, other in ((False, "min", "max"), (True, "max", "min")):

        def first(a: int, b: int, g: bool = large) -> int:
            return minimum_number(f, a, b, g)

        define(
            lambda a, b, c, g=large, h=first: minimum_number(f, h(a, b), c, g) if quiet_in(f, a, b, c) else None,
            f"v_{name}3_{t}",
            f"v_{name}3_num_{t}",
        )
        define(
            lambda a, b, c, g=large, h=first: minimum_number(f, h(a, b), c, not g) if quiet_in(f, a, b, c) else None,
            f"v_{name}{other}_{t}",
            f"v_{name}{other}_num_{t}",
        )
        define(lambda a, b, c, g=large: minimum(f, minimum(f, a, b, g), c, g), f"v_{name}imum3_{t}")
        define(lambda a, b, c, g=large: minimum(f, minimum(f, a, b, g), c, not g), f"v_{name}imum{other}imum_{t}")


for _t in ("f16", "f32", "f64"):
    define_float(_t, FORMATS[_t])
    if _t != "f64":
        define_three_operand_float(_t, FORMATS[_t])

for _t in ("f16", "f32"):
    _f = FORMATS[_t]
    define(_f.add, f"s_add_{_t}")
    define(_f.sub, f"s_sub_{_t}")
    define(_f.mul, f"s_mul_{_t}")
    define(_f.fma, f"s_fmac_{_t}", *(("s_fmaak_f32", "s_fmamk_f32") if _t == "f32" else ()))
    for _large, _name in ((False, "min"), (True, "max")):
        define(
            lambda a, b, f=_f, g=_large: minimum_number(f, a, b, g) if quiet_in(f, a, b) else None,
            f"s_{_name}_{_t}",
            f"s_{_name}_num_{_t}",
        )
        define(lambda a, b, f=_f, g=_large: minimum(f, a, b, g), f"s_{_name}imum_{_t}")
    for _name, _how in (("trunc", math.trunc), ("ceil", math.ceil), ("floor", math.floor), ("rndne", round)):
        define(lambda a, f=_f, h=_how: to_integral(f, a, h), f"s_{_name}_{_t}")
    for _name, _op in compares().items():
        if _name not in ("f", "t", "tru"):
            define(lambda a, b, f=_f, op=_op: bool(op(f.value(a), f.value(b))), f"s_cmp_{_name}_{_t}")


def _product_legacy(a: int, b: int) -> bool:
    return F32.value(a) == 0 or F32.value(b) == 0


define(lambda a, b: 0 if _product_legacy(a, b) else F32.mul(a, b), "v_mul_legacy_f32", "v_mul_dx9_zero_f32")
define(
    lambda a, b, c: (F32.quiet(c) if F32.is_nan(c) else c) if _product_legacy(a, b) else F32.fma(a, b, c),
    "v_fma_legacy_f32",
    "v_fma_dx9_zero_f32",
    "v_fmac_legacy_f32",
    "v_fmac_dx9_zero_f32",
)
define(lambda a, b, c: F32.add(F32.mul(a, b), c), "v_mad_f32", "v_mac_f32", "v_madak_f32", "v_madmk_f32")
define(lambda a, b, c: F16.add(F16.mul(a, b), c), "v_mad_f16", "v_mac_f16")
define(F32.fma, "v_fma_mix_f32")
define(lambda a, b, c: convert(F32, F16, F32.fma(a, b, c)), "v_fma_mixlo_f16", "v_fma_mixhi_f16")

define(halves(F16.add), "v_pk_add_f16")
define(halves(F16.mul), "v_pk_mul_f16")
define(halves(F16.fma), "v_pk_fma_f16", "v_pk_fmac_f16")


def _pairs(function: Callable[..., int | None]) -> Callable[..., list[int] | None]:
    def run(*operands: list[int]) -> list[int] | None:
        out = [function(*xs) for xs in zip(*operands, strict=True)]
        return None if None in out else out  # type: ignore[return-value]

    return run


for _large, _name in ((False, "min"), (True, "max")):
    define(
        _pairs(lambda a, b, g=_large: minimum_number(F16, a, b, g) if quiet_in(F16, a, b) else None),
        f"v_pk_{_name}_f16",
        f"v_pk_{_name}_num_f16",
    )
    define(_pairs(lambda a, b, g=_large: minimum(F16, a, b, g)), f"v_pk_{_name}imum_f16")
    define(_pairs(lambda a, b, c, g=_large: minimum(F16, minimum(F16, a, b, g), c, g)), f"v_pk_{_name}imum3_f16")
define(_pairs(F32.add), "v_pk_add_f32")
define(_pairs(F32.mul), "v_pk_mul_f32")
define(_pairs(F32.fma), "v_pk_fma_f32")


# ---- Conversions ----------------------------------------------------------------------------------------------------


def convert(source: Format, target: Format, bits: int, mode: str = "nearest") -> int:
    return target.round(source.value(bits), source.is_negative(bits), mode=mode)


def to_integer(f: Format, bits: int, low: int, high: int, how: Callable[[Fraction], int] = math.trunc) -> int:
    x = f.value(bits)
    if isinstance(x, float):
        return 0 if math.isnan(x) else high if x > 0 else low
    return clamp(how(x), low, high)


I32, U32, I16, U16 = (-(2**31), 2**31 - 1), (0, M32), (-32768, 32767), (0, M16)
define(lambda a: F32.round(Fraction(a)), "v_cvt_f32_i32", "v_cvt_f32_u32", "s_cvt_f32_i32", "s_cvt_f32_u32")
define(lambda a: to_integer(F32, a, *I32), "v_cvt_i32_f32", "s_cvt_i32_f32")
define(lambda a: to_integer(F32, a, *U32), "v_cvt_u32_f32", "s_cvt_u32_f32")
define(
    lambda a: to_integer(F32, a, *I32, lambda x: math.floor(x + Fraction(1, 2))),
    "v_cvt_rpi_i32_f32",
    "v_cvt_nearest_i32_f32",
)
define(lambda a: to_integer(F32, a, *I32, math.floor), "v_cvt_flr_i32_f32", "v_cvt_floor_i32_f32")
define(lambda a: F64.round(Fraction(a)), "v_cvt_f64_i32", "v_cvt_f64_u32")
define(lambda a: to_integer(F64, a, *I32), "v_cvt_i32_f64")
define(lambda a: to_integer(F64, a, *U32), "v_cvt_u32_f64")
define(lambda a: convert(F64, F32, a), "v_cvt_f32_f64")
define(lambda a: convert(F32, F64, a), "v_cvt_f64_f32")
define(lambda a: convert(F32, F16, a), "v_cvt_f16_f32", "s_cvt_f16_f32")
define(lambda a: convert(F16, F32, a), "v_cvt_f32_f16", "s_cvt_f32_f16")
define(lambda a: convert(F16, F32, a >> 16), "s_cvt_hi_f32_f16")
define(lambda a: convert(BF16, F32, a), "v_cvt_f32_bf16")
define(lambda a: F16.round(Fraction(a)), "v_cvt_f16_u16", "v_cvt_f16_i16")
define(lambda a: to_integer(F16, a, *U16), "v_cvt_u16_f16")
define(lambda a: to_integer(F16, a, *I16), "v_cvt_i16_f16")
define(lambda a: a, "v_cvt_i32_i16", "v_cvt_u32_u16")
for _n in range(4):
    define(lambda a, n=_n: F32.round(Fraction(a >> 8 * n & 0xFF)), f"v_cvt_f32_ubyte{_n}")
define(lambda a: F32.round(Fraction(signed(a, 4), 16)), "v_cvt_off_f32_i4")


def _rtz_pair(a: int, b: int) -> list[int]:
    return [convert(F32, F16, x, "zero") for x in (a, b)]


define(_rtz_pair, "v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32")
define(
    lambda a, b: None if F32.is_nan(a) or F32.is_nan(b) else _rtz_pair(a, b)[0] | _rtz_pair(a, b)[1] << 16,
    "s_cvt_pk_rtz_f16_f32",
)
define(lambda a, b: [convert(F32, F16, a), convert(F32, F16, b)], "v_cvt_pk_f16_f32")
define(lambda a, b: [convert(F32, BF16, a), convert(F32, BF16, b)], "v_cvt_pk_bf16_f32")
define(lambda a, at, old: old & ~(255 << 8 * (at % 4)) | to_integer(F32, a, 0, 255) << 8 * (at % 4), "v_cvt_pk_u8_f32")


def _norm(f: Format, bits: int, low: int, high: int) -> int:
    x = f.value(bits)
    if isinstance(x, float):
        return 0 if math.isnan(x) else (high if x > 0 else low)
    limited = min(max(x, Fraction(low, high)), Fraction(1))
    product = F32.value(F32.round(limited * high))  # the product is rounded to f32 before it is rounded to an integer
    return round(product) if not isinstance(product, float) else 0


for _t in ("f32", "f16"):
    for _sign, _low, _high in (("i", -32767, 32767), ("u", 0, 65535)):
        define(
            lambda a, b, f=FORMATS[_t], lo=_low, hi=_high: [_norm(f, a, lo, hi) & M16, _norm(f, b, lo, hi) & M16],
            f"v_cvt_pknorm_{_sign}16_{_t}",
            f"v_cvt_pk_norm_{_sign}16_{_t}",
        )
define(lambda a: _norm(F16, a, -32767, 32767), "v_cvt_norm_i16_f16")
define(lambda a: _norm(F16, a, 0, 65535), "v_cvt_norm_u16_f16")
define(lambda a, b: [min(a, M16), min(b, M16)], "v_cvt_pk_u16_u32")
define(lambda a, b: [clamp(a, *I16) & M16, clamp(b, *I16) & M16], "v_cvt_pk_i16_i32")
define(lambda a, b: [to_integer(F32, a, *I16) & M16, to_integer(F32, b, *I16) & M16], "v_cvt_pk_i16_f32")
define(lambda a, b: [to_integer(F32, a, *U16), to_integer(F32, b, *U16)], "v_cvt_pk_u16_f32")
define(lambda a, b: a | b << 16, "v_pack_b32_f16")
