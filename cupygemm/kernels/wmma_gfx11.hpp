// WMMA of RDNA 3 and 3.5 (gfx11), wave32: 16 x 16 x 16, D[n][m] += B[n][k] * A[m][k] with the operands' places
// exchanged, so that a lane holds columns of one row of C.
//
// Layouts: AMD matrix instruction calculator, RDNA 3. Both operands: lane % 16 is the row, and each lane holds all 16
// values of K; the halves of the wave hold the same. Results: lane % 16 is m, register r holds n = 2 * r + lane / 16; a
// 16-bit result takes the lower half of a register of its own.
#pragma once
#include "element.hpp"
#include "vec.hpp"

namespace cg {

typedef u32 U32x4 __attribute__((ext_vector_type(4)));
typedef u32 U32x8 __attribute__((ext_vector_type(8)));
typedef _Float16 F16x16 __attribute__((ext_vector_type(16)));
typedef short I16x16 __attribute__((ext_vector_type(16)));
typedef float F32x8 __attribute__((ext_vector_type(8)));
typedef int I32x4 __attribute__((ext_vector_type(4)));
typedef int I32x8 __attribute__((ext_vector_type(8)));

template <class T, class Sum>
struct WmmaGfx11 {
  static constexpr int kTile = 16;
  static constexpr int kReads = sizeof(T), kStepChunks = kReads;  // 16 values of K: one chunk of bytes, two of halves
  using Fragment = typename Select<kReads == 1, U32x4, U32x8>::type;
  using Result = Sum;
  using Accumulator = typename Select<sizeof(Sum) == 4, typename Select<sizeof(T) == 1, I32x8, F32x8>::type,
                                      typename Select<__is_same(Sum, bf16), I16x16, F16x16>::type>::type;

  CG_DEVICE int lane_row(int lane) { return lane % 16; }
  CG_DEVICE int lane_chunk(int) { return 0; }

  CG_DEVICE void multiply(Accumulator& d, const Fragment& a, const Fragment& b) {
    if constexpr (__is_same(T, i8)) {
      d = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, bit_cast<I32x4>(b), true, bit_cast<I32x4>(a), d, false);
    } else if constexpr (__is_same(T, f16)) {
      const F16x16 x = bit_cast<F16x16>(b), y = bit_cast<F16x16>(a);
      if constexpr (__is_same(Sum, float)) d = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, d);
      if constexpr (__is_same(Sum, f16)) d = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(x, y, d, false);
    } else {
      static_assert(__is_same(T, bf16), "gfx11's WMMA takes f16, bf16 and i8");
      const I16x16 x = bit_cast<I16x16>(b), y = bit_cast<I16x16>(a);
      if constexpr (__is_same(Sum, float)) d = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x, y, d);
      if constexpr (__is_same(Sum, bf16)) d = __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32(x, y, d, false);
    }
  }

  // This lane's 8 columns of the result, from column 8 * (lane / 16) on, in row lane % 16. The lower half of the wave
  // holds the even columns and the upper half the odd ones, so each gives the other 4 of its 8.
  static constexpr int kColumns = 8;
  CG_DEVICE int lane_column(int lane) { return lane / 16 * 8; }
  CG_DEVICE void columns(Sum (&to)[8], const Accumulator& d, int lane) {
    const bool upper = lane >= 16;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u32 low = word(d, i), high = word(d, i + 4);
      const u32 mine = upper ? high : low;
      const u32 given = __builtin_amdgcn_permlanex16(0u, upper ? low : high, 0x76543210u, 0xfedcba98u, true, false);
      to[2 * i] = sum(upper ? given : mine);
      to[2 * i + 1] = sum(upper ? mine : given);
    }
  }

 private:
  CG_DEVICE u32 word(const Accumulator& d, int i) { return bit_cast<U32x8>(d)[i]; }
  CG_DEVICE Sum sum(u32 word) {
    if constexpr (sizeof(Sum) == 4) {
      return bit_cast<Sum>(word);
    } else {
      return bit_cast<Sum>(static_cast<u16>(word));
    }
  }
};

}  // namespace cg
