// PipelinedFMA, the ComputePolicy of ordinary FMAs for NVIDIA GPUs: ScalarFMA with the fragments of the next k loaded
// while the current one is multiplied, across the borders of tiles too.
//
// An SM issues one instruction a clock and scheduler, and that has to be an FMA nearly always. What is done for it
// here:
// - Fragments wait in registers one k ahead, so that no FMA waits for LDS, and the barrier at the end of a tile comes
//   before the last k's FMAs, which the other waves' arrival can hide behind.
// - Products are made along a snake through the thread's piece, so that one of the two factors is the one before and
//   comes from the operand cache: a register file has two banks, and an FMA reads three operands.
// - Lanes that differ in bit 0 share their rows, lanes that differ in bit 1 their columns. A 128-bit LDS read of a wave
//   takes two passes instead of four where neighbouring lanes read the same words (seen in the profiler).
//
// Where a grid has too few blocks to keep an SM busy, several groups of waves share the block tile: each multiplies its
// slice of every K tile, and at the end adds up its share of what all have, in their order.
#pragma once
#include "simt.hpp"

namespace cg {

template <class A, class B, int kWavesM, int kWavesN, int kLanesM, int kLanesN, int kSlices>
struct PipelinedFMA : ScalarFMA<A, B, kWavesM, kWavesN, kLanesM, kLanesN> {
  using Base = ScalarFMA<A, B, kWavesM, kWavesN, kLanesM, kLanesN>;
  using Accumulator = typename Base::Accumulator;
  using Base::col, Base::row;
  using Base::kDepth, Base::kGroup, Base::kThreadM, Base::kThreadN;
  static constexpr bool kPipelined = true;
  static constexpr int kThreads = kWavesM * kWavesN * kWave;  // of a slice
  static constexpr int kSteps = kDepth / kSlices;             // values of k in a slice of a tile
  static_assert(kLanesM % 2 == 0 && kLanesN % 2 == 0, "each of bits 0 and 1 of a lane must number one of N and M");
  static constexpr int kOwnRows = kThreadM / kSlices;  // of a thread's piece, after `gather`
  static_assert(kSteps * kSlices == kDepth && kSteps % 2 == 0,
                "slices must share the K tile, and fragments alternate between two sets of registers");
  static_assert(kOwnRows * kSlices == kThreadM, "slices must share the rows of a thread's piece");

  float x[2][kThreadM], y[2][kThreadN];
  int slice;
  int a_first, b_first;  // elements from the start of a tile to this thread's first fragments

  CG_MEMBER explicit PipelinedFMA(int thread) : Base(thread), slice(thread / kThreads) {
    const int wave = thread % kThreads / kWave, lane = thread % kWave, rest = lane / 4;
    const int lane_m = rest / (kLanesN / 2) * 2 + lane / 2 % 2;
    const int lane_n = rest % (kLanesN / 2) * 2 + lane % 2;
    row = wave / kWavesN * Base::kWaveM + lane_m * kGroup;
    col = wave % kWavesN * Base::kWaveN + lane_n * kGroup;
    a_first = row + slice * kSteps * A::kPitch;
    b_first = col + slice * kSteps * B::kPitch;
  }

  // Multiplies all tiles; that of step 0 is in LDS.
  template <class Tile>
  CG_MEMBER void run(Accumulator& acc, Tile& tile) {
    load_fragments(tile, 0, 0);
    for (int t = 0; t < tile.whole; ++t) {
      tile.prefetch(t + 1);
#pragma unroll
      for (int k = 0; k < kSteps; ++k) {
        if (k + 1 == kSteps) tile.commit(t + 1);
        load_fragments(tile, k + 1 == kSteps ? t + 1 : t, (k + 1) % kSteps);
        outer_product(acc, x[k % 2], y[k % 2]);
      }
    }
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      if (k + 1 < kSteps) load_fragments(tile, tile.whole, k + 1);
      outer_product(acc, x[k % 2], y[k % 2]);
    }
  }

  // After the last step: adds up what the slices have, in their order. Each group of waves does so for its share of the
  // rows, which come to lie first in `acc`. `lds` held the tiles.
  template <class Storage>
  CG_MEMBER void gather(Accumulator& acc, Storage& lds) const {
    if constexpr (kSlices > 1) {
      // Sums by slice, row of a thread's piece, group of columns, thread: neighbouring lanes lie side by side.
      float* sums = reinterpret_cast<float*>(&lds) + thread_index() % kThreads * kGroup;
      const auto place = [&](int s, int i, int g) {
        return sums + ((s * kThreadM + i) * Base::kGroupsN + g) * kThreads * kGroup;
      };
      barrier();
#pragma unroll
      for (int i = 0; i < kThreadM; ++i)
#pragma unroll
        for (int g = 0; g < Base::kGroupsN; ++g) {
          typename Base::Four four;
#pragma unroll
          for (int j = 0; j < kGroup; ++j) four[j] = acc.v[i][g * kGroup + j];
          store<float, kGroup>(place(slice, i, g), four);
        }
      barrier();
#pragma unroll
      for (int i = 0; i < kOwnRows; ++i)
#pragma unroll
        for (int g = 0; g < Base::kGroupsN; ++g)
#pragma unroll
          for (int s = 0; s < kSlices; ++s) {
            const auto four = load<float, kGroup>(place(s, slice * kOwnRows + i, g));
#pragma unroll
            for (int j = 0; j < kGroup; ++j) {
              float& to = acc.v[i][g * kGroup + j];
              to = s == 0 ? four[j] : add(to, four[j]);
            }
          }
    }
  }

  // As ScalarFMA::for_each, for the rows that are this group's.
  template <class Put>
  CG_MEMBER void for_each(const Accumulator& acc, Put put) const {
    Base::template for_rows<kOwnRows>(acc, kSlices == 1 ? 0 : slice * kOwnRows, put);
  }

 private:
  template <class Tile>
  CG_MEMBER void load_fragments(Tile& tile, int t, int k) {
    fragment<kThreadM, Base::kStrideM>(x[k % 2], tile.a(t) + a_first + k * A::kPitch);
    fragment<kThreadN, Base::kStrideN>(y[k % 2], tile.b(t) + b_first + k * B::kPitch);
  }

  template <int kCount, int kStride>
  CG_DEVICE void fragment(float* to, const float* from) {
#pragma unroll
    for (int g = 0; g < kCount / kGroup; ++g) {
      const auto four = load<float, kGroup>(from + g * kStride);
#pragma unroll
      for (int i = 0; i < kGroup; ++i) to[g * kGroup + i] = four[i];
    }
  }

  CG_DEVICE void outer_product(Accumulator& acc, const float* x, const float* y) {
#pragma unroll
    for (int i = 0; i < kThreadM; ++i)
#pragma unroll
      for (int step = 0; step < kThreadN; ++step) {
        const int j = i % 2 ? kThreadN - 1 - step : step;
        acc.v[i][j] = fma(x[i], y[j], acc.v[i][j]);
      }
  }
};

}  // namespace cg
