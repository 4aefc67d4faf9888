// The ComputePolicy of matrix instructions: every wave computes kTilesM x kTilesN tiles of C with a given instruction.
#pragma once
#include "lds_layout.hpp"
#include "vec.hpp"

namespace cg {

// Atom: an instruction, such as WmmaGfx12. A, B: the tiles in LDS. kWavesM x kWavesN waves share the block tile.
// kPriority: the wave's scheduling priority is raised around each instruction (seed tutorial 001, step 7).
template <class Atom, class A, class B, int kWavesM, int kWavesN, bool kPriority>
struct MatrixCompute {
  static constexpr int kBlockM = A::kRows, kBlockN = B::kRows, kDepth = A::kDepth;
  static constexpr int kWaveM = kBlockM / kWavesM, kWaveN = kBlockN / kWavesN;
  static constexpr int kTile = Atom::kTile, kTilesM = kWaveM / kTile, kTilesN = kWaveN / kTile;
  static constexpr int kSteps = A::kChunks / Atom::kStepChunks;
  static constexpr int kInstructions = kSteps * kTilesM * kTilesN;  // of one K tile
  using Fragment = typename Atom::Fragment;

  static_assert(kTilesM * kTile * kWavesM == kBlockM && kTilesN * kTile * kWavesN == kBlockN,
                "whole instruction tiles must fill the block exactly");
  static_assert(kSteps * Atom::kStepChunks == A::kChunks, "the K tile must be a multiple of an instruction's depth");

  struct Accumulator {
    typename Atom::Accumulator v[kTilesM][kTilesN];
  };

  int lane, row, col;      // this wave's first row and column in the block tile
  int a_offset, b_offset;  // of this lane's first chunk, in bytes

  CG_MEMBER explicit MatrixCompute(int thread) {
    const int wave = uniform(thread / kWave);
    lane = thread % kWave;
    row = wave / kWavesN * kWaveM;
    col = wave % kWavesN * kWaveN;
    a_offset = A::Layout::offset(row + Atom::lane_row(lane), Atom::lane_chunk(lane));
    b_offset = B::Layout::offset(col + Atom::lane_row(lane), Atom::lane_chunk(lane));
  }

  CG_DEVICE void zero(Accumulator& acc) {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m)
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) acc.v[m][n] = typename Atom::Accumulator{};
  }
  CG_DEVICE void settle(Accumulator& acc) {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m)
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) pin(acc.v[m][n]);
  }

  // One tile of K. Instructions run along n, then m, then K; a fragment is read one instruction before its first use,
  // so that its latency passes behind arithmetic. work(Constant<i>()) is called before instruction i, to put other
  // instructions between them.
  template <class T, class Work = Nothing>
  CG_MEMBER void multiply(Accumulator& acc, const T* a_tile, const T* b_tile, const Work& work = Work()) const {
    const char* a_bytes = reinterpret_cast<const char*>(a_tile);
    const char* b_bytes = reinterpret_cast<const char*>(b_tile);
    Fragment a[2], b[kTilesN + 1];  // B of one step, and the first of the next
    read<A, 0, 0>(a[0], a_bytes, a_offset);
    read<B, 0, 0>(b[0], b_bytes, b_offset);
    unrolled<0, kInstructions>([&](auto index) {
      constexpr int i = index.value;
      constexpr int s = i / (kTilesM * kTilesN), m = i / kTilesN % kTilesM, n = i % kTilesN;
      work(index);
      if constexpr (m == 0 && n + 1 < kTilesN) read<B, n + 1, s>(b[slot(s, n + 1)], b_bytes, b_offset);
      if constexpr (n + 1 == kTilesN && m + 1 < kTilesM) {
        read<A, m + 1, s>(a[(s * kTilesM + m + 1) % 2], a_bytes, a_offset);
      } else if constexpr (n + 1 == kTilesN && s + 1 < kSteps) {
        read<A, 0, s + 1>(a[(s + 1) * kTilesM % 2], a_bytes, a_offset);
        read<B, 0, s + 1>(b[slot(s + 1, 0)], b_bytes, b_offset);
      }
      if constexpr (kPriority) __builtin_amdgcn_s_setprio(1);
      Atom::multiply(acc.v[m][n], a[(s * kTilesM + m) % 2], b[slot(s, n)]);
      if constexpr (kPriority) __builtin_amdgcn_s_setprio(0);
    });
  }

  // Calls put(row, column, consecutive columns) for every piece of the result this thread holds, and row_done(m) after
  // those of the m-th row of instruction tiles. One tile after another: the compiler would rearrange all of them for
  // storing before the first store, and spill.
  template <class Put, class RowDone = Nothing>
  CG_MEMBER void for_each(const Accumulator& acc, Put put, RowDone row_done = RowDone()) const {
    const int r = row + Atom::lane_row(lane), c = col + Atom::lane_column(lane);
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) {
        typename Atom::Result out[Atom::kColumns];
        typename Atom::Accumulator sums = acc.v[m][n];
        pin(sums);
        Atom::columns(out, sums, lane);
        put(r + m * kTile, c + n * kTile, out);
      }
      row_done(m);
    }
  }

 private:
  CG_DEVICE constexpr int slot(int step, int n) { return (step * kTilesN + n) % (kTilesN + 1); }

  template <class Tile, int kIndex, int kStep>
  CG_DEVICE void read(Fragment& to, const char* tile, int offset) {
    struct Chunks {
      Vec<u32, 4> chunk[Atom::kReads];
    } chunks;
#pragma unroll
    for (int p = 0; p < Atom::kReads; ++p)
      chunks.chunk[p] = load<u32, 4>(Tile::Layout::moved(tile, offset, kIndex * kTile, kStep * Atom::kStepChunks + p));
    to = bit_cast<Fragment>(chunks);
  }
};

}  // namespace cg
