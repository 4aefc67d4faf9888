// Exact conversions between binary32 and the narrow floating-point formats, in integer arithmetic.
//
// `decode<F>` is exact for every code. `encode<F>` rounds once. Sources: IEEE 754-2019; the OCP 8-bit (E4M3, E5M2) and
// MX (E2M3, E3M2, E2M1, E8M0) specifications; AMD's CDNA 3 ISA for the FNUZ flavours (no infinity, no -0, NaN is 0x80).
// Functions with F16 and BF16 in their names compute the same as the templates, without branches, so that loops over
// lanes vectorise.
#pragma once
#include <cstdint>

namespace emu {

enum class Special : uint8_t {
  kIeee,  // the largest exponent holds infinities and NaNs
  kFn,    // only the largest code of each sign is NaN; no infinity
  kFnuz,  // the code of -0 is the one NaN; no infinity
  kNone,  // every code is a finite number
};

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Special special;

  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr uint32_t sign_bit() const { return 1u << (bits() - 1); }
  constexpr uint32_t max_finite() const {
    const uint32_t all = sign_bit() - 1;
    if (special == Special::kIeee) return (((1u << exponent_bits) - 1) << mantissa_bits) - 1;
    return special == Special::kFn ? all - 1 : all;
  }
  constexpr uint32_t nan() const {
    if (special == Special::kFnuz) return sign_bit();
    if (special == Special::kFn) return sign_bit() - 1;
    return max_finite() + 1 + (1u << (mantissa_bits - 1));
  }
};

inline constexpr Format kF16{5, 10, 15, Special::kIeee};
inline constexpr Format kBf16{8, 7, 127, Special::kIeee};
inline constexpr Format kE4m3{4, 3, 7, Special::kFn};
inline constexpr Format kE5m2{5, 2, 15, Special::kIeee};
inline constexpr Format kE4m3Fnuz{4, 3, 8, Special::kFnuz};
inline constexpr Format kE5m2Fnuz{5, 2, 16, Special::kFnuz};
inline constexpr Format kE2m3{2, 3, 1, Special::kNone};
inline constexpr Format kE3m2{3, 2, 3, Special::kNone};
inline constexpr Format kE2m1{2, 1, 1, Special::kNone};

// The values of MODE.round.
enum class Round : uint8_t { kNearestEven = 0, kUp = 1, kDown = 2, kZero = 3 };

constexpr uint32_t float_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
constexpr float bits_float(uint32_t x) { return __builtin_bit_cast(float, x); }

template <Format F>
constexpr float decode(uint32_t code) {
  const uint32_t sign = (code & F.sign_bit()) << (32 - F.bits());
  const uint32_t magnitude = code & (F.sign_bit() - 1);
  if constexpr (F.special == Special::kFnuz) {
    if (code == F.nan()) return bits_float(0x7fc00000u);
  } else if constexpr (F.special == Special::kFn) {
    if (magnitude > F.max_finite()) return bits_float(0x7fc00000u | sign);
  } else if constexpr (F.special == Special::kIeee) {
    if (magnitude > F.max_finite()) {
      const uint32_t payload = magnitude << (23 - F.mantissa_bits) & 0x7fffffu;
      return bits_float(sign | 0x7f800000u | payload | (payload ? 0x400000u : 0));
    }
  }
  if constexpr (F.exponent_bits == 8) return bits_float(sign | magnitude << (23 - F.mantissa_bits));
  const uint32_t exponent = magnitude >> F.mantissa_bits;
  const uint32_t mantissa = magnitude & ((1u << F.mantissa_bits) - 1);
  if (exponent == 0) {
    const float ulp = bits_float(static_cast<uint32_t>(127 + 1 - F.bias - F.mantissa_bits) << 23);
    return bits_float(sign | float_bits(static_cast<float>(mantissa) * ulp));
  }
  const uint32_t biased = exponent + static_cast<uint32_t>(127 - F.bias);
  return bits_float(sign | biased << 23 | mantissa << (23 - F.mantissa_bits));
}

// `shift` low bits of `significand` are dropped; returns what to add to the kept part (0 or 1).
constexpr uint32_t round_increment(uint32_t significand, int shift, Round mode, bool negative) {
  const uint32_t rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  switch (mode) {
    case Round::kNearestEven:
      return rest > half || (rest == half && (significand >> shift & 1));
    case Round::kUp:
      return rest != 0 && !negative;
    case Round::kDown:
      return rest != 0 && negative;
    case Round::kZero:
      return 0;
  }
  return 0;
}

// `saturate` is MODE.FP16_OVFL: a finite number too large for F becomes the largest finite one instead of infinity (or
// NaN, in a format without infinities). An infinity in the operand stays one, or becomes NaN.
template <Format F>
constexpr uint32_t encode(float x, Round mode = Round::kNearestEven, bool saturate = false) {
  const uint32_t bits = float_bits(x), magnitude = bits & 0x7fffffffu;
  const bool negative = bits >> 31;
  const uint32_t sign = negative ? F.sign_bit() : 0;
  if (magnitude >= 0x7f800000u) {
    if constexpr (F.special == Special::kNone) return sign | F.max_finite();
    if constexpr (F.special == Special::kFnuz) return F.nan();
    if constexpr (F.special == Special::kFn) return sign | F.nan();
    return sign | (magnitude == 0x7f800000u ? F.max_finite() + 1
                                            : F.nan() | ((magnitude & 0x7fffffu) >> (23 - F.mantissa_bits)));
  }
  const uint32_t biased = magnitude >> 23;
  const uint32_t significand = (magnitude & 0x7fffffu) | (biased ? 1u << 23 : 0);
  const int exponent = static_cast<int>(biased ? biased : 1) - 127 + F.bias;
  int shift = 23 - F.mantissa_bits + (exponent < 1 ? 1 - exponent : 0);
  if (shift > 26) shift = 26;  // 24 bits of significand: everything is below half an ulp already
  uint32_t code = (significand >> shift) + round_increment(significand, shift, mode, negative);
  if (exponent > 1) code += static_cast<uint32_t>(exponent - 1) << F.mantissa_bits;
  if (code > F.max_finite()) {
    const bool away = mode == Round::kNearestEven || mode == (negative ? Round::kDown : Round::kUp);
    if (saturate || !away || F.special == Special::kNone) return sign | F.max_finite();
    if constexpr (F.special == Special::kIeee) return sign | (F.max_finite() + 1);
    return F.special == Special::kFnuz ? F.nan() : sign | F.nan();
  }
  if (F.special == Special::kFnuz && code == 0) return 0;
  return sign | code;
}

inline float f16_to_f32(uint32_t h) {
  const uint32_t sign = (h & 0x8000u) << 16, shifted = (h & 0x7fffu) << 13;
  const uint32_t normal = shifted + (112u << 23);
  const uint32_t special = normal + (112u << 23) + ((shifted & 0x7fffffu) ? 0x400000u & ~shifted : 0);
  // 1.m * 2^-14 less 2^-14 leaves m, normalised by the subtraction.
  const uint32_t subnormal = float_bits(bits_float(shifted + (113u << 23)) - bits_float(113u << 23));
  const uint32_t exponent = h & 0x7c00u;
  const uint32_t finite = exponent == 0 ? subnormal : normal;
  return bits_float(sign | (exponent == 0x7c00u ? special : finite));
}

inline uint32_t f32_to_f16(float x) {
  const uint32_t bits = float_bits(x), a = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
  const uint32_t normal = (a + 0xfffu + (a >> 13 & 1) - (112u << 23)) >> 13;
  // An ulp of 0.5 is 2^-24, as is that of an f16 subnormal: the addition rounds.
  const uint32_t subnormal = float_bits(bits_float(a) + 0.5f) - 0x3f000000u;
  const uint32_t nan = 0x7e00u | (a >> 13 & 0x3ffu);
  const uint32_t small = a < 0x38800000u ? subnormal : normal;
  const uint32_t finite = a >= 0x47800000u ? 0x7c00u : small;
  return sign | (a > 0x7f800000u ? nan : finite);
}

inline float bf16_to_f32(uint32_t h) { return bits_float(h << 16); }

inline uint32_t f32_to_bf16(float x) {
  const uint32_t bits = float_bits(x);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return (bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 | 0x40u) : rounded;
}

// A block scale: 2^(code - 127), 0xff is NaN.
inline float e8m0_to_f32(uint32_t code) {
  if (code == 0xffu) return bits_float(0x7fc00000u);
  return bits_float(code ? code << 23 : 0x00400000u);
}

}  // namespace emu
