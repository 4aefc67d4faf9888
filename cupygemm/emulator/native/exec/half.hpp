// f16 operands and results under the MODE bits of 16- and 64-bit floats, without branches so that lane loops vectorise.
//
// Sums, products and quotients of two f16 numbers are safely double-rounded in f32 (24 >= 2 * 11 + 2 bits). A fused
// multiply-add is computed in f64: the product has 22 bits, and where the addend is too far away for 53 bits to hold
// the sum, the sum is no tie of f16, so that its rounding to f64 changes nothing. Instructions on f16 run with the
// host's rounding set to that of their MODE bits: rounding twice in the same direction is rounding once.
#pragma once
#include "lanes.hpp"

namespace emu {

EMU_INLINE float f16_value(const Env& e, u32 bits) {
  const bool flush = !(bits & 0x7c00) && !(e.mode.denorm_f16_64 & 1);
  return f16_to_f32(flush ? bits & 0x8000 : bits);
}
EMU_INLINE float value(const Env& e, F16 x) { return f16_value(e, x.bits); }
EMU_INLINE float low(const Env& e, PF16 x) { return f16_value(e, x.bits & 0xffff); }
EMU_INLINE float high(const Env& e, PF16 x) { return f16_value(e, x.bits >> 16); }

// x (exact, or rounded to odd or by MODE's own rounding) as f16 bits.
EMU_INLINE u32 to_f16(const Env& e, float x) {
  const u32 r = f32_to_f16(x);
  const float y = f16_to_f32(r);
  const u32 mode = e.mode.round_f16_64;
  const bool towards_down = mode == 2 || (mode == 3 && x > 0), towards_up = mode == 1 || (mode == 3 && x < 0);
  const u32 away = y < 0 || (r & 0x8000) ? 1u : ~0u;  // added to r: one step down
  u32 out = towards_down && y > x ? r + away : r;
  out = towards_up && y < x ? out - away : out;
  const bool flush = !(out & 0x7c00) && !(e.mode.denorm_f16_64 & 2);
  return (flush ? out & 0x8000 : out) & 0xffff;
}

// An f32 that rounds to fewer bits as x does: truncated, with the last bit set where something was lost.
EMU_INLINE float to_odd_f32(double x) {
  const float t = float(x);
  const double back = t;
  const u32 bits = float_bits(t);
  const bool inexact = back != x, above = (x < 0 ? -back : back) > (x < 0 ? -x : x);
  return bits_float(inexact ? (bits - above) | 1 : bits);
}

EMU_INLINE u32 fma_f16(const Env& e, float a, float b, float c) {
  return to_f16(e, to_odd_f32(__builtin_fma(double(a), double(b), double(c))));
}

}  // namespace emu
