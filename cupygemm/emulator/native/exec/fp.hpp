// Floating-point operations that IEEE 754 leaves open and the ISA settles: minimum, maximum and median, quieting,
// flushing.
#pragma once
#include "lanes.hpp"

namespace emu {

template <class T>
struct Bits;
template <>
struct Bits<float> {
  using U = u32;
  static constexpr U kQuiet = 0x00400000u, kSign = 0x80000000u;
};
template <>
struct Bits<double> {
  using U = u64;
  static constexpr U kQuiet = 0x0008000000000000ull, kSign = 0x8000000000000000ull;
};

template <class T>
EMU_INLINE bool sign_of(T x) {
  return __builtin_bit_cast(typename Bits<T>::U, x) & Bits<T>::kSign;
}
template <class T>
EMU_INLINE T quiet(T x) {
  return __builtin_bit_cast(T, __builtin_bit_cast(typename Bits<T>::U, x) | Bits<T>::kQuiet);
}
template <class T>
EMU_INLINE bool is_signaling(T x) {
  return x != x && !(__builtin_bit_cast(typename Bits<T>::U, x) & Bits<T>::kQuiet);
}

// A number that the denormal mode keeps as it is; min and max flush what arithmetic would.
EMU_INLINE float flushed(const Env& e, float x) {
  const u32 bits = float_bits(x);
  const bool tiny = !(bits & 0x7f800000u) && !(e.mode.denorm_f32 & 1);
  return bits_float(tiny ? bits & 0x80000000u : bits);
}
EMU_INLINE double flushed(const Env&, double x) { return x; }

// v_min_f32, v_min_num_f32 and their kind (IEEE 754-2019 minimumNumber): a number beats NaN, -0 < +0, a NaN comes out
// quiet. With the MODE bit IEEE set (compute kernels before gfx12), a signaling NaN operand makes the result NaN.
template <class T>
EMU_INLINE T fp_min(const Env& e, T a, T b) {
  a = flushed(e, a), b = flushed(e, b);
  const bool a_less = a < b || (a == b && sign_of(a));
  const bool ieee_nan_a = e.mode.ieee && is_signaling(a), ieee_nan_b = e.mode.ieee && is_signaling(b);
  T r = a_less || b != b ? a : b;
  r = a != a && b == b ? b : r;
  r = ieee_nan_b ? b : r;
  r = ieee_nan_a ? a : r;
  return r != r ? quiet(r) : r;
}
template <class T>
EMU_INLINE T fp_max(const Env& e, T a, T b) {
  a = flushed(e, a), b = flushed(e, b);
  const bool a_more = a > b || (a == b && !sign_of(a));
  const bool ieee_nan_a = e.mode.ieee && is_signaling(a), ieee_nan_b = e.mode.ieee && is_signaling(b);
  T r = a_more || b != b ? a : b;
  r = a != a && b == b ? b : r;
  r = ieee_nan_b ? b : r;
  r = ieee_nan_a ? a : r;
  return r != r ? quiet(r) : r;
}

// IEEE 754-2019 minimum and maximum: NaN if either is, -0 < +0.
template <class T>
EMU_INLINE T fp_minimum(T a, T b) {
  const T r = a < b || (a == b && sign_of(a)) ? a : b;
  return a != a ? quiet(a) : b != b ? quiet(b) : r;
}
template <class T>
EMU_INLINE T fp_maximum(T a, T b) {
  const T r = a > b || (a == b && !sign_of(a)) ? a : b;
  return a != a ? quiet(a) : b != b ? quiet(b) : r;
}

// With a NaN among them, the least of the three; otherwise the middle one.
template <class T>
EMU_INLINE T fp_med3(const Env& e, T a, T b, T c) {
  const T low = fp_min(e, a, b), high = fp_max(e, a, b);
  const T middle = fp_max(e, low, fp_min(e, high, c));
  return a != a || b != b || c != c ? fp_min(e, low, c) : middle;
}

}  // namespace emu
