// MFMA, CDNA's matrix instructions: one struct an instruction.
//
// Layouts are those of AMD's matrix instruction calculator. Of a kTile x kTile result, lane l holds column l % kTile;
// register r holds row 8 * (r / 4) + 4 * (l / kTile) + r % 4 where kTile is 32, row 4 * (l / kTile) + r where it is 16
// (4 * r + l / 16 in binary64). Of an operand, lane l holds row or column l % kTile, and the kGroups lanes that share
// it hold kBytes of K each, one after another.
#pragma once
#include "element.hpp"
#include "vec.hpp"

namespace cg {

typedef u32 Words4 __attribute__((ext_vector_type(4)));

template <class T, int N>
struct Packed {
  typedef T type __attribute__((ext_vector_type(N)));
};

// kRun rows of a result lie in neighbouring registers of a lane, runs kRunStep rows apart.
template <class In_, class Sum_, int kTile_, int kBytes_>
struct MfmaShape {
  static constexpr int kTile = kTile_, kBytes = kBytes_, kGroups = 64 / kTile, kSums = kTile * kTile / 64;
  static constexpr int kRun = 4, kRunStep = 8;
  using In = In_;
  using Sum = Sum_;
  using Sums = typename Packed<Sum, kSums>::type;
};

using Half4 = Packed<_Float16, 4>::type;
using Short4 = Packed<short, 4>::type;

// The instruction for elements of type T that takes kBytes of each operand a lane.
template <class T, int kTile, int kBytes>
struct Mfma;

template <>
struct Mfma<f16, 16, 8> : MfmaShape<Half4, float, 16, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<f16, 32, 8> : MfmaShape<Half4, float, 32, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<bf16, 16, 8> : MfmaShape<Short4, float, 16, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<bf16, 32, 8> : MfmaShape<Short4, float, 32, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, c, 0, 0, 0); }
};

// Binary32 and binary64 instructions keep subnormal operands and results.
template <>
struct Mfma<float, 16, 4> : MfmaShape<float, float, 16, 4> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_16x16x4f32(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<float, 32, 4> : MfmaShape<float, float, 32, 4> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_32x32x2f32(x, y, c, 0, 0, 0); }
};

template <>
struct Mfma<double, 16, 8> : MfmaShape<double, double, 16, 8> {
  static constexpr int kRun = 1, kRunStep = 4;
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f64_16x16x4f64(x, y, c, 0, 0, 0); }
};

#if defined(__gfx942__) || defined(__gfx950__)
using Int8x8 = i64;

template <>
struct Mfma<i8, 16, 8> : MfmaShape<Int8x8, int, 16, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_i32_16x16x32_i8(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<i8, 32, 8> : MfmaShape<Int8x8, int, 32, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_i32_32x32x16_i8(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<e4m3, 16, 8> : MfmaShape<Int8x8, float, 16, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<e4m3, 32, 8> : MfmaShape<Int8x8, float, 32, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<e5m2, 16, 8> : MfmaShape<Int8x8, float, 16, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<e5m2, 32, 8> : MfmaShape<Int8x8, float, 32, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(x, y, c, 0, 0, 0); }
};
// B comes first (mfma.hpp).
template <>
struct Mfma<Mixed<e4m3, e5m2>, 16, 8> : MfmaShape<Int8x8, float, 16, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<Mixed<e4m3, e5m2>, 32, 8> : MfmaShape<Int8x8, float, 32, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<Mixed<e5m2, e4m3>, 16, 8> : MfmaShape<Int8x8, float, 16, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<Mixed<e5m2, e4m3>, 32, 8> : MfmaShape<Int8x8, float, 32, 8> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(x, y, c, 0, 0, 0); }
};
#endif

#if defined(__gfx950__)
using Half8 = Packed<_Float16, 8>::type;
using Brain8 = Packed<__bf16, 8>::type;

template <>
struct Mfma<f16, 16, 16> : MfmaShape<Half8, float, 16, 16> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_16x16x32_f16(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<f16, 32, 16> : MfmaShape<Half8, float, 32, 16> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_32x32x16_f16(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<bf16, 16, 16> : MfmaShape<Brain8, float, 16, 16> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_16x16x32_bf16(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<bf16, 32, 16> : MfmaShape<Brain8, float, 32, 16> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_f32_32x32x16_bf16(x, y, c, 0, 0, 0); }
};

using Int8x16 = Packed<int, 4>::type;
using Float8x32 = Packed<int, 8>::type;

template <>
struct Mfma<i8, 16, 16> : MfmaShape<Int8x16, int, 16, 16> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_i32_16x16x64_i8(x, y, c, 0, 0, 0); }
};
template <>
struct Mfma<i8, 32, 16> : MfmaShape<Int8x16, int, 32, 16> {
  CG_DEVICE Sums multiply(In x, In y, Sums c) { return __builtin_amdgcn_mfma_i32_32x32x32_i8(x, y, c, 0, 0, 0); }
};

// The instructions that take any mixture of 8-, 6- and 4-bit formats, by type codes. Scales of zero select the form
// without block scales.
template <class T>
struct Formats {
  static constexpr int kA = __is_same(T, e5m2) ? 1 : 0, kB = kA;
};
template <class A, class B>
struct Formats<Mixed<A, B>> {
  static constexpr int kA = Formats<A>::kA, kB = Formats<B>::kA;
};

template <class T>
struct Mfma<T, 16, 32> : MfmaShape<Float8x32, float, 16, 32> {
  using Base = MfmaShape<Float8x32, float, 16, 32>;
  CG_DEVICE typename Base::Sums multiply(Float8x32 x, Float8x32 y, typename Base::Sums c) {
    return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(x, y, c, Formats<T>::kB, Formats<T>::kA, 0, 0, 0, 0);
  }
  // With the E8M0 scales in byte kByte of x_scale and y_scale.
  template <int kByte>
  CG_DEVICE typename Base::Sums multiply_scaled(Float8x32 x, Float8x32 y, typename Base::Sums c, int x_scale,
                                                int y_scale) {
    return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(x, y, c, Formats<T>::kB, Formats<T>::kA, kByte, x_scale,
                                                            kByte, y_scale);
  }
};
template <class T>
struct Mfma<T, 32, 32> : MfmaShape<Float8x32, float, 32, 32> {
  using Base = MfmaShape<Float8x32, float, 32, 32>;
  CG_DEVICE typename Base::Sums multiply(Float8x32 x, Float8x32 y, typename Base::Sums c) {
    return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(x, y, c, Formats<T>::kB, Formats<T>::kA, 0, 0, 0, 0);
  }
  // With the E8M0 scales in byte kByte of x_scale and y_scale.
  template <int kByte>
  CG_DEVICE typename Base::Sums multiply_scaled(Float8x32 x, Float8x32 y, typename Base::Sums c, int x_scale,
                                                int y_scale) {
    return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(x, y, c, Formats<T>::kB, Formats<T>::kA, kByte, x_scale,
                                                           kByte, y_scale);
  }
};
#endif

}  // namespace cg
