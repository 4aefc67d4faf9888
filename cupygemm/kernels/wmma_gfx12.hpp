// WMMA of RDNA 4 (gfx12), wave32: 16 x 16 x 16, D[n][m] += B[n][k] * A[m][k] with the operands' places exchanged, so
// that a lane holds consecutive columns of C.
//
// Layouts: AMD matrix instruction calculator, RDNA 4. Both operands: lane % 16 is the row; the halves of the wave hold
// 8 values of K each. Which 8 is free as long as A and B agree, so each half takes one 16-byte chunk. Results: lane %
// 16 is m, register r holds n = 8 * (lane / 16) + r.
#pragma once
#include "element.hpp"
#include "vec.hpp"

namespace cg {

typedef u32 U32x4 __attribute__((ext_vector_type(4)));
typedef _Float16 F16x8 __attribute__((ext_vector_type(8)));
typedef short I16x8 __attribute__((ext_vector_type(8)));
typedef float F32x8 __attribute__((ext_vector_type(8)));
typedef int I32x2 __attribute__((ext_vector_type(2)));
typedef int I32x8 __attribute__((ext_vector_type(8)));

using E4m3E5m2 = Mixed<e4m3, e5m2>;
using E5m2E4m3 = Mixed<e5m2, e4m3>;

template <class T, class Sum>
struct WmmaGfx12 {
  static constexpr int kTile = 16;
  static constexpr int kStepChunks = 2;  // of K, in a fragment
  static constexpr int kReads = 1;       // of them a lane reads this many
  using Fragment = U32x4;
  using Result = Sum;
  using Accumulator = typename Select<sizeof(Sum) == 4, typename Select<__is_same(Sum, int), I32x8, F32x8>::type,
                                      typename Select<__is_same(Sum, bf16), I16x8, F16x8>::type>::type;

  CG_DEVICE int lane_row(int lane) { return lane % 16; }
  CG_DEVICE int lane_chunk(int lane) { return lane / 16; }

  CG_DEVICE void multiply(Accumulator& d, U32x4 a, U32x4 b) {
    if constexpr (__is_same(T, i8)) {
      // Two instructions for the 32 values of K: the first takes the lower 8 bytes of each chunk.
      d = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, I32x2{(int)b[0], (int)b[1]}, true,
                                                           I32x2{(int)a[0], (int)a[1]}, d, false);
      d = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, I32x2{(int)b[2], (int)b[3]}, true,
                                                           I32x2{(int)a[2], (int)a[3]}, d, false);
    } else if constexpr (__is_same(T, e4m3) || __is_same(T, e5m2) || __is_same(T, E4m3E5m2) || __is_same(T, E5m2E4m3)) {
      const I32x2 x[2] = {{(int)b[0], (int)b[1]}, {(int)b[2], (int)b[3]}};
      const I32x2 y[2] = {{(int)a[0], (int)a[1]}, {(int)a[2], (int)a[3]}};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if constexpr (__is_same(T, e4m3)) d = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(x[i], y[i], d);
        if constexpr (__is_same(T, e5m2)) d = __builtin_amdgcn_wmma_f32_16x16x16_bf8_bf8_w32_gfx12(x[i], y[i], d);
        if constexpr (__is_same(T, E4m3E5m2)) d = __builtin_amdgcn_wmma_f32_16x16x16_bf8_fp8_w32_gfx12(x[i], y[i], d);
        if constexpr (__is_same(T, E5m2E4m3)) d = __builtin_amdgcn_wmma_f32_16x16x16_fp8_bf8_w32_gfx12(x[i], y[i], d);
      }
    } else if constexpr (__is_same(T, f16)) {
      const F16x8 x = bit_cast<F16x8>(b), y = bit_cast<F16x8>(a);
      if constexpr (__is_same(Sum, float)) d = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, d);
      if constexpr (__is_same(Sum, f16)) d = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(x, y, d);
    } else {
      static_assert(__is_same(T, bf16), "gfx12's WMMA takes f16, bf16, i8, e4m3 and e5m2");
      const I16x8 x = bit_cast<I16x8>(b), y = bit_cast<I16x8>(a);
      if constexpr (__is_same(Sum, float)) d = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(x, y, d);
      if constexpr (__is_same(Sum, bf16)) d = __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32_gfx12(x, y, d);
    }
  }

  // This lane's 8 columns of the result, from column 8 * (lane / 16) on, in row lane % 16.
  static constexpr int kColumns = 8;
  CG_DEVICE int lane_column(int lane) { return lane / 16 * 8; }
  CG_DEVICE void columns(Sum (&to)[8], const Accumulator& d, int) {
#pragma unroll
    for (int i = 0; i < 8; ++i) to[i] = bit_cast<Sum>(d[i]);
  }
};

}  // namespace cg
