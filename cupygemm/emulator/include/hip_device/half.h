// half and bfloat16: storage types that convert through float, in which they compute.
#pragma once

struct __half_raw {
  unsigned short x;
};

struct __half {
  _Float16 value;
  __half() = default;
  __device__ __half(float x) : value((_Float16)x) {}
  __device__ __half(double x) : value((_Float16)x) {}
  __device__ __half(_Float16 x) : value(x) {}
  __device__ __half(int x) : value((_Float16)x) {}
  __device__ __half(unsigned x) : value((_Float16)x) {}
  __device__ __half(long x) : value((_Float16)x) {}
  __device__ __half(unsigned long x) : value((_Float16)x) {}
  __device__ __half(long long x) : value((_Float16)x) {}
  __device__ __half(unsigned long long x) : value((_Float16)x) {}
  __device__ __half(const __half_raw& raw) : value(__builtin_bit_cast(_Float16, raw.x)) {}
  __device__ operator float() const { return (float)value; }
  __device__ operator __half_raw() const { return {__builtin_bit_cast(unsigned short, value)}; }
};
typedef __half half;

struct __hip_bfloat16 {
  __bf16 value;
  __hip_bfloat16() = default;
  __device__ __hip_bfloat16(float x) : value((__bf16)x) {}
  __device__ operator float() const { return (float)value; }
};
typedef __hip_bfloat16 hip_bfloat16;

#define __EMU_HALF_OPERATORS(T)                                       \
  __EMU_FN T operator+(T a, T b) { return T((float)a + (float)b); }   \
  __EMU_FN T operator-(T a, T b) { return T((float)a - (float)b); }   \
  __EMU_FN T operator*(T a, T b) { return T((float)a * (float)b); }   \
  __EMU_FN T operator/(T a, T b) { return T((float)a / (float)b); }   \
  __EMU_FN T operator-(T a) { return T(-(float)a); }                  \
  __EMU_FN bool operator==(T a, T b) { return (float)a == (float)b; } \
  __EMU_FN bool operator!=(T a, T b) { return (float)a != (float)b; } \
  __EMU_FN bool operator<(T a, T b) { return (float)a < (float)b; }   \
  __EMU_FN bool operator>(T a, T b) { return (float)a > (float)b; }   \
  __EMU_FN bool operator<=(T a, T b) { return (float)a <= (float)b; } \
  __EMU_FN bool operator>=(T a, T b) { return (float)a >= (float)b; } \
  __EMU_FN bool __hisnan(T x) { return __builtin_isnan((float)x); }   \
  __EMU_FN int __hisinf(T x) { return __builtin_isinf_sign((float)x); }
__EMU_HALF_OPERATORS(__half)
__EMU_HALF_OPERATORS(__hip_bfloat16)
#undef __EMU_HALF_OPERATORS

__EMU_FN __half __float2half(float x) { return __half(x); }
__EMU_FN __half __float2half_rn(float x) { return __half(x); }
__EMU_FN float __half2float(__half x) { return (float)x; }
__EMU_FN __half __ushort_as_half(unsigned short x) { return __half(__half_raw{x}); }
__EMU_FN unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x.value); }
__EMU_FN __hip_bfloat16 __float2bfloat16(float x) { return __hip_bfloat16(x); }
__EMU_FN float __bfloat162float(__hip_bfloat16 x) { return (float)x; }
__EMU_FN unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return __builtin_bit_cast(unsigned short, x.value); }
__EMU_FN __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  __hip_bfloat16 r;
  r.value = __builtin_bit_cast(__bf16, x);
  return r;
}
