// The three helpers of the division sequence: v_div_scale, v_div_fmas, v_div_fixup. Semantics: RDNA 3 and CDNA 3 ISA
// documents, and that the sequence as a whole divides as IEEE 754 says.
#pragma once
#include "trans.hpp"

namespace emu {

template <class T>
struct DivTraits;
template <>
struct DivTraits<float> {
  static constexpr int kBias = 127, kMantissa = 23, kScale = 64, kFar = 96, kTiny = 23, kUnderflow = -150;
};
template <>
struct DivTraits<double> {
  static constexpr int kBias = 1023, kMantissa = 52, kScale = 128, kFar = 768, kTiny = 53, kUnderflow = -1075;
};

template <class T>
EMU_INLINE int exponent_field(T x) {
  using B = Bits<T>;
  return int((__builtin_bit_cast(typename B::U, x) & ~B::kSign) >> DivTraits<T>::kMantissa);
}
template <class T>
EMU_INLINE T abs_of(T x) {
  return x < 0 ? -x : x;
}
EMU_INLINE bool subnormal(float x) { return !(float_bits(x) & 0x7f800000u) && (float_bits(x) & 0x7fffffu); }
EMU_INLINE bool subnormal(double x) {
  return !(double_bits(x) & 0x7ff0000000000000ull) && (double_bits(x) & 0xfffffffffffffull);
}
// Whether n / d is subnormal; for f32 exactly, through double.
EMU_INLINE bool quotient_subnormal(float n, float d) {
  const double q = abs_of(double(n) / double(d));
  return q > 0 && q < 0x1p-126;
}
EMU_INLINE bool quotient_subnormal(double n, double d) { return subnormal(n / d); }

EMU_INLINE float power_of_two(float, int n) { return bits_float(u32(n + 127) << 23); }
EMU_INLINE double power_of_two(double, int n) { return bits_double(u64(n + 1023) << 52); }

// x: the operand to scale (the denominator or the numerator again); d: denominator; n: numerator.
template <class T>
EMU_INLINE WithMask<T> div_scale(T x, T d, T n) {
  using D = DivTraits<T>;
  const T up = power_of_two(T(0), D::kScale), down = power_of_two(T(0), -D::kScale);
  if (d == 0 || n == 0) return {T(__builtin_nan("")), false};
  if (exponent_field(n) - exponent_field(d) >= D::kFar) return {x == d ? x * up : x, true};
  if (subnormal(d)) return {x * up, false};
  const bool reciprocal = quotient_subnormal(T(1), d), quotient = quotient_subnormal(n, d);
  // The ISA's text says up here; only down makes the sequence come out right for a denominator this large.
  if (reciprocal && quotient) return {x == d ? x * down : x, true};
  if (reciprocal) return {x * down, false};
  if (quotient) return {x == n ? x * up : x, true};
  if (exponent_field(n) <= D::kTiny) return {x * up, false};
  return {x, false};
}

// a * b + c, scaled by 2^64 or 2^-64, rounded once.
EMU_INLINE float div_fmas(float a, float b, float c, bool scale) {
  if (!scale) return __builtin_fmaf(a, b, c);
  const double product = double(a) * double(b), addend = c, sum = product + addend;
  const double back = sum - product, error = (product - (sum - back)) + (addend - back);
  // Sum rounded to odd, so that the conversion below rounds the exact value.
  const u64 bits = double_bits(sum);
  const bool beyond = (error < 0) != (sum < 0);
  const double odd = error != 0 && error == error ? bits_double((bits - beyond) | 1) : sum;
  return float(odd * (exponent_field(c) > 127 ? 0x1p64 : 0x1p-64));
}

// (high + low) * 2^-128 rounded to nearest even once, where the result may be subnormal.
inline double scale_down_once(double high, double low) {
  const double s = high * 0x1p-128;
  if (abs_of(s) >= 0x1p-1022 || high == 0 || high != high) return s;
  const double size = abs_of(high), rest_low = high < 0 ? -low : low;
  const u64 whole = u64(size * 0x1p946);  // in units of the least subnormal, 2^-1074
  const double over_half = (size - double(whole) * 0x1p-946) - 0x1p-947;
  const bool up = over_half > 0 || (over_half == 0 && (rest_low > 0 || (rest_low == 0 && (whole & 1))));
  const double r = bits_double(whole + up);
  return high < 0 ? -r : r;
}

EMU_INLINE double div_fmas(double a, double b, double c, bool scale) {
  const double r = __builtin_fma(a, b, c);
  if (!scale) return r;
  if (exponent_field(c) > 1023) return r * 0x1p128;
  const double product = a * b, product_low = __builtin_fma(a, b, -product);
  return scale_down_once(r, (c - r) + product + product_low);
}

// q: quotient; d: denominator; n: numerator.
template <class T>
EMU_INLINE T div_fixup(T q, T d, T n) {
  using D = DivTraits<T>;
  const bool negative = sign_of(d) != sign_of(n);
  const T infinity = T(__builtin_inf()), nan = -T(__builtin_nan(""));
  const T size = abs_of(q) == 0 ? T(0) : abs_of(q);
  const bool inf_d = abs_of(d) == infinity, inf_n = abs_of(n) == infinity;
  // A quotient that is NaN though the operands are finite comes from an overflow on the way, which the ISA's text
  // passes over.
  T r = q != q ? infinity : size;
  if (exponent_field(n) - exponent_field(d) < D::kUnderflow) r = T(0);
  if (inf_d || n == 0) r = T(0);
  if (d == 0 || inf_n) r = infinity;
  r = negative ? -r : r;
  if ((inf_d && inf_n) || (d == 0 && n == 0)) r = nan;
  if (d != d) r = quiet(d);
  if (n != n) r = quiet(n);
  return r;
}

}  // namespace emu
