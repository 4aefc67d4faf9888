// MfmaCompute across the borders of tiles: the first fragments of a tile are read as soon as it is published, before
// the last step of the tile before it is computed (seed 002, section 4.3). Their way from LDS then passes behind matrix
// instructions; where a SIMD has but one wave, as in the largest tiles, nothing else would hide it.
#pragma once
#include "mfma.hpp"

namespace cg {

// Parameters as MfmaCompute's. The steps of a tile must be even in number: fragments alternate between two sets of
// registers.
template <class Instruction, class A, class B, int kWavesM, int kWavesN>
struct MfmaAhead : MfmaCompute<Instruction, A, B, kWavesM, kWavesN> {
  using Base = MfmaCompute<Instruction, A, B, kWavesM, kWavesN>;
  using Accumulator = typename Base::Accumulator;
  using Base::Base;
  using Base::kSteps;
  static constexpr bool kPipelined = true;
  static_assert(kSteps % 2 == 0, "fragments alternate between two sets of registers");

  typename Base::Fragments fragments[2];

  template <class Tile>
  CG_MEMBER void run(Accumulator& acc, Tile& tile) {
    if (tile.whole > 0) {
      tile.prefetch(1);
      read_first(tile);
      for (int t = 0; t + 1 < tile.whole; ++t) step<true>(acc, tile, t);
      step<false>(acc, tile, tile.whole - 1);
    } else {
      read_first(tile);
    }
    steps<kSteps - 1>(acc, tile, tile.whole);
    Base::multiply_step(acc, fragments[1], Nothing());
  }
  template <class Storage>
  CG_MEMBER void gather(Accumulator&, Storage&) const {}

 private:
  static constexpr int kReads = (Base::kTilesM + Base::kTilesN) * Base::kPieces;  // of LDS, for a step

  template <class Tile>
  CG_MEMBER void read_first(Tile& tile) {
    Base::read(fragments[0], tile.a(0), tile.b(0), 0);
  }

  // Every wave has all fragments of tile t in registers when it comes to the last step, so the tile may be overwritten.
  template <bool kPrefetch, class Tile>
  CG_MEMBER void step(Accumulator& acc, Tile& tile, int t) {
    steps<kSteps - 1>(acc, tile, t);
    tile.commit(t + 1);
    one_step<kSteps - 1, kPrefetch ? Tile::kLoads : 0>(acc, tile, t + 1, t + 2);
    if constexpr (kPrefetch) tile.advance();
  }

  // The first kCount steps of a tile.
  template <int kCount, class Tile>
  CG_MEMBER void steps(Accumulator& acc, Tile& tile, int t) {
    unrolled<0, kCount>([&](auto s) { one_step<s.value, 0>(acc, tile, t, 0); });
  }

  // Step s, of which the fragments are there. Those of the next step, of tile `next`, are read meanwhile, and kLoads
  // loads of tile `ahead` issued: one by one, or as many as it takes, behind each instruction. In a burst, the matrix
  // unit would stand still behind them.
  template <int s, int kLoads, class Tile>
  CG_MEMBER void one_step(Accumulator& acc, Tile& tile, int next, int ahead) {
    constexpr int kWork = kReads + kLoads, kEach = ceil_div(kWork, Base::kPerStep);
    const auto* a = tile.a(next);
    const auto* b = tile.b(next);
    Base::multiply_step(acc, fragments[s % 2], [&](auto index) {
      constexpr int kFrom = min_of(index.value * kEach, kWork), kTo = min_of(kFrom + kEach, kWork);
      unrolled<kFrom, kTo>([&](auto piece) {
        constexpr int i = piece.value;
        if constexpr (i < kReads) {
          read_one<i>(fragments[(s + 1) % 2], a, b, (s + 1) % kSteps);
        } else {
          tile.template issue<i - kReads>(ahead);
        }
      });
      __builtin_amdgcn_sched_barrier(0);
    });
    __builtin_amdgcn_sched_barrier(0);
  }

  template <int i>
  CG_MEMBER void read_one(typename Base::Fragments& to, const void* a, const void* b, int step) const {
    constexpr int kPieces = Base::kPieces, kOfA = Base::kTilesM * kPieces, p = i % kPieces;
    if constexpr (i < kOfA) {
      to.a[i / kPieces][p] = Base::template piece<A>(a, this->a_offset, step, i / kPieces, p);
    } else {
      to.b[(i - kOfA) / kPieces][p] = Base::template piece<B>(b, this->b_offset, step, (i - kOfA) / kPieces, p);
    }
  }
};

// Ahead where the number of steps allows it, and a wave has more than one tile of results: a single chain of
// instructions, each of which waits for the one before, the compiler sinks below the commit.
template <class Compute>
struct GoesAhead {
  static constexpr bool value = Compute::kSteps % 2 == 0 && Compute::kTilesM * Compute::kTilesN > 1;
};
template <class Instruction, class A, class B, int kWavesM, int kWavesN>
using MfmaFor = typename Select<GoesAhead<MfmaCompute<Instruction, A, B, kWavesM, kWavesN>>::value,
                                MfmaAhead<Instruction, A, B, kWavesM, kWavesN>,
                                MfmaCompute<Instruction, A, B, kWavesM, kWavesN>>::type;

}  // namespace cg
