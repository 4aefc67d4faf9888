// The C names of the elementary functions. In f32, what the backend lowers itself as ROCm's device library would have
// it lowered stays with it; the rest is computed in f64 and rounded.
#pragma once

#define __EMU_NAMES1(name)                                                      \
  __EMU_FN double name(double x) { return __emu_##name##_f64(x); }              \
  __EMU_FN float name(float x) { return (float)__emu_##name##_f64((double)x); } \
  __EMU_FN float name##f(float x) { return (float)__emu_##name##_f64((double)x); }
#define __EMU_NAMES1_NATIVE(name)                                  \
  __EMU_FN double name(double x) { return __emu_##name##_f64(x); } \
  __EMU_FN float name(float x) { return __builtin_##name##f(x); }  \
  __EMU_FN float name##f(float x) { return __builtin_##name##f(x); }
#define __EMU_NAMES2(name)                                                                          \
  __EMU_FN double name(double x, double y) { return __emu_##name##_f64(x, y); }                     \
  __EMU_FN float name(float x, float y) { return (float)__emu_##name##_f64((double)x, (double)y); } \
  __EMU_FN float name##f(float x, float y) { return (float)__emu_##name##_f64((double)x, (double)y); }
__EMU_NAMES1_NATIVE(exp)
__EMU_NAMES1_NATIVE(exp2)
__EMU_NAMES1_NATIVE(exp10)
__EMU_NAMES1_NATIVE(log)
__EMU_NAMES1_NATIVE(log2)
__EMU_NAMES1_NATIVE(log10)
__EMU_NAMES1(expm1)
__EMU_NAMES1(log1p)
__EMU_NAMES1(sin)
__EMU_NAMES1(cos)
__EMU_NAMES1(tan)
__EMU_NAMES1(asin)
__EMU_NAMES1(acos)
__EMU_NAMES1(atan)
__EMU_NAMES1(sinh)
__EMU_NAMES1(cosh)
__EMU_NAMES1(tanh)
__EMU_NAMES1(asinh)
__EMU_NAMES1(acosh)
__EMU_NAMES1(atanh)
__EMU_NAMES1(cbrt)
__EMU_NAMES2(pow)
__EMU_NAMES2(atan2)
__EMU_NAMES2(hypot)
__EMU_NAMES2(fmod)
__EMU_NAMES2(remainder)
#undef __EMU_NAMES1
#undef __EMU_NAMES1_NATIVE
#undef __EMU_NAMES2
__EMU_FN double nextafter(double x, double y) { return __emu_nextafter_f64(x, y); }
__EMU_FN float nextafter(float x, float y) { return __emu_nextafter_f32(x, y); }
__EMU_FN float nextafterf(float x, float y) { return __emu_nextafter_f32(x, y); }
__EMU_FN void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }
__EMU_FN void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
__EMU_FN float __expf(float x) { return __builtin_expf(x); }
__EMU_FN float __logf(float x) { return __builtin_logf(x); }
__EMU_FN float __powf(float x, float y) { return powf(x, y); }
__EMU_FN float __fdividef(float x, float y) { return x / y; }

#define __EMU_ABSENT(name)                                                                       \
  __device__ __attribute__((unavailable("the emulated GPU has no " #name))) double name(double); \
  __device__ __attribute__((unavailable("the emulated GPU has no " #name))) float name(float);   \
  __device__ __attribute__((unavailable("the emulated GPU has no " #name))) float name##f(float);
__EMU_ABSENT(erf)
__EMU_ABSENT(erfc)
__EMU_ABSENT(erfinv)
__EMU_ABSENT(erfcinv)
__EMU_ABSENT(erfcx)
__EMU_ABSENT(tgamma)
__EMU_ABSENT(lgamma)
__EMU_ABSENT(j0)
__EMU_ABSENT(j1)
__EMU_ABSENT(y0)
__EMU_ABSENT(y1)
__EMU_ABSENT(normcdf)
__EMU_ABSENT(normcdfinv)
__EMU_ABSENT(logb)
#undef __EMU_ABSENT
