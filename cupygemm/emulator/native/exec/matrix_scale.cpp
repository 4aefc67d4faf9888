// gfx950's v_mfma_[scale_]f32_{16x16x128,32x32x64}_f8f6f4: 8-, 6- and 4-bit floats in any mix, with an E8M0 scale for
// 32 values of k.
//
// cbsz and blgp name the formats of A and B: 0 E4M3, 1 E5M2, 2 E2M3, 3 E3M2, 4 E2M1, all OCP. Layouts (as
// composable_kernel's tests of the instruction have them), with G = 4 (M = 16) or 2 (M = 32) groups of lanes and 32
// elements e a lane:
//   8-bit A, B        k = 16 (lane / M) + 16 G (e / 16) + e % 16
//   6- and 4-bit A, B k = 32 (lane / M) + e
//   scale of k        lane row + M (k / 32), byte op_sel + 2 op_sel_hi of the scale operand
//   C, D              as every MFMA of the size
// Each element is multiplied by its scale in binary32 before the product; for scales within 2^+-60 that is exact.
#include "mfma.hpp"
#include "ops.hpp"

namespace emu {
namespace {

using namespace matrix;
using W = Wave<64>;

constexpr int kPerLane = 32;

template <int M>
UnpackRow<float> unpack_of(int format) {
  switch (format) {
    case 0:
      return &unpack_row_of<ElementSmall<kE4m3>, M>;
    case 1:
      return &unpack_row_of<ElementSmall<kE5m2>, M>;
    case 2:
      return &unpack_row_of<ElementSmall<kE2m3>, M>;
    case 3:
      return &unpack_row_of<ElementSmall<kE3m2>, M>;
    case 4:
      return &unpack_row_of<ElementSmall<kE2m1>, M>;
    default:
      return nullptr;
  }
}

template <int M>
void unpack_operand(const W& w, const Operand& o, int format, float (*out)[M]) {
  const UnpackRow<float> unpack = unpack_of<M>(format);
  constexpr int kGroups = 64 / M;
  for (int g = 0; g < kGroups; g++) {
    for (int e = 0; e < kPerLane; e++) {
      const int k = format < 2 ? 16 * g + 16 * kGroups * (e / 16) + e % 16 : kPerLane * g + e;
      unpack(w.v + o.reg, M * g, e, out[k]);
    }
  }
}

template <int M>
void apply_scale(const W& w, const Operand& o, int byte, float (*m)[M]) {
  alignas(64) u32 tmp[64];
  const u32* scales = read_lanes(w, o, 0, tmp);
  constexpr int kDepth = kPerLane * 64 / M;
  for (int k = 0; k < kDepth; k++) {
    for (int n = 0; n < M; n++) m[k][n] *= e8m0_to_f32(scales[n + M * (k / 32)] >> 8 * byte & 0xff);
  }
}

template <int M, bool Scaled>
void f8f6f4(W& w, const Insn& i) {
  const IeeeScope ieee;
  constexpr int kDepth = kPerLane * 64 / M;
  alignas(64) float a[kDepth][M], b[kDepth][M], c[M][M];
  if (i.cbsz > 4 || i.blgp > 4) return trap(w, -1, "formats cbsz:%u blgp:%u are not defined", i.cbsz, i.blgp);
  unpack_operand<M>(w, i.src[0], i.cbsz, a);
  unpack_operand<M>(w, i.src[1], i.blgp, b);
  if (Scaled) {
    apply_scale<M>(w, i.src[3], (i.op_sel & 1) + 2 * (i.op_sel_hi & 1), a);
    apply_scale<M>(w, i.src[4], (i.op_sel >> 1 & 1) + 2 * (i.op_sel_hi >> 1 & 1), b);
  }
  Output<float, M>::load(w, i.src[2], 1, c);
  multiply<M, M>(a, b, kDepth, c);
  Output<float, M>::store(w, i.dst[0], 1, c);
}

const OpRow kRows[] = {
    row("v_mfma_f32_16x16x128_f8f6f4", "b128=b256,b256,f32", nullptr, &f8f6f4<16, false>, kOpMatrix),
    row("v_mfma_f32_32x32x64_f8f6f4", "b512=b256,b256,f32", nullptr, &f8f6f4<32, false>, kOpMatrix),
    row("v_mfma_scale_f32_16x16x128_f8f6f4", "b128=b256,b256,f32,b32,b32", nullptr, &f8f6f4<16, true>, kOpMatrix),
    row("v_mfma_scale_f32_32x32x64_f8f6f4", "b512=b256,b256,f32,b32,b32", nullptr, &f8f6f4<32, true>, kOpMatrix),
};

}  // namespace

OpTable mfma_scale_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
