// Floats to integers as the ISA defines it: towards zero, out-of-range values saturate, NaN gives 0.
#pragma once
#include "operands.hpp"

namespace emu {

// For bounds that float holds exactly or that saturate below.
template <class T>
EMU_INLINE i32 to_range(T x, i32 low, i32 high) {
  const T clamped = x > T(high) ? T(high) : x < T(low) ? T(low) : x;
  return x != x ? 0 : i32(clamped);
}
EMU_INLINE i32 to_i32(float x) {
  const bool big = x >= 0x1p31f, small = x <= -0x1p31f;
  const i32 r = i32(big || small || x != x ? 0.0f : x);
  return big ? INT32_MAX : small ? INT32_MIN : r;
}
EMU_INLINE i32 to_i32(double x) {
  const bool big = x >= 0x1p31, small = x <= -0x1p31;
  const i32 r = i32(big || small || x != x ? 0.0 : x);
  return big ? INT32_MAX : small ? INT32_MIN : r;
}
EMU_INLINE u32 to_u32(float x) {
  const bool big = x >= 0x1p32f;
  const u32 r = u32(i64(big || !(x > 0) ? 0.0f : x));
  return big ? ~0u : r;
}
EMU_INLINE u32 to_u32(double x) {
  const bool big = x >= 0x1p32;
  const u32 r = u32(i64(big || !(x > 0) ? 0.0 : x));
  return big ? ~0u : r;
}

}  // namespace emu
