// Source and result modifiers of VALU instructions, on copies of the operands: negate and absolute value, op_sel, SDWA
// selections, output multiplier, clamp, and the place of a 16-bit result in its register.
#pragma once
#include "lanes.hpp"

namespace emu {

constexpr int type_dwords(Type type) {
  return type == Type::kB64 || type == Type::kF64 || type == Type::kPackedF32 ? 2 : type == Type::kMask ? 0 : 1;
}
constexpr bool is_packed16(Type type) {
  return type == Type::kPackedI16 || type == Type::kPackedF16 || type == Type::kPackedBF16;
}

// Byte or word `select` (Operand::sdwa) of x, sign- or zero-extended.
inline u32 sdwa_part(u32 x, u32 select, bool sign) {
  if (select == 0) return x;
  if (select <= 4) {
    x = (x >> (8 * (select - 1))) & 0xff;
    return sign ? u32(i32(i8(x))) : x;
  }
  x = (x >> (16 * (select - 5))) & 0xffff;
  return sign ? u32(i32(i16(x))) : x;
}

template <int L>
inline void apply_packed_modifiers(const Insn& i, int k, u32* x) {
  const int low = (i.op_sel >> k) & 1 ? 16 : 0, high = (i.op_sel_hi >> k) & 1 ? 16 : 0;
  const u32 flip = ((i.neg_lo >> k) & 1 ? 0x8000u : 0) | ((i.neg_hi >> k) & 1 ? 0x80000000u : 0);
  const bool is_float = i.src[k].type != Type::kPackedI16;
  for (int l = 0; l < L; l++) {
    const u32 v = ((x[l] >> low) & 0xffff) | ((x[l] >> high) << 16);
    x[l] = is_float ? v ^ flip : v;
  }
}

template <int L>
inline void apply_packed_f32_modifiers(const Insn& i, int k, u32 (&x)[2][L]) {
  const bool low = (i.op_sel >> k) & 1, high = (i.op_sel_hi >> k) & 1;
  const u32 flip_low = (i.neg_lo >> k) & 1 ? 0x80000000u : 0, flip_high = (i.neg_hi >> k) & 1 ? 0x80000000u : 0;
  for (int l = 0; l < L; l++) {
    const u32 a = x[low][l], b = x[high][l];
    x[0][l] = a ^ flip_low;
    x[1][l] = b ^ flip_high;
  }
}

// Source k, already copied to x (dword, lane).
template <int L>
inline void apply_source_modifiers(const Insn& i, int k, u32 (&x)[2][L]) {
  const Operand& o = i.src[k];
  if (is_packed16(o.type)) return apply_packed_modifiers<L>(i, k, x[0]);
  if (o.type == Type::kPackedF32) return apply_packed_f32_modifiers<L>(i, k, x);
  if (o.sdwa)
    for (int l = 0; l < L; l++) x[0][l] = sdwa_part(x[0][l], o.sdwa, o.mods & kSext);
  u32 sign = 0x80000000u;
  if (o.type == Type::kMix && ((i.op_sel_hi >> k) & 1)) {
    const int shift = (i.op_sel >> k) & 1 ? 16 : 0;
    for (int l = 0; l < L; l++) x[0][l] = float_bits(f16_to_f32((x[0][l] >> shift) & 0xffff));
  } else if (o.type == Type::kB16 || o.type == Type::kF16 || o.type == Type::kBF16) {
    sign = 0x8000u;
    if (o.mods & kHigh)
      for (int l = 0; l < L; l++) x[0][l] >>= 16;
  }
  u32* top = x[type_dwords(o.type) - 1];
  if (o.mods & kAbs)
    for (int l = 0; l < L; l++) top[l] &= ~sign;
  if (o.mods & kNeg)
    for (int l = 0; l < L; l++) top[l] ^= sign;
}

// Clamp to [0, 1]; NaN becomes 0 where DX10_CLAMP is set (always on gfx12).
inline float clamp01(float x, bool nan_to_zero) {
  if (x != x) return nan_to_zero ? 0.0f : x;
  return x <= 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}
inline double clamp01(double x, bool nan_to_zero) {
  if (x != x) return nan_to_zero ? 0.0 : x;
  return x <= 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}

template <class T>
inline T output_multiply(T x, int omod) {
  return omod == 1 ? x * T(2) : omod == 2 ? x * T(4) : omod == 3 ? x * T(0.5) : x;
}

template <int L>
inline void apply_result_modifiers(const Insn& i, const FpMode& mode, u32 (&r)[2][L]) {
  const bool clamp = i.flags & kClamp, nan_to_zero = mode.dx10_clamp;
  if (!clamp && !i.omod) return;
  for (int l = 0; l < L; l++) {
    switch (i.dst[0].type) {
      case Type::kF32: {
        float x = output_multiply(bits_float(r[0][l]), i.omod);
        r[0][l] = float_bits(clamp ? clamp01(x, nan_to_zero) : x);
        break;
      }
      case Type::kF64: {
        const u64 bits = r[0][l] | (u64(r[1][l]) << 32);
        double x = output_multiply(__builtin_bit_cast(double, bits), i.omod);
        const u64 out = __builtin_bit_cast(u64, clamp ? clamp01(x, nan_to_zero) : x);
        r[0][l] = u32(out), r[1][l] = u32(out >> 32);
        break;
      }
      case Type::kF16: {
        float x = output_multiply(f16_to_f32(r[0][l] & 0xffff), i.omod);
        r[0][l] = f32_to_f16(clamp ? clamp01(x, nan_to_zero) : x);
        break;
      }
      case Type::kPackedF16: {
        const float lo = f16_to_f32(r[0][l] & 0xffff), hi = f16_to_f32(r[0][l] >> 16);
        if (clamp) r[0][l] = f32_to_f16(clamp01(lo, nan_to_zero)) | (f32_to_f16(clamp01(hi, nan_to_zero)) << 16);
        break;
      }
      case Type::kPackedF32:
        for (int d = 0; d < 2 && clamp; d++) r[d][l] = float_bits(clamp01(bits_float(r[d][l]), nan_to_zero));
        break;
      default:
        break;  // integer clamps saturate in the lane function
    }
  }
}

template <int L>
inline void place_half(Half half, u32* r, const u32* old) {
  for (int l = 0; l < L; l++) {
    const u32 x = r[l] & 0xffff;
    r[l] = half == Half::kHigh ? (x << 16) | (old[l] & 0xffff) : half == Half::kLow ? x | (old[l] & 0xffff0000) : x;
  }
}

// SDWA's dst_sel and dst_unused.
template <int L>
inline void place_sdwa(const Insn& i, u32* r, const u32* old) {
  const u32 select = i.dst[0].sdwa;
  if (select == 0) return;
  const int width = select <= 4 ? 8 : 16, shift = select <= 4 ? 8 * int(select - 1) : 16 * int(select - 5);
  const u32 field = ((1u << width) - 1) << shift;
  for (int l = 0; l < L; l++) {
    const u32 part = (r[l] << shift) & field;
    const bool negative = (r[l] >> (width - 1)) & 1;
    const u32 above = ~(field | (field - 1)) & (shift + width < 32 ? ~0u : 0);
    if (i.flags & kSdwaPreserve)
      r[l] = part | (old[l] & ~field);
    else
      r[l] = part | ((i.flags & kSdwaSext) && negative ? above : 0);
  }
}

}  // namespace emu
