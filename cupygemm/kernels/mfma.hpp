// MfmaCompute, the ComputePolicy of CDNA's matrix instructions.
#pragma once
#include "lds_layout.hpp"
#include "mfma_shapes.hpp"

namespace cg {

// A wave computes kTilesM x kTilesN results of kTile x kTile. The instruction gets B first: a lane then holds one row
// of C and groups of four consecutive columns, which it can store at once.
//
// K is taken in steps of what one chunk a lane covers (two chunks where the instruction takes 32 bytes). Instructions
// of less than a chunk take its parts one after another, which permutes K, alike in both operands.
template <class Instruction, class A, class B, int kWavesM, int kWavesN>
struct MfmaCompute {
  static constexpr int kTile = Instruction::kTile, kGroups = Instruction::kGroups, kBytes = Instruction::kBytes;
  static constexpr int kBlockM = A::kRows, kBlockN = B::kRows, kDepth = A::kDepth;
  static constexpr int kWaveM = kBlockM / kWavesM, kWaveN = kBlockN / kWavesN;
  static constexpr int kTilesM = kWaveM / kTile, kTilesN = kWaveN / kTile;
  static constexpr int kPieces = max_of(1, kBytes / kChunkBytes);  // chunks a lane and step
  static constexpr int kParts = max_of(1, kChunkBytes / kBytes);   // instructions a step
  static constexpr int kSteps = A::kChunks / (kPieces * kGroups);
  static constexpr int kPerStep = kParts * kTilesM * kTilesN, kInstructions = kSteps * kPerStep;
  using Sum = typename Instruction::Sum;
  using Sums = typename Instruction::Sums;

  static_assert(kWave == 64, "MFMA belongs to waves of 64 lanes");
  static_assert(kTilesM * kTile * kWavesM == kBlockM && kTilesN * kTile * kWavesN == kBlockN,
                "whole instruction tiles must fill the block exactly");
  static_assert(kSteps * kPieces * kGroups == A::kChunks, "the K tile must be a multiple of a step");
  static_assert(A::kChunks == B::kChunks, "the tiles of A and B must be equally deep in K");

  struct Accumulator {
    Sums v[kTilesM][kTilesN];
  };
  // What the lanes of a wave need of both tiles for one step.
  struct Fragments {
    Words4 a[kTilesM][kPieces], b[kTilesN][kPieces];
  };

  int row, col;            // this lane's first row and column of results, in the block tile
  int a_offset, b_offset;  // of this lane's first chunk in the LDS tiles, in bytes

  CG_MEMBER explicit MfmaCompute(int thread) {
    const int wave = uniform(thread / kWave), lane = thread % kWave;
    const int wave_row = wave / kWavesN * kWaveM, wave_col = wave % kWavesN * kWaveN;
    row = wave_row + lane % kTile;
    col = wave_col + lane / kTile * Instruction::kRun;
    a_offset = A::Layout::offset(row, lane / kTile);
    b_offset = B::Layout::offset(wave_col + lane % kTile, lane / kTile);
  }

  CG_DEVICE void zero(Accumulator& acc) {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m)
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) {
        acc.v[m][n] = Sums{};
        hold(acc.v[m][n]);
      }
  }
  CG_DEVICE void settle(Accumulator&) {}

  CG_MEMBER void read(Fragments& to, const void* a, const void* b, int step) const {
    fragment<A>(to.a, a, a_offset, step);
    fragment<B>(to.b, b, b_offset, step);
  }

  // One step: kPerStep instructions, all results for one part of K and then for the next. work(Constant<i>()) is called
  // before instruction i of the step, to put other instructions between them.
  template <class Work>
  CG_DEVICE void multiply_step(Accumulator& acc, const Fragments& from, const Work& work) {
    unrolled<0, kPerStep>([&](auto index) {
      constexpr int i = index.value, p = i / (kTilesM * kTilesN), m = i / kTilesN % kTilesM, n = i % kTilesN;
      if constexpr (m == 0 && n == 0) __builtin_amdgcn_sched_barrier(0);
      work(index);
      acc.v[m][n] = Instruction::multiply(part(from.b[n], p), part(from.a[m], p), acc.v[m][n]);
    });
  }

  // One tile of K. The fragments of a step are read while the one before it is computed.
  template <class T>
  CG_MEMBER void multiply(Accumulator& acc, const T* a, const T* b) const {
    Fragments fragments[2];
    read(fragments[0], a, b, 0);
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      if (s + 1 < kSteps) read(fragments[(s + 1) % 2], a, b, s + 1);
      multiply_step(acc, fragments[s % 2], Nothing());
      // The scheduler would read all fragments of the tile first, for which there are no registers.
      __builtin_amdgcn_sched_barrier(0);
    }
  }

  // Calls put(row, column, consecutive columns) for every piece of the result this lane holds, and row_done(m) after
  // those of the m-th row of instruction tiles.
  template <class Put, class RowDone = Nothing>
  CG_MEMBER void for_each(const Accumulator& acc, Put put, RowDone row_done = RowDone()) const {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) {
        Sums sums = acc.v[m][n];
        hold(sums);
#pragma unroll
        for (int g = 0; g < Instruction::kSums / Instruction::kRun; ++g) {
          Sum out[Instruction::kRun];
#pragma unroll
          for (int c = 0; c < Instruction::kRun; ++c) out[c] = sums[g * Instruction::kRun + c];
          put(row + m * kTile, col + n * kTile + g * Instruction::kRunStep, out);
        }
      }
      row_done(m);
    }
  }

 protected:
  // Small tiles have VGPRs to spare.
  static constexpr bool kInAgprs = kTilesM * kTilesN * sizeof(Sums) / 4 >= 64;

  // Keeps the compiler from two things that make it move all accumulators between AGPRs and VGPRs, or spill them: a
  // loop that begins with known zeros has its accumulators taken apart into single registers; and what the epilogue
  // reads would be copied to VGPRs at the end of every iteration.
  CG_DEVICE void hold(Sums& sums) {
    if constexpr (kInAgprs) asm volatile("" : "+a"(sums));
  }

  template <class Tile, int kTiles>
  CG_DEVICE void fragment(Words4 (&to)[kTiles][kPieces], const void* tile, int offset, int step) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
#pragma unroll
      for (int p = 0; p < kPieces; ++p) to[i][p] = piece<Tile>(tile, offset, step, i, p);
  }
  template <class Tile>
  CG_DEVICE Words4 piece(const void* tile, int offset, int step, int i, int p) {
    return bit_cast<Words4>(load<u32, 4>(
        Tile::Layout::moved(static_cast<const char*>(tile), offset, i * kTile, (step * kPieces + p) * kGroups)));
  }

  CG_DEVICE typename Instruction::In part(const Words4 (&from)[kPieces], int part) {
    struct Parts {
      typename Instruction::In v[kParts];
    };
    return bit_cast<Parts>(from).v[part];
  }
};

}  // namespace cg
