// MfmaCompute with block scales (MX): a power of two, as E8M0 code, for every 32 numbers along K of each row of A and
// column of B, which gfx950's instructions apply on the way.
#pragma once
#include "mfma.hpp"
#include "scaled.hpp"

namespace cg {

#if defined(__gfx950__)
// Scales come as words: the four codes of one K tile of 128, the first in the lowest byte. Words of neighbouring rows
// lie next to each other, K tile after K tile. An instruction wants from lane l the code of row l % kTile and of block
// l / kTile of its part of K; MfmaCompute's fragments do not permute K for these instructions.
template <class Instruction, class A, class B, int kWavesM, int kWavesN>
struct BlockScaledMfma : MfmaCompute<Instruction, A, B, kWavesM, kWavesN> {
  using Base = MfmaCompute<Instruction, A, B, kWavesM, kWavesN>;
  using Accumulator = typename Base::Accumulator;
  using Fragments = typename Base::Fragments;
  using Base::Base;
  using Base::kSteps, Base::kTile, Base::kTilesM, Base::kTilesN;
  static constexpr bool kPipelined = true, kTakesArgs = true;
  static_assert(Base::kDepth == 128 && Instruction::kBytes == 32, "a K tile must have the four blocks of a word");

  struct Side {
    GlobalBytes words;
    i64 pitch;  // bytes from a K tile to the next
  };
  Side a, b;
  u32 a_place[kTilesM], b_place[kTilesN];  // of this lane's rows and columns, in bytes
  u32 a_next[kTilesM], b_next[kTilesN];    // words of the next K tile
  u32 a_scale[kTilesM], b_scale[kTilesN];  // of this one, moved so that this lane's first code is in byte 0

  CG_MEMBER void take_args(const GemmArgs& base, int row0, int col0, int thread) {
    const ScaledArgs& args = static_cast<const ScaledArgs&>(base);
    a = {(GlobalBytes)args.blocks_a, static_cast<i64>(args.m) * 4};
    b = {(GlobalBytes)args.blocks_b, static_cast<i64>(args.n) * 4};
    const int column = col0 + uniform(thread / kWave) % kWavesN * Base::kWaveN + thread % kTile;
    // Rows and columns past the last belong to no output element.
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) a_place[i] = min_of(row0 + this->row + i * kTile, args.m - 1) * 4;
#pragma unroll
    for (int i = 0; i < kTilesN; ++i) b_place[i] = min_of(column + i * kTile, args.n - 1) * 4;
  }

  template <class Tile>
  CG_MEMBER void run(Accumulator& acc, Tile& tile) {
    fetch(tile.whole);
    for (int t = 0; t < tile.whole; ++t) {
      take();  // before new loads are on their way: waits are for all that were issued earlier
      fetch(t);
      tile.prefetch(t + 1);
      multiply(acc, tile, t);
      tile.commit(t + 1);
    }
    take();
    multiply(acc, tile, tile.whole);
  }
  template <class Storage>
  CG_MEMBER void gather(Accumulator&, Storage&) const {}

 private:
  CG_MEMBER void fetch(int tile) {
    words(a_next, a, a_place, tile);
    words(b_next, b, b_place, tile);
  }
  template <int kCount>
  CG_DEVICE void words(u32 (&to)[kCount], const Side& side, u32 (&place)[kCount], int tile) {
    GlobalBytes from = side.words + tile * side.pitch;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      pin_address(from, place[i]);
      to[i] = load<u32, 1>(from + place[i])[0];
    }
  }
  CG_MEMBER void take() {
    const int shift = thread_index() % kWave / kTile * 8;
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) a_scale[i] = a_next[i] >> shift;
#pragma unroll
    for (int i = 0; i < kTilesN; ++i) b_scale[i] = b_next[i] >> shift;
  }

  template <class Tile>
  CG_MEMBER void multiply(Accumulator& acc, Tile& tile, int t) const {
    Fragments fragments[2];
    Base::read(fragments[0], tile.a(t), tile.b(t), 0);
    unrolled<0, kSteps>([&](auto index) {
      constexpr int s = index.value;
      if constexpr (s + 1 < kSteps) Base::read(fragments[(s + 1) % 2], tile.a(t), tile.b(t), s + 1);
      const Fragments& now = fragments[s % 2];
#pragma unroll
      for (int m = 0; m < kTilesM; ++m)
#pragma unroll
        for (int n = 0; n < kTilesN; ++n)
          acc.v[m][n] = Instruction::template multiply_scaled<s * Base::kGroups>(
              Base::part(now.b[n], 0), Base::part(now.a[m], 0), acc.v[m][n], b_scale[n], a_scale[m]);
      __builtin_amdgcn_sched_barrier(0);
    });
  }
};
#endif

}  // namespace cg
