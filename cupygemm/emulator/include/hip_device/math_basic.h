// Math that the backend lowers itself: rounding, classification, square roots, bit casts, integer minimum and maximum.
#pragma once

#define __EMU_BOTH1(name)                                         \
  __EMU_FN double name(double x) { return __builtin_##name(x); }  \
  __EMU_FN float name(float x) { return __builtin_##name##f(x); } \
  __EMU_FN float name##f(float x) { return __builtin_##name##f(x); }
#define __EMU_BOTH2(name)                                                     \
  __EMU_FN double name(double x, double y) { return __builtin_##name(x, y); } \
  __EMU_FN float name(float x, float y) { return __builtin_##name##f(x, y); } \
  __EMU_FN float name##f(float x, float y) { return __builtin_##name##f(x, y); }
__EMU_BOTH1(sqrt)
__EMU_BOTH1(fabs)
__EMU_BOTH1(floor)
__EMU_BOTH1(ceil)
__EMU_BOTH1(trunc)
__EMU_BOTH1(rint)
__EMU_BOTH1(nearbyint)
__EMU_BOTH1(round)
__EMU_BOTH2(fmin)
__EMU_BOTH2(fmax)
__EMU_BOTH2(copysign)
#undef __EMU_BOTH1
#undef __EMU_BOTH2

#define __EMU_FOR_FLOAT(T, s)                                                           \
  __EMU_FN bool isnan(T x) { return __builtin_isnan(x); }                               \
  __EMU_FN bool isinf(T x) { return __builtin_isinf(x); }                               \
  __EMU_FN bool isfinite(T x) { return __builtin_isfinite(x); }                         \
  __EMU_FN bool signbit(T x) { return __builtin_signbit(x); }                           \
  __EMU_FN T abs(T x) { return __builtin_fabs##s(x); }                                  \
  __EMU_FN T min(T a, T b) { return __builtin_fmin##s(a, b); }                          \
  __EMU_FN T max(T a, T b) { return __builtin_fmax##s(a, b); }                          \
  __EMU_FN T fma(T a, T b, T c) { return __builtin_fma##s(a, b, c); }                   \
  __EMU_FN T ldexp(T x, int e) { return __builtin_ldexp##s(x, e); }                     \
  __EMU_FN T scalbn(T x, int e) { return __builtin_ldexp##s(x, e); }                    \
  __EMU_FN T frexp(T x, int* e) { return __builtin_frexp##s(x, e); }                    \
  __EMU_FN T modf(T x, T* whole) {                                                      \
    *whole = __builtin_trunc##s(x);                                                     \
    return __builtin_copysign##s(__builtin_isinf(x) ? T(0) : x - *whole, x);            \
  }                                                                                     \
  __EMU_FN T fdim(T a, T b) { return a != a || b != b ? a + b : a > b ? a - b : T(0); } \
  __EMU_FN T rsqrt(T x) { return T(1) / __builtin_sqrt##s(x); }                         \
  __EMU_FN long long llrint(T x) { return (long long)__builtin_rint##s(x); }            \
  __EMU_FN long long llround(T x) { return (long long)__builtin_round##s(x); }          \
  __EMU_FN long lrint(T x) { return (long)__builtin_rint##s(x); }                       \
  __EMU_FN long lround(T x) { return (long)__builtin_round##s(x); }
__EMU_FOR_FLOAT(float, f)
__EMU_FOR_FLOAT(double, )
#undef __EMU_FOR_FLOAT

#define __EMU_MINMAX(T)                              \
  __EMU_FN T min(T a, T b) { return a < b ? a : b; } \
  __EMU_FN T max(T a, T b) { return a > b ? a : b; }
__EMU_MINMAX(int)
__EMU_MINMAX(unsigned)
__EMU_MINMAX(long)
__EMU_MINMAX(unsigned long)
__EMU_MINMAX(long long)
__EMU_MINMAX(unsigned long long)
#undef __EMU_MINMAX
__EMU_FN int abs(int x) { return x < 0 ? -x : x; }
__EMU_FN long abs(long x) { return x < 0 ? -x : x; }
__EMU_FN long long abs(long long x) { return x < 0 ? -x : x; }

__EMU_FN float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__EMU_FN float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
__EMU_FN float scalbnf(float x, int e) { return __builtin_ldexpf(x, e); }
__EMU_FN float frexpf(float x, int* e) { return __builtin_frexpf(x, e); }
__EMU_FN float modff(float x, float* whole) { return modf(x, whole); }
__EMU_FN float fdimf(float a, float b) { return fdim(a, b); }
__EMU_FN float rsqrtf(float x) { return rsqrt(x); }

__EMU_FN int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__EMU_FN unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__EMU_FN float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__EMU_FN float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__EMU_FN long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__EMU_FN double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__EMU_FN int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
__EMU_FN int __double2loint(double x) { return (int)__double_as_longlong(x); }
__EMU_FN double __hiloint2double(int high, int low) {
  return __longlong_as_double(((long long)high << 32) | (unsigned)low);
}

__EMU_FN int __popc(unsigned x) { return __builtin_popcount(x); }
__EMU_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__EMU_FN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
__EMU_FN int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
__EMU_FN int __ffs(int x) { return __builtin_ffs(x); }
__EMU_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
__EMU_FN unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__EMU_FN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
__EMU_FN int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
