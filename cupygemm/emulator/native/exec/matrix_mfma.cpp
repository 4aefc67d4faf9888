// MFMA: D[b][M][M] = A[b][M][K] B[b][K][M] + C for each of `Blocks` blocks b, on CDNA, wave64. EXEC plays no part.
//
// Layouts, by the formulas of AMD's CDNA 3 ISA document (7.1.4) with p = K M Blocks / 64 elements of A and of B in a
// lane:
//   A, B  row or column lane % M; k = p (lane / M % (K / p)) + e; block lane / M / (K / p)
//   C, D  in bands of H = 4 rows (1 for binary64); see `Output`
// A, B, C and D may each be in VGPRs or in AGPRs, which the decoder numbers from 256.
// cbsz, abid: block b reads A of block (b with its low cbsz bits replaced by abid). blgp permutes B's lanes (binary64:
// negates operands).
#include "matrix.hpp"
#include "mfma.hpp"
#include "operands.hpp"
#include "ops.hpp"

namespace emu {
namespace {

using namespace matrix;
using W = Wave<64>;

// blgp: B's lane `l` as the instruction sees it.
constexpr int blgp_lane(int blgp, int l) {
  switch (blgp) {
    case 1:
      return l % 32;
    case 2:
      return 32 + l % 32;
    case 3:
      return (l + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7:
      return 16 * (blgp - 4) + l % 16;
    default:
      return l;
  }
}

template <class T>
struct Shape {
  int k, blocks, b_bits;
  UnpackRow<T> a, b;
};

// out[block * k + kk][row or column], the block being read from block source(block).
template <class T, int M, class Source>
void unpack_blocks(const u32 (*regs)[64], const Shape<T>& s, UnpackRow<T> unpack, Source source, T (*out)[M]) {
  const int per_lane = s.k * M * s.blocks / 64, groups = s.k / per_lane;
  for (int b = 0; b < s.blocks; b++) {
    for (int g = 0; g < groups; g++) {
      for (int e = 0; e < per_lane; e++) unpack(regs, M * (groups * source(b) + g), e, out[b * s.k + g * per_lane + e]);
    }
  }
}

template <class T, int M>
__attribute__((noinline)) void mfma_any(W& w, const Insn& i, const Shape<T>& s) {
  const IeeeScope ieee;
  alignas(64) T a[kMaxElements / M][M], b[kMaxElements / M][M], c[kMaxElements / M][M];
  const int group = (1 << i.cbsz) - 1;
  if (group >= s.blocks && i.cbsz)
    return trap(w, -1, "cbsz:%u broadcasts %d blocks of A, but there are %d", i.cbsz, group + 1, s.blocks);
  unpack_blocks<T, M>(
      w.v + i.src[0].reg, s, s.a, [&](int n) { return i.cbsz ? (n & ~group) + (i.abid & group) : n; }, a);

  constexpr bool kF64 = sizeof(T) == 8;
  alignas(64) u32 permuted[8][64];
  const u32(*b_regs)[64] = w.v + i.src[1].reg;
  if (i.blgp && !kF64) {
    for (int r = 0; r < s.k * M * s.blocks / 64 * s.b_bits / 32; r++) {
      for (int l = 0; l < 64; l++) permuted[r][l] = b_regs[r][blgp_lane(i.blgp, l)];
    }
    b_regs = permuted;
  }
  unpack_blocks<T, M>(b_regs, s, s.b, [](int n) { return n; }, b);
  Output<T, M>::load(w, i.src[2], s.blocks, c);
  if constexpr (kF64) {
    const int negated = i.blgp | i.neg_lo;
    if (negated & 1) negate<M>(a, s.k * s.blocks);
    if (negated & 2) negate<M>(b, s.k * s.blocks);
    if (negated & 4) negate<M>(c, M * s.blocks);
  }
  for (int n = 0; n < s.blocks; n++) multiply<M, M>(a + n * s.k, b + n * s.k, s.k, c + n * M);
  Output<T, M>::store(w, i.dst[0], s.blocks, c);
}

template <class E, int M, int K, int Blocks>
void mfma(W& w, const Insn& i) {
  using T = typename E::Value;
  mfma_any<T, M>(w, i, {K, Blocks, E::kBits, &unpack_row_of<E, M>, &unpack_row_of<E, M>});
}

// 8-bit floats are FNUZ on gfx942 and OCP on gfx950.
template <bool E4m3, int M>
UnpackRow<float> unpack_fp8(Arch arch) {
  if (arch == Arch::kCdna3) return &unpack_row_of<ElementSmall<E4m3 ? kE4m3Fnuz : kE5m2Fnuz>, M>;
  return &unpack_row_of<ElementSmall<E4m3 ? kE4m3 : kE5m2>, M>;
}

template <bool A4, bool B4, int M, int K>
void mfma_fp8(W& w, const Insn& i) {
  mfma_any<float, M>(w, i, {K, 1, 8, unpack_fp8<A4, M>(w.arch), unpack_fp8<B4, M>(w.arch)});
}

template <class E, int M, int K, int Blocks = 1>
constexpr OpRow mfma_row(const char* name) {
  using T = typename E::Value;
  constexpr const char* kSig = sizeof(T) == 8        ? "b256=b64,b64,f64"
                               : __is_same(T, float) ? "b512=b64,b64,f32"
                                                     : "b512=b64,b64,i32";
  return row(name, kSig, nullptr, &mfma<E, M, K, Blocks>, kOpMatrix);
}
template <bool A4, bool B4, int M, int K>
constexpr OpRow fp8_row(const char* name) {
  return row(name, "b512=b64,b64,f32", nullptr, &mfma_fp8<A4, B4, M, K>, kOpMatrix);
}

// gfx90a's names, then those from gfx942 on.
const OpRow kRows[] = {
    mfma_row<ElementF32, 32, 1, 2>("v_mfma_f32_32x32x1f32"),
    mfma_row<ElementF32, 32, 1, 2>("v_mfma_f32_32x32x1_2b_f32"),
    mfma_row<ElementF32, 16, 1, 4>("v_mfma_f32_16x16x1f32"),
    mfma_row<ElementF32, 16, 1, 4>("v_mfma_f32_16x16x1_4b_f32"),
    mfma_row<ElementF32, 4, 1, 16>("v_mfma_f32_4x4x1f32"),
    mfma_row<ElementF32, 4, 1, 16>("v_mfma_f32_4x4x1_16b_f32"),
    mfma_row<ElementF32, 32, 2>("v_mfma_f32_32x32x2f32"),
    mfma_row<ElementF32, 32, 2>("v_mfma_f32_32x32x2_f32"),
    mfma_row<ElementF32, 16, 4>("v_mfma_f32_16x16x4f32"),
    mfma_row<ElementF32, 16, 4>("v_mfma_f32_16x16x4_f32"),
    mfma_row<ElementXf32, 32, 4>("v_mfma_f32_32x32x4_xf32"),
    mfma_row<ElementXf32, 16, 8>("v_mfma_f32_16x16x8_xf32"),
    mfma_row<ElementF16, 32, 4, 2>("v_mfma_f32_32x32x4f16"),
    mfma_row<ElementF16, 32, 4, 2>("v_mfma_f32_32x32x4_2b_f16"),
    mfma_row<ElementF16, 16, 4, 4>("v_mfma_f32_16x16x4f16"),
    mfma_row<ElementF16, 16, 4, 4>("v_mfma_f32_16x16x4_4b_f16"),
    mfma_row<ElementF16, 4, 4, 16>("v_mfma_f32_4x4x4f16"),
    mfma_row<ElementF16, 4, 4, 16>("v_mfma_f32_4x4x4_16b_f16"),
    mfma_row<ElementF16, 32, 8>("v_mfma_f32_32x32x8f16"),
    mfma_row<ElementF16, 32, 8>("v_mfma_f32_32x32x8_f16"),
    mfma_row<ElementF16, 16, 16>("v_mfma_f32_16x16x16f16"),
    mfma_row<ElementF16, 16, 16>("v_mfma_f32_16x16x16_f16"),
    mfma_row<ElementF16, 32, 16>("v_mfma_f32_32x32x16_f16"),
    mfma_row<ElementF16, 16, 32>("v_mfma_f32_16x16x32_f16"),
    mfma_row<ElementBf16, 32, 2, 2>("v_mfma_f32_32x32x2bf16"),
    mfma_row<ElementBf16, 16, 2, 4>("v_mfma_f32_16x16x2bf16"),
    mfma_row<ElementBf16, 4, 2, 16>("v_mfma_f32_4x4x2bf16"),
    mfma_row<ElementBf16, 32, 4>("v_mfma_f32_32x32x4bf16"),
    mfma_row<ElementBf16, 16, 8>("v_mfma_f32_16x16x8bf16"),
    mfma_row<ElementBf16, 32, 4, 2>("v_mfma_f32_32x32x4bf16_1k"),
    mfma_row<ElementBf16, 32, 4, 2>("v_mfma_f32_32x32x4_2b_bf16"),
    mfma_row<ElementBf16, 16, 4, 4>("v_mfma_f32_16x16x4bf16_1k"),
    mfma_row<ElementBf16, 16, 4, 4>("v_mfma_f32_16x16x4_4b_bf16"),
    mfma_row<ElementBf16, 4, 4, 16>("v_mfma_f32_4x4x4bf16_1k"),
    mfma_row<ElementBf16, 4, 4, 16>("v_mfma_f32_4x4x4_16b_bf16"),
    mfma_row<ElementBf16, 32, 8>("v_mfma_f32_32x32x8bf16_1k"),
    mfma_row<ElementBf16, 32, 8>("v_mfma_f32_32x32x8_bf16"),
    mfma_row<ElementBf16, 16, 16>("v_mfma_f32_16x16x16bf16_1k"),
    mfma_row<ElementBf16, 16, 16>("v_mfma_f32_16x16x16_bf16"),
    mfma_row<ElementBf16, 32, 16>("v_mfma_f32_32x32x16_bf16"),
    mfma_row<ElementBf16, 16, 32>("v_mfma_f32_16x16x32_bf16"),
    mfma_row<ElementI8, 32, 4, 2>("v_mfma_i32_32x32x4i8"),
    mfma_row<ElementI8, 32, 4, 2>("v_mfma_i32_32x32x4_2b_i8"),
    mfma_row<ElementI8, 16, 4, 4>("v_mfma_i32_16x16x4i8"),
    mfma_row<ElementI8, 16, 4, 4>("v_mfma_i32_16x16x4_4b_i8"),
    mfma_row<ElementI8, 4, 4, 16>("v_mfma_i32_4x4x4i8"),
    mfma_row<ElementI8, 4, 4, 16>("v_mfma_i32_4x4x4_16b_i8"),
    mfma_row<ElementI8, 32, 8>("v_mfma_i32_32x32x8i8"),
    mfma_row<ElementI8, 16, 16>("v_mfma_i32_16x16x16i8"),
    mfma_row<ElementI8, 32, 16>("v_mfma_i32_32x32x16_i8"),
    mfma_row<ElementI8, 16, 32>("v_mfma_i32_16x16x32_i8"),
    mfma_row<ElementI8, 32, 32>("v_mfma_i32_32x32x32_i8"),
    mfma_row<ElementI8, 16, 64>("v_mfma_i32_16x16x64_i8"),
    mfma_row<ElementF64, 16, 4>("v_mfma_f64_16x16x4f64"),
    mfma_row<ElementF64, 16, 4>("v_mfma_f64_16x16x4_f64"),
    mfma_row<ElementF64, 4, 4, 4>("v_mfma_f64_4x4x4f64"),
    mfma_row<ElementF64, 4, 4, 4>("v_mfma_f64_4x4x4_4b_f64"),
    fp8_row<true, true, 16, 32>("v_mfma_f32_16x16x32_fp8_fp8"),
    fp8_row<true, false, 16, 32>("v_mfma_f32_16x16x32_fp8_bf8"),
    fp8_row<false, true, 16, 32>("v_mfma_f32_16x16x32_bf8_fp8"),
    fp8_row<false, false, 16, 32>("v_mfma_f32_16x16x32_bf8_bf8"),
    fp8_row<true, true, 32, 16>("v_mfma_f32_32x32x16_fp8_fp8"),
    fp8_row<true, false, 32, 16>("v_mfma_f32_32x32x16_fp8_bf8"),
    fp8_row<false, true, 32, 16>("v_mfma_f32_32x32x16_bf8_fp8"),
    fp8_row<false, false, 32, 16>("v_mfma_f32_32x32x16_bf8_bf8"),
};

}  // namespace

OpTable mfma_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
