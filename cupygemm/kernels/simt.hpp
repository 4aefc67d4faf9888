// ScalarFMA, the ComputePolicy of ordinary FMAs: every thread computes a kThreadM x kThreadN piece of C as sums of
// outer products.
#pragma once
#include "vec.hpp"

namespace cg {

// kWavesM x kWavesN waves share the block tile; kLanesM x kLanesN lanes share a wave's part. A thread's rows come in
// groups of 4, one group every 4 * kLanesM rows, and its columns likewise: then the lanes of a wave read consecutive
// 128-bit words of LDS, without bank conflicts, and lanes that need the same word share one read.
template <class A, class B, int kWavesM, int kWavesN, int kLanesM, int kLanesN>
struct ScalarFMA {
  static constexpr int kGroup = 4;
  static constexpr int kBlockM = A::kRows, kBlockN = B::kRows, kDepth = A::kDepth;
  static constexpr int kWaveM = kBlockM / kWavesM, kWaveN = kBlockN / kWavesN;
  static constexpr int kThreadM = kWaveM / kLanesM, kThreadN = kWaveN / kLanesN;
  static constexpr int kGroupsM = kThreadM / kGroup, kGroupsN = kThreadN / kGroup;
  static constexpr int kStrideM = kGroup * kLanesM, kStrideN = kGroup * kLanesN;

  static_assert(kLanesM * kLanesN == kWave, "the lanes of a wave must tile its part of C exactly");
  static_assert(kWaveM * kWavesM == kBlockM && kWaveN * kWavesN == kBlockN, "the waves must tile the block exactly");
  static_assert(kThreadM * kLanesM == kWaveM && kThreadN * kLanesN == kWaveN,
                "the lanes must tile the wave's part exactly");
  static_assert(kThreadM % kGroup == 0 && kThreadN % kGroup == 0, "a thread computes groups of 4 rows and 4 columns");

  // The next fragments are read while the current ones are multiplied. Left alone, the compiler reads those of a whole
  // tile at once: 197 registers instead of 129 for 128x128x16 on gfx1201, and spills for other tiles.
  static constexpr int kFenced = 4;

  using Four = Vec<float, kGroup>;
  struct Accumulator {
    float v[kThreadM][kThreadN];
  };

  int row, col;  // first row and column of this thread's piece, in the block tile

  CG_MEMBER explicit ScalarFMA(int thread) {
    const int wave = uniform(thread / kWave), lane = thread % kWave;
    row = wave / kWavesN * kWaveM + lane / kLanesN * kGroup;
    col = wave % kWavesN * kWaveN + lane % kLanesN * kGroup;
  }

  CG_DEVICE void zero(Accumulator& acc) {
#pragma unroll
    for (int i = 0; i < kThreadM; ++i)
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) acc.v[i][j] = 0.0f;
  }

  CG_DEVICE void settle(Accumulator& acc) {
#pragma unroll
    for (int i = 0; i < kThreadM; ++i)
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) pin(acc.v[i][j]);
  }

  // One tile of K. `a` and `b` are K-major LDS tiles (operand.hpp).
  CG_MEMBER void multiply(Accumulator& acc, const float* a, const float* b) const {
    float x[2][kThreadM], y[2][kThreadN];
    fragments(x[0], y[0], a, b, 0);
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const int now = k & 1;
      if (k + 1 < kDepth) fragments(x[now ^ 1], y[now ^ 1], a, b, k + 1);
#pragma unroll
      for (int i = 0; i < kThreadM; ++i)
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) acc.v[i][j] = fma(x[now][i], y[now][j], acc.v[i][j]);
      if (k % kFenced == kFenced - 1) schedule_fence();
    }
  }

  // Calls put(row, column, four consecutive columns) for every piece of the result this thread holds.
  template <class Put>
  CG_MEMBER void for_each(const Accumulator& acc, Put put) const {
    for_rows<kThreadM>(acc, 0, put);
  }

  // The same for kRows rows of the piece, from `first` on, whose results lie first in `acc`.
  template <int kRows, class Put>
  CG_MEMBER void for_rows(const Accumulator& acc, int first, Put put) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int g = 0; g < kGroupsN; ++g) {
        const int i = first + r;
        Four out;
#pragma unroll
        for (int j = 0; j < kGroup; ++j) out[j] = acc.v[r][g * kGroup + j];
        put(row + i / kGroup * kStrideM + i % kGroup, col + g * kStrideN, out);
      }
  }

 private:
  CG_MEMBER void fragments(float* x, float* y, const float* a, const float* b, int k) const {
    fragment<A, kGroupsM, kStrideM>(x, a, row, k);
    fragment<B, kGroupsN, kStrideN>(y, b, col, k);
  }

  // The part of the swizzle below the group stride moves the thread's own rows, the part above it moves whole groups:
  // the first is one XOR per distinct swizzle, kept in a register across the loop, the second is a constant.
  template <class Tile, int kGroups, int kStride>
  CG_DEVICE void fragment(float* to, const float* tile, int first, int k) {
    static_assert((kStride & (kStride - 1)) == 0, "the groups of a fragment lie a power of two apart");
    const int swizzle = Tile::swizzle(k);
    const float* base = tile + k * Tile::kRows + (first ^ (swizzle & (kStride - 1)));
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const Four four = load<float, kGroup>(base + (g * kStride ^ (swizzle & ~(kStride - 1))));
#pragma unroll
      for (int i = 0; i < kGroup; ++i) to[g * kGroup + i] = four[i];
    }
  }
};

}  // namespace cg
