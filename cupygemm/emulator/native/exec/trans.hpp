// Reciprocal, roots, exponential, logarithm, sine and cosine.
//
// Hardware gives about 1 ulp; here the f32 and f16 results are those of a double computation with an error below 2^-48
// relative, rounded: correctly rounded but for rare near-ties. As on hardware, the f32 functions take subnormal
// operands for zero and give zero for subnormal results (LLVM's lowering scales around that); f16 and f64 ones do not.
// All are branch-free.
#pragma once
#include "fp.hpp"

namespace emu {

EMU_INLINE float flush_f32(float x) {
  const u32 bits = float_bits(x);
  return bits_float(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}
EMU_INLINE double bits_double(u64 x) { return __builtin_bit_cast(double, x); }
EMU_INLINE u64 double_bits(double x) { return __builtin_bit_cast(u64, x); }

// 2^x for finite x; overflows and underflows like f32 far outside of its range.
EMU_INLINE double exp2_double(double x) {
  const double clamped = x < -400 ? -400 : x > 400 ? 400 : x;
  const double n = __builtin_roundeven(clamped), t = (clamped - n) * 0.69314718055994530942;
  double p = 1.0 / 6227020800;
  constexpr double kInverseFactorials[] = {
      1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
      1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
  for (double c : kInverseFactorials) p = __builtin_fma(p, t, c);
  return p * bits_double(u64(i64(n) + 1023) << 52);
}

// log2(x) of a positive finite double.
EMU_INLINE double log2_double(double x) {
  const u64 bits = double_bits(x);
  i64 e = i64(bits >> 52) - 1023;
  double m = bits_double((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  const bool big = m > 1.41421356237309504880;
  m = big ? m * 0.5 : m;
  e = big ? e + 1 : e;
  const double s = (m - 1) / (m + 1), q = s * s;
  double p = 1.0 / 27;
  for (int k = 25; k >= 1; k -= 2) p = __builtin_fma(p, q, 1.0 / k);
  return __builtin_fma(p * s, 2.88539008177792681472, double(e));
}

// sin(2 pi r) and cos(2 pi r), for |r| <= 1/2.
EMU_INLINE double sin_turns(double r) {
  const double quarter = r > 0.25 ? 0.5 - r : r < -0.25 ? -0.5 - r : r;
  const double x = quarter * 6.28318530717958647693, q = x * x;
  double p = 0;
  constexpr double kTerms[] = {-1.0 / 25852016738884976640000.0,
                               1.0 / 51090942171709440000.0,
                               -1.0 / 121645100408832000.0,
                               1.0 / 355687428096000.0,
                               -1.0 / 1307674368000.0,
                               1.0 / 6227020800.0,
                               -1.0 / 39916800.0,
                               1.0 / 362880.0,
                               -1.0 / 5040.0,
                               1.0 / 120.0,
                               -1.0 / 6.0,
                               1.0};
  for (double c : kTerms) p = __builtin_fma(p, q, c);
  return p * x;
}

EMU_INLINE double rcp_double(double x) { return 1.0 / x; }
EMU_INLINE double rsq_double(double x) { return 1.0 / __builtin_sqrt(x); }
EMU_INLINE double sqrt_double(double x) { return __builtin_sqrt(x); }

EMU_INLINE double exp_double(double x) {
  const double r = exp2_double(x);
  const double infinite = x > 0 ? __builtin_inf() : 0.0;
  return x != x ? x : __builtin_isinf(x) ? infinite : r;
}
EMU_INLINE double log_double(double x) {
  const double r = log2_double(x > 0 ? x : 1.0);
  const double special = x == 0 ? -__builtin_inf() : x < 0 ? __builtin_nan("") : x;
  return x > 0 && !__builtin_isinf(x) ? r : special;
}
EMU_INLINE double sin_double(double x) {
  const double r = x - __builtin_roundeven(x);
  return __builtin_isinf(x) ? __builtin_nan("") : x == 0 ? x : sin_turns(r);
}
EMU_INLINE double cos_double(double x) {
  const double r = x - __builtin_roundeven(x);
  return __builtin_isinf(x) ? __builtin_nan("") : sin_turns(0.25 - (r < 0 ? -r : r));
}

// An f32 function of a double one.
template <auto F>
EMU_INLINE float trans_f32(float a) {
  return flush_f32(float(F(double(flush_f32(a)))));
}

}  // namespace emu
