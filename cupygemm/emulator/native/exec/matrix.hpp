// What every matrix instruction shares: element types, unpacking of register fragments into matrices, and the product.
//
// A fragment is unpacked to matrix[k][row or column], contiguous over the lanes that hold neighbouring rows or columns,
// so that unpacking and product both vectorise. The sum of one element of D starts from C and takes k in ascending
// order, each step one fused multiply-add in the accumulator's type (binary32, binary64 or integers modulo 2^32).
// Hardware promises no order. Subnormal operands and results are kept.
#pragma once
#include "convert.hpp"
#include "machine.hpp"

namespace emu::matrix {

template <class T, int N>
using Vec = T __attribute__((ext_vector_type(N)));

// All values of an 8-bit or narrower format, so that decoding is one load.
template <Format F>
struct DecodeTable {
  float value[1 << F.bits()];
  constexpr DecodeTable() : value() {
    for (u32 code = 0; code < 1u << F.bits(); code++) value[code] = decode<F>(code);
  }
};
template <Format F>
inline constexpr DecodeTable<F> kDecodeTable{};

// Element types: `kBits` wide in the register, decoded by `value`.
struct ElementF32 {
  using Value = float;
  static constexpr int kBits = 32;
  static Value value(u32 x) { return bits_float(x); }
};
// 19 bits reach the multiplier; the operand is rounded to nearest even (the ISA does not say how).
struct ElementXf32 {
  using Value = float;
  static constexpr int kBits = 32;
  static Value value(u32 x) {
    const u32 rounded = (x + 0xfffu + (x >> 13 & 1)) & ~0x1fffu;
    return bits_float((x & 0x7f800000u) == 0x7f800000u ? x : rounded);
  }
};
struct ElementF16 {
  using Value = float;
  static constexpr int kBits = 16;
  static Value value(u32 x) { return f16_to_f32(x); }
};
struct ElementBf16 {
  using Value = float;
  static constexpr int kBits = 16;
  static Value value(u32 x) { return bf16_to_f32(x); }
};
template <Format F>
struct ElementSmall {
  using Value = float;
  static constexpr int kBits = F.bits();
  static Value value(u32 x) { return kDecodeTable<F>.value[x]; }
};
template <int Bits, bool Signed>
struct ElementInt {
  using Value = u32;
  static constexpr int kBits = Bits;
  static Value value(u32 x) { return Signed ? static_cast<u32>(static_cast<i32>(x << (32 - Bits)) >> (32 - Bits)) : x; }
};
using ElementI8 = ElementInt<8, true>;
struct ElementF64 {
  using Value = double;
  static constexpr int kBits = 64;
};

// Element `e` (counted from bit 0 of the first register) of N neighbouring lanes.
template <class E, int N, int L>
inline void unpack_row(const u32 (*regs)[L], int first_lane, int e, typename E::Value* out) {
  if constexpr (E::kBits == 64) {
    for (int n = 0; n < N; n++) {
      const u64 bits = regs[2 * e][first_lane + n] | static_cast<u64>(regs[2 * e + 1][first_lane + n]) << 32;
      out[n] = __builtin_bit_cast(double, bits);
    }
  } else {
    constexpr u32 kMask = E::kBits == 32 ? ~0u : (1u << E::kBits % 32) - 1;
    const int word = e * E::kBits / 32, shift = e * E::kBits % 32;
    const u32* low = regs[word] + first_lane;
    if (shift + E::kBits <= 32) {
      for (int n = 0; n < N; n++) out[n] = E::value(low[n] >> shift & kMask);
    } else {
      const u32* high = regs[word + 1] + first_lane;
      for (int n = 0; n < N; n++) out[n] = E::value((low[n] >> shift | high[n] << (32 - shift)) & kMask);
    }
  }
}

// c[M][N] += a[k][M]^T b[k][N] over k < count, four rows at a time so that their sums stay in vector registers.
template <int M, int N, class T>
__attribute__((noinline)) void multiply(const T (*a)[M], const T (*b)[N], int count, T (*c)[N]) {
  constexpr int kWidth = N < 16 ? N : 16, kRows = 4;
  using V = Vec<T, kWidth>;
  for (int i = 0; i < M; i += kRows) {
    for (int j = 0; j < N; j += kWidth) {
      V sum[kRows];
#pragma unroll
      for (int r = 0; r < kRows; r++) memcpy(&sum[r], &c[i + r][j], sizeof(V));
      for (int k = 0; k < count; k++) {
        V row;
        memcpy(&row, &b[k][j], sizeof(V));
#pragma unroll
        for (int r = 0; r < kRows; r++) {
          if constexpr (__is_same(T, u32)) {
            sum[r] += a[k][i + r] * row;
          } else {
            sum[r] = __builtin_elementwise_fma(V(a[k][i + r]), row, sum[r]);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < kRows; r++) memcpy(&c[i + r][j], &sum[r], sizeof(V));
    }
  }
}

// Every element of `groups` groups of N lanes, the first of which starts at `first_lane`: out[k_of(group,
// element)][lane of the group].
template <class E, int N, int L, class KOf>
inline void unpack(const u32 (*regs)[L], int first_lane, int groups, int per_lane, KOf k_of,
                   typename E::Value (*out)[N]) {
  for (int g = 0; g < groups; g++) {
    for (int e = 0; e < per_lane; e++) unpack_row<E, N, L>(regs, first_lane + g * N, e, out[k_of(g, e)]);
  }
}

// Rows first, first + step, ... below `count` change their sign.
template <int N, class T>
inline void negate(T (*m)[N], int count, int first = 0, int step = 1) {
  for (int k = first; k < count; k += step) {
    for (int n = 0; n < N; n++) m[k][n] = -m[k][n];
  }
}

}  // namespace emu::matrix
