// Elementary functions in f64, which on a GPU come from ROCm's device library. Logarithms and exponentials carry a
// second double, so that powers are right to about one unit in the last place. Series are the Taylor series of the
// functions on reduced arguments.
#pragma once

struct __emu_dd {
  double hi, lo;
};

__EMU_FN __emu_dd __emu_fast_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

// log(x) for finite x > 0: x = m 2^k, log m = 2 atanh(s) with s = (m - 1) / (m + 1), |s| < 0.172.
static __device__ inline __emu_dd __emu_log(double x) {
  int k;
  double m = __builtin_frexp(x, &k);
  if (m < 0.70710678118654752) {
    m *= 2;
    k--;
  }
  const double f = m - 1, d = m + 1, d_lo = 1 - (d - m);
  const double s = f / d, s_lo = (__builtin_fma(-s, d, f) - s * d_lo) / d;
  const double z = s * s, z_lo = __builtin_fma(s, s, -z) + 2 * s * s_lo;
  double p = 0;
#pragma unroll
  for (int n = 14; n >= 2; n--) p = __builtin_fma(p, z, 1.0 / (2 * n + 1));
  // atanh(s) / s - 1 = z / 3 + z^2 p, with the first term in two doubles
  const double third = 0.33333333333333331483, third_lo = 1.8503717077085943e-17;
  const double t = z * third, t_lo = __builtin_fma(z, third, -t) + z * third_lo + z_lo * third + z * z * p;
  const double u = s * t, u_lo = __builtin_fma(s, t, -u) + s * t_lo + s_lo * t;
  const __emu_dd a = __emu_fast_sum(2 * s, 2 * u);
  const double a_lo = a.lo + 2 * (s_lo + u_lo);
  const double ln2 = 0.693147180559945286, ln2_lo = 2.31904681384629955842e-17;
  const double kl = k * ln2, kl_lo = __builtin_fma((double)k, ln2, -kl) + k * ln2_lo;
  __emu_dd r = k ? __emu_fast_sum(kl, a.hi) : __emu_dd{a.hi, 0};
  r = __emu_fast_sum(r.hi, r.lo + kl_lo + a_lo);
  return r;
}

// exp(x.hi + x.lo)
static __device__ inline double __emu_exp(__emu_dd x) {
  if (x.hi != x.hi) return x.hi;
  if (x.hi > 709.79) return __builtin_inf();
  if (x.hi < -745.14) return 0;
  const double k = __builtin_rint(x.hi * 1.44269504088896340736);
  const double ln2 = 0.693147180559945286, ln2_lo = 2.31904681384629955842e-17;
  const double t = __builtin_fma(-k, ln2, x.hi);
  const double c = k * ln2_lo, r = t - c, r_lo = (t - r) - c + x.lo;
  double q = 1.0 / 6227020800.0;
  q = __builtin_fma(q, r, 1.0 / 479001600.0);
  q = __builtin_fma(q, r, 1.0 / 39916800.0);
  q = __builtin_fma(q, r, 1.0 / 3628800.0);
  q = __builtin_fma(q, r, 1.0 / 362880.0);
  q = __builtin_fma(q, r, 1.0 / 40320.0);
  q = __builtin_fma(q, r, 1.0 / 5040.0);
  q = __builtin_fma(q, r, 1.0 / 720.0);
  q = __builtin_fma(q, r, 1.0 / 120.0);
  q = __builtin_fma(q, r, 1.0 / 24.0);
  q = __builtin_fma(q, r, 1.0 / 6.0);
  q = __builtin_fma(q, r, 0.5);
  const double e = 1 + (r + (__builtin_fma(r * r, q, r_lo) + r * r_lo));
  return __builtin_ldexp(e, (int)k);
}

__EMU_FN __emu_dd __emu_times(__emu_dd a, double b, double b_lo) {
  const double p = a.hi * b;
  return {p, __builtin_fma(a.hi, b, -p) + a.lo * b + a.hi * b_lo};
}

// Domain and special cases shared by the logarithms; true if `*x` is the answer.
__EMU_FN bool __emu_log_special(double* x) {
  if (*x > 0 && *x < __builtin_inf()) return false;
  *x = *x == 0 ? -__builtin_inf() : *x < 0 ? __builtin_nan("") : *x;
  return true;
}

static __device__ inline double __emu_exp_f64(double x) { return __emu_exp({x, 0}); }
static __device__ inline double __emu_exp2_f64(double x) {
  if (!(__builtin_fabs(x) < 1100)) return x != x ? x : x > 0 ? __builtin_inf() : 0;
  const double k = __builtin_rint(x);
  return __builtin_ldexp(__emu_exp(__emu_times({x - k, 0}, 0.693147180559945286, 2.31904681384629955842e-17)), (int)k);
}
static __device__ inline double __emu_exp10_f64(double x) {
  if (!(__builtin_fabs(x) < 400)) return x != x ? x : x > 0 ? __builtin_inf() : 0;
  return __emu_exp(__emu_times({x, 0}, 2.30258509299404590109, -2.1707562233822494e-16));
}
static __device__ inline double __emu_expm1_f64(double x) {
  if (!(__builtin_fabs(x) < 0.5)) return __emu_exp_f64(x) - 1;
  double q = 0;
#pragma unroll
  for (int n = 17; n >= 2; n--) q = (q + 1) * (x * (1.0 / n));
  return __builtin_fma(x, q, x);
}
static __device__ inline double __emu_log_f64(double x) {
  if (__emu_log_special(&x)) return x;
  const __emu_dd l = __emu_log(x);
  return l.hi + l.lo;
}
static __device__ inline double __emu_log2_f64(double x) {
  if (__emu_log_special(&x)) return x;
  const __emu_dd l = __emu_times(__emu_log(x), 1.44269504088896338700, 2.0355273740931033e-17);
  return l.hi + l.lo;
}
static __device__ inline double __emu_log10_f64(double x) {
  if (__emu_log_special(&x)) return x;
  const __emu_dd l = __emu_times(__emu_log(x), 0.43429448190325181667, 1.0983196502167651e-17);
  return l.hi + l.lo;
}
// log(1 + x) = log(u) x / (u - 1), u = 1 + x rounded (Kahan)
static __device__ inline double __emu_log1p_f64(double x) {
  const double u = 1 + x;
  if (u == 1 || x == __builtin_inf()) return x;
  return u > 0 ? __emu_log_f64(u) * (x / (u - 1)) : __emu_log_f64(u);
}

static __device__ inline double __emu_pow_f64(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const double magnitude = __builtin_fabs(x);
  const bool whole = __builtin_trunc(y) == y;
  const bool odd = whole && __builtin_fabs(y) < 9007199254740992.0 && ((long long)y & 1);
  const double sign = x < 0 || (x == 0 && __builtin_signbit(x)) ? (odd ? -1 : 1) : 1;
  if (__builtin_isinf(y)) return magnitude == 1 ? 1 : (magnitude > 1) == (y > 0) ? __builtin_inf() : 0;
  if (magnitude == 0 || __builtin_isinf(magnitude))
    return __builtin_copysign((magnitude == 0) == (y > 0) ? 0 : __builtin_inf(), sign);
  if (x < 0 && !whole) return __builtin_nan("");
  if (__builtin_fabs(y) > 1e20)
    return (magnitude > 1) == (y > 0) ? (magnitude == 1 ? sign : sign * __builtin_inf())
           : magnitude == 1           ? sign
                                      : sign * 0;
  return sign * __emu_exp(__emu_times(__emu_log(magnitude), y, 0));
}

static __device__ inline double __emu_sinh_f64(double x) {
  const double a = __builtin_fabs(x);
  if (a > 700) return __builtin_copysign(0.5 * __emu_exp_f64(0.5 * a) * __emu_exp_f64(0.5 * a), x);
  const double t = __emu_expm1_f64(a);
  return __builtin_copysign(0.5 * (t + t / (t + 1)), x);
}
static __device__ inline double __emu_cosh_f64(double x) {
  const double a = __builtin_fabs(x);
  if (a > 700) return 0.5 * __emu_exp_f64(0.5 * a) * __emu_exp_f64(0.5 * a);
  const double e = __emu_exp_f64(a);
  return 0.5 * (e + 1 / e);
}
static __device__ inline double __emu_tanh_f64(double x) {
  const double a = __builtin_fabs(x);
  const double t = a > 22 ? 0 : __emu_expm1_f64(2 * a);
  return x != x ? x : __builtin_copysign(a > 22 ? 1 : t / (t + 2), x);
}
static __device__ inline double __emu_asinh_f64(double x) {
  const double a = __builtin_fabs(x);
  const double r =
      a > 1e9 ? __emu_log_f64(a) + 0.693147180559945286 : __emu_log1p_f64(a + a * a / (1 + __builtin_sqrt(a * a + 1)));
  return __builtin_copysign(r, x);
}
static __device__ inline double __emu_acosh_f64(double x) {
  if (x > 1e9) return __emu_log_f64(x) + 0.693147180559945286;
  const double t = x - 1;
  return t < 0 ? __builtin_nan("") : __emu_log1p_f64(t + __builtin_sqrt(2 * t + t * t));
}
static __device__ inline double __emu_atanh_f64(double x) {
  const double a = __builtin_fabs(x);
  return a > 1 ? __builtin_nan("") : __builtin_copysign(0.5 * __emu_log1p_f64(2 * a / (1 - a)), x);
}

// x - n pi / 2 with n the nearest integer, in two doubles (Cody and Waite, three parts of pi / 2); returns n mod 4.
// Past 2^50 the reduction would not be right: the launch is stopped.
static __device__ inline int __emu_reduce(double x, __emu_dd* r) {
  if (__builtin_fabs(x) > 1125899906842624.0) __builtin_trap();
  const double n = __builtin_rint(x * 0.63661977236758138243);
  const double t = __builtin_fma(-n, 1.57079632679489655800, x);
  const double w = n * 6.12323399573676603587e-17,
               w_lo = __builtin_fma(n, 6.12323399573676603587e-17, -w) - n * 1.49738490485916983e-33;
  const double hi = t - w;
  *r = {hi, ((t - hi) - w) - w_lo};
  return (int)((long long)n & 3);
}
__EMU_FN double __emu_sin_series(__emu_dd r) {
  const double z = r.hi * r.hi;
  double q = 0;
#pragma unroll
  for (int n = 10; n >= 1; n--) q = -(q + 1) * (z * (1.0 / ((2 * n) * (2 * n + 1))));
  return r.hi + (r.hi * q + r.lo * (1 - 0.5 * z));
}
__EMU_FN double __emu_cos_series(__emu_dd r) {
  const double z = r.hi * r.hi;
  double q = 0;
#pragma unroll
  for (int n = 10; n >= 2; n--) q = -(q + 1) * (z * (1.0 / ((2 * n - 1) * (2 * n))));
  const double half = 0.5 * z, w = 1 - half;
  return w + (((1 - w) - half) - half * q - r.hi * r.lo);
}
static __device__ inline double __emu_quadrant_sin(double x, int shift) {
  if (!__builtin_isfinite(x)) return __builtin_nan("");
  __emu_dd r;
  const int n = __emu_reduce(x, &r) + shift;
  const double value = n & 1 ? __emu_cos_series(r) : __emu_sin_series(r);
  return n & 2 ? -value : value;
}
static __device__ inline double __emu_sin_f64(double x) { return x == 0 ? x : __emu_quadrant_sin(x, 0); }
static __device__ inline double __emu_cos_f64(double x) { return __emu_quadrant_sin(x, 1); }
static __device__ inline double __emu_tan_f64(double x) { return __emu_sin_f64(x) / __emu_cos_f64(x); }

// atan(x) = atan(c) + atan((x - c) / (1 + x c)), c the multiple of 1/4 next to x; |x| <= 1
static __device__ inline double __emu_atan_small(double x) {
  const double n = __builtin_rint(4 * x), c = 0.25 * n;
  const double at = n == 0   ? 0
                    : n == 1 ? 0.24497866312686415417
                    : n == 2 ? 0.46364760900080611621
                    : n == 3 ? 0.64350110879328438680
                             : 0.78539816339744830962;
  const double t = (x - c) / __builtin_fma(x, c, 1.0), z = t * t;
  double q = 0;
#pragma unroll
  for (int k = 10; k >= 1; k--) q = z * (1.0 / (2 * k + 1) - q);
  return at + (t - t * q);
}
static __device__ inline double __emu_atan_f64(double x) {
  const double a = __builtin_fabs(x);
  const double r =
      a <= 1 ? __emu_atan_small(a) : 1.57079632679489661923 - (__emu_atan_small(1 / a) - 6.12323399573676603587e-17);
  return x != x ? x : __builtin_copysign(r, x);
}
static __device__ inline double __emu_atan2_f64(double y, double x) {
  if (x != x || y != y) return x + y;
  const double a = __builtin_fabs(x), b = __builtin_fabs(y);
  double r;
  if (a == b) {
    r = a == 0 ? 0 : 0.78539816339744830962;
  } else {
    r = b < a ? __emu_atan_small(b / a)
              : 1.57079632679489661923 - (__emu_atan_small(a / b) - 6.12323399573676603587e-17);
  }
  if (__builtin_signbit(x)) r = 3.14159265358979323846 - (r - 1.22464679914735317723e-16);
  return __builtin_copysign(r, y);
}
static __device__ inline double __emu_asin_f64(double x) {
  return __emu_atan2_f64(x, __builtin_sqrt((1 - x) * (1 + x)));
}
static __device__ inline double __emu_acos_f64(double x) {
  return 2 * __emu_atan2_f64(__builtin_sqrt(1 - x), __builtin_sqrt(1 + x));
}

static __device__ inline double __emu_hypot_f64(double x, double y) {
  if (__builtin_isinf(x) || __builtin_isinf(y)) return __builtin_inf();
  const double a = __builtin_fmax(__builtin_fabs(x), __builtin_fabs(y)),
               b = __builtin_fmin(__builtin_fabs(x), __builtin_fabs(y));
  if (x != x || y != y || a == 0) return x != x || y != y ? x + y : 0;
  int e;
  __builtin_frexp(a, &e);
  const double p = __builtin_ldexp(a, -e), q = __builtin_ldexp(b, -e);
  return __builtin_ldexp(__builtin_sqrt(__builtin_fma(p, p, q * q)), e);
}
static __device__ inline double __emu_cbrt_f64(double x) {
  const double a = __builtin_fabs(x);
  if (a == 0 || !(a < __builtin_inf())) return x;
  double r = __emu_exp(__emu_times(__emu_log(a), 0.33333333333333331483, 1.8503717077085943e-17));
  r -= __builtin_fma(r * r, r, -a) / (3 * r * r);
  return __builtin_copysign(r, x);
}

// Exact: subtracts multiples of y 2^k whose quotient fits in 52 bits.
static __device__ inline double __emu_fmod_f64(double x, double y) {
  double a = __builtin_fabs(x);
  const double b = __builtin_fabs(y);
  if (x != x || y != y || a == __builtin_inf() || b == 0) return __builtin_nan("");
  if (b == __builtin_inf()) return x;
  while (a >= b) {
    int ea, eb;
    __builtin_frexp(a, &ea);
    __builtin_frexp(b, &eb);
    const double step = ea - eb > 50 ? __builtin_ldexp(b, ea - eb - 50) : b;
    a = __builtin_fma(-__builtin_trunc(a / step), step, a);
    if (a < 0) a += step;
  }
  return __builtin_copysign(a, x);
}
static __device__ inline double __emu_remainder_f64(double x, double y) {
  const double b = __builtin_fabs(y);
  double a = __builtin_fabs(b < 8e307 ? __emu_fmod_f64(x, 2 * b) : x);
  if (!(a == a)) return a;
  const double sign = __builtin_signbit(x) ? -1 : 1;
  if (a > b) a -= 2 * b;
  if (2 * __builtin_fabs(a) > b) a -= __builtin_copysign(b, a);
  return sign * a;
}
static __device__ inline double __emu_nextafter_f64(double x, double y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return __builtin_copysign(4.9406564584124654e-324, y);
  const long long bits = __builtin_bit_cast(long long, x);
  return __builtin_bit_cast(double, (x < y) == (x > 0) ? bits + 1 : bits - 1);
}
static __device__ inline float __emu_nextafter_f32(float x, float y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return __builtin_copysignf(1.40129846e-45f, y);
  const int bits = __builtin_bit_cast(int, x);
  return __builtin_bit_cast(float, (x < y) == (x > 0) ? bits + 1 : bits - 1);
}
