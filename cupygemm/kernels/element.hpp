// Element types beside float, and the conversions of results.
#pragma once
#include "vec.hpp"

namespace cg {

using f32 = float;
using f64 = double;
#if CG_AMD
using f16 = _Float16;
#endif
using i8 = signed char;

// A bfloat16's bits. Kernels move and convert them; arithmetic is the matrix unit's.
struct bf16 {
  u16 bits;
  bf16() = default;
  CG_MEMBER constexpr explicit bf16(int zero) : bits(static_cast<u16>(zero)) {}
};

// An 8-bit float's bits: E4M3 and E5M2, in the flavour that the target's matrix unit takes.
template <int kMantissa>
struct Float8 {
  u8 bits;
  Float8() = default;
  CG_MEMBER constexpr explicit Float8(int zero) : bits(static_cast<u8>(zero)) {}
};
using e4m3 = Float8<3>;
using e5m2 = Float8<2>;

// What an instruction multiplies where A and B have different formats.
template <class A, class B>
struct Mixed {};

template <class Out, class In>
struct Convert {
  CG_DEVICE Out from(In x) { return static_cast<Out>(x); }
};
template <>
struct Convert<bf16, float> {
  // Round to nearest, ties to even; a NaN stays one, which the addition could otherwise carry into infinity.
  CG_DEVICE bf16 from(float x) {
    const u32 bits = bit_cast<u32>(x);
    const u32 rounded = bits + 0x7fff + (bits >> 16 & 1);
    bf16 out;
    out.bits = static_cast<u16>((x == x ? rounded : bits | 0x400000) >> 16);
    return out;
  }
};
template <>
struct Convert<float, bf16> {
  CG_DEVICE float from(bf16 x) {
    const u32 bits = static_cast<u32>(x.bits) << 16;
    return bit_cast<float>(bits);
  }
};
template <>
struct Convert<bf16, bf16> {
  CG_DEVICE bf16 from(bf16 x) { return x; }
};

template <class Out, class In>
CG_DEVICE Out convert(In x) {
  return Convert<Out, In>::from(x);
}

}  // namespace cg
