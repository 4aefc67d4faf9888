// The accumulator of an MFMA instruction: C and D in 64 lanes.
#pragma once
#include "matrix.hpp"
#include "operands.hpp"

namespace emu::matrix {

// One row of a fragment: element `e` of M neighbouring lanes.
template <class T>
using UnpackRow = void (*)(const u32 (*regs)[64], int first_lane, int e, T* out);

template <class E, int M>
void unpack_row_of(const u32 (*regs)[64], int first_lane, int e, typename E::Value* out) {
  unpack_row<E, M, 64>(regs, first_lane, e, out);
}

// A, B or C holds at most 2048 elements: 32 a lane.
constexpr int kMaxElements = 2048;

// Rows lie in bands of H, 4 rows or, in binary64, 1 (CDNA 3 ISA, 7.1.4.2): element (i, j) of block b is in lane
// j + M (i / H % m + m (b % across)), register i % H + H (i / (H m) + g (b / across)), where m bands of `across` blocks
// fit side by side into the 64 lanes and g bands are stacked.
template <class T, int M>
struct Output {
  static constexpr int kH = sizeof(T) == 8 ? 1 : 4, kDwords = sizeof(T) / 4;
  static constexpr int kBlocksAcross = (64 + M * M / kH - 1) / (M * M / kH);
  static constexpr int kBandsAcross = 64 / kBlocksAcross / M;
  static constexpr int kBandsDown = M / (kH * kBandsAcross);

  static constexpr int lane(int b, int i) { return M * (i / kH % kBandsAcross + kBandsAcross * (b % kBlocksAcross)); }
  static constexpr int item(int b, int i) {
    return i % kH + kH * (i / (kH * kBandsAcross) + kBandsDown * (b / kBlocksAcross));
  }

  // c[b * M + i][j]
  static void load(const Wave<64>& w, const Operand& o, int blocks, T (*c)[M]) {
    for (int r = 0; r < blocks * M; r++) {
      const int reg = o.reg + item(r / M, r % M) * kDwords, first = lane(r / M, r % M);
      for (int j = 0; j < M; j++) {
        u32 words[kDwords];
        for (int d = 0; d < kDwords; d++) {
          words[d] = o.kind == Kind::kVgpr ? w.v[reg + d][first + j] : static_cast<u32>(o.value >> 32 * d);
        }
        memcpy(&c[r][j], words, sizeof(T));
      }
    }
  }

  static void store(Wave<64>& w, const Operand& o, int blocks, const T (*c)[M]) {
    for (int r = 0; r < blocks * M; r++) {
      const int reg = o.reg + item(r / M, r % M) * kDwords, first = lane(r / M, r % M);
      for (int j = 0; j < M; j++) {
        u32 words[kDwords];
        memcpy(words, &c[r][j], sizeof(T));
        for (int d = 0; d < kDwords; d++) w.v[reg + d][first + j] = words[d];
      }
    }
  }
};

}  // namespace emu::matrix
