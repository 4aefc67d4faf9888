"""Exact floating point for references: rationals between formats, rounded once. Knows nothing of the executor.

A number is its bit pattern; arithmetic takes and gives patterns of one ``Format``. NaN results are the format's quiet
NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

Value = Fraction | float  #: a float is an infinity or NaN


@dataclass(frozen=True)
class Format:
    """An IEEE 754 binary format."""

    exponent_bits: int
    mantissa_bits: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        return (1 << self.exponent_bits - 1) - 1

    @property
    def sign_bit(self) -> int:
        return 1 << self.bits - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @property
    def nan(self) -> int:
        return self.infinity | 1 << self.mantissa_bits - 1

    @property
    def least_normal_exponent(self) -> int:
        return 1 - self.bias

    def is_nan(self, bits: int) -> bool:
        return bits & (self.sign_bit - 1) > self.infinity

    def is_negative(self, bits: int) -> bool:
        return bool(bits & self.sign_bit)

    def value(self, bits: int) -> Value:
        exponent = bits >> self.mantissa_bits & (1 << self.exponent_bits) - 1
        mantissa = bits & (1 << self.mantissa_bits) - 1
        if exponent == (1 << self.exponent_bits) - 1:
            return math.nan if mantissa else (-math.inf if self.is_negative(bits) else math.inf)
        if exponent:
            mantissa += 1 << self.mantissa_bits
        scale = max(exponent, 1) - self.bias - self.mantissa_bits
        size = Fraction(mantissa) * Fraction(2) ** scale
        return -size if self.is_negative(bits) else size

    def round(self, x: Value, negative_zero: bool = False, *, mode: str = "nearest") -> int:
        """Bits of ``x`` rounded once: to nearest even, ``down``, ``up`` or ``zero``."""
        if isinstance(x, float):
            return self.nan if math.isnan(x) else self.infinity | (self.sign_bit if x < 0 else 0)
        if x == 0:
            return self.sign_bit if negative_zero else 0
        sign = self.sign_bit if x < 0 else 0
        size = abs(x)
        exponent = max(_floor_log2(size), self.least_normal_exponent)
        unit = Fraction(2) ** (exponent - self.mantissa_bits)
        whole, rest = divmod(size, unit)
        away = {"down": x < 0, "up": x > 0, "zero": False}.get(mode)
        if away is None:
            away = rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1)
        whole = int(whole) + (1 if rest and away else 0)
        if whole * unit >= Fraction(2) ** (self.bias + 1):
            overflows = mode == "nearest" or away
            return sign | (self.infinity if overflows else self.infinity - 1)
        code = whole + (exponent - self.least_normal_exponent << self.mantissa_bits)
        return sign | code

    def fma(self, a: int, b: int, c: int, mode: str = "nearest") -> int:
        """a * b + c rounded once."""
        x, y, z = self.value(a), self.value(b), self.value(c)
        negative = self.is_negative(a) != self.is_negative(b)
        if any(isinstance(v, float) and math.isnan(v) for v in (x, y, z)):
            return self.nan
        if isinstance(x, float) or isinstance(y, float):
            if x == 0 or y == 0 or (isinstance(z, float) and (z < 0) != negative):
                return self.nan
            return self.infinity | (self.sign_bit if negative else 0)
        if isinstance(z, float):
            return c
        exact = x * y + z
        both_zero = x * y == 0 and z == 0
        if exact == 0 and not both_zero:
            return self.sign_bit if mode == "down" else 0
        agree = negative == self.is_negative(c)
        negative_zero = (negative if agree else mode == "down") if both_zero else False
        return self.round(exact, negative_zero, mode=mode)

    def add(self, a: int, b: int) -> int:
        return self.fma(a, self.one, b)

    def sub(self, a: int, b: int) -> int:
        return self.fma(a, self.one, b ^ self.sign_bit)

    def mul(self, a: int, b: int) -> int:
        negative = self.is_negative(a) != self.is_negative(b)
        return self.fma(a, b, self.sign_bit if negative else 0)

    @property
    def one(self) -> int:
        return self.bias << self.mantissa_bits

    def quiet(self, bits: int) -> int:
        return bits | 1 << self.mantissa_bits - 1

    def lesser(self, a: int, b: int) -> bool:
        """a before b in the order of numbers with -0 before +0; neither is NaN."""
        x, y = self.value(a), self.value(b)
        return x < y or (x == y and self.is_negative(a) and not self.is_negative(b))


def _floor_log2(x: Fraction) -> int:
    n = x.numerator.bit_length() - x.denominator.bit_length()
    return n if Fraction(2) ** n <= x else n - 1


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)
E4M3, E5M2 = Format(4, 3), Format(5, 2)  #: E4M3 here has IEEE specials: only its finite numbers are used
