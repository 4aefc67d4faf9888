// Products whose operand B was packed beforehand: its fragments go from global memory straight to registers.
//
// The packed order is that of seed 002, section 12. Columns of B go in groups of 16; of a group, the chunks of 16 bytes
// along K follow one another, and of each chunk the 16 columns. 16 lanes that read one chunk of neighbouring columns
// then read 256 consecutive bytes, whatever the instruction. K is filled up with zeros to a multiple of kPackedBytes,
// the columns to a multiple of 32.
#pragma once
#include "global_load.hpp"
#include "mfma.hpp"
#include "tile.hpp"

namespace cg {

constexpr int kPackedBytes = 256, kPackedColumns = 16, kPackedMultiple = 32;
constexpr int kRunBytes = kPackedColumns * kChunkBytes;  // of one chunk of a group

// B's half of the TilePolicy: it holds a whole tile of a wave's fragments. kWavesN waves share the block's columns.
template <class Instruction, class T, int kRows_, int kDepth_, int kWavesN>
struct PackedOperand {
  static constexpr int kRows = kRows_, kDepth = kDepth_, kChunks = kDepth * sizeof(T) / kChunkBytes;
  static constexpr int kTile = Instruction::kTile, kGroups = Instruction::kGroups;
  static constexpr int kTiles = kRows / kWavesN / kTile;
  static constexpr int kPieces = max_of(1, Instruction::kBytes / kChunkBytes);
  static constexpr int kSteps = kChunks / (kPieces * kGroups);
  static_assert(kPackedBytes % (kDepth * sizeof(T)) == 0, "the ragged K tile must end inside the packed array");
  static_assert(kTile <= kPackedMultiple, "an instruction's columns must all lie inside the packed array, or none");
  // An offset is all that the ComputePolicy's base class asks for.
  struct Layout {
    CG_DEVICE constexpr int offset(int, int) { return 0; }
  };

  BufferLoads<true> memory;
  u32 lane_offset;          // of this lane's first chunk, from a tile's first column on
  u32 tile_offset[kTiles];  // of the instruction tiles' first columns, the same in all lanes of a wave
  Words4 fragment[kSteps][kTiles][kPieces];

  // `columns` are left from column0 on; `group_stride` counts elements from a group to the next.
  CG_MEMBER void begin(const void* packed, i64 column0, int columns, i64 group_stride, i64 k0, i64, int thread) {
    const u32 pitch = static_cast<u32>(group_stride) * sizeof(T);
    memory.begin((GlobalBytes)packed + column0 / kPackedColumns * pitch + k0 * sizeof(T) * kPackedColumns, 0x7fffffff);
    const int lane = thread % kWave, first = uniform(thread / kWave) % kWavesN * (kRows / kWavesN);
    lane_offset =
        lane % kTile / kPackedColumns * pitch + lane % kPackedColumns * kChunkBytes + lane / kTile * kRunBytes;
    // Columns past the last belong to no output element: they read the last ones again.
    const int last = (columns - 1) / kTile * kTile;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      tile_offset[i] = uniform(min_of(first + i * kTile, last) / kPackedColumns) * pitch;
    }
  }

  // The fragments of a step of K tile `tile`, those of the instruction tiles in column `i`. In the same order before
  // the main loop as in it: where the orders differ, the compiler waits for more loads than it needs.
  CG_MEMBER void fetch(int tile, int step, int i) {
    BufferLoads<true> at = memory;
    at.advance(static_cast<i64>(tile) * (kChunks * kRunBytes));
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      fragment[step][i][p] =
          bit_cast<Words4>(at.load<u32, 4>(lane_offset + (step * kPieces + p) * kGroups * kRunBytes, tile_offset[i]));
      __builtin_amdgcn_sched_barrier(0);
    }
  }
};

// RegisterStaged for A alone.
template <class T, class A_, class B_, int kBuffers>
struct OneStaged {
  using A = A_;
  using B = B_;
  static constexpr int kDepth = A::kDepth;
  static_assert(kBuffers == 1 || kBuffers == 2, "one LDS buffer, or two to alternate between");
  static_assert(A::kDepth == B::kDepth, "the tiles of A and B must be equally deep in K");
  struct alignas(16) Storage {
    T a[kBuffers][A::kElements];
  };

  A a_tile;
  B b_tile;
  typename A::Registers a_registers;
  Storage& lds;
  int thread;
  int whole, ragged;  // as RegisterStaged

  CG_MEMBER OneStaged(Storage& lds, int k_length, int thread)
      : lds(lds), thread(thread), whole((k_length - 1) / kDepth), ragged(k_length - whole * kDepth) {}

  CG_MEMBER void begin() {
    a_tile.fetch_tail(a_registers, thread, whole, ragged);
    A::commit(a(0), a_registers, thread);
    barrier();
  }
  CG_MEMBER void prefetch(int) { a_tile.fetch(a_registers, thread); }
  CG_MEMBER void commit(int t) {
    if constexpr (kBuffers == 1) barrier();
    A::commit(a(t), a_registers, thread);
    barrier();
  }
  CG_MEMBER T* a(int t) { return lds.a[kBuffers == 1 ? 0 : t & 1]; }
};

// MfmaCompute with B's fragments in registers: those of a column of instruction tiles make room for the next tile's as
// soon as the column is done, so that nearly a whole tile passes until they are needed.
template <class Instruction, class A, class B, int kWavesM, int kWavesN>
struct PackedMfma : MfmaCompute<Instruction, A, B, kWavesM, kWavesN> {
  using Base = MfmaCompute<Instruction, A, B, kWavesM, kWavesN>;
  using Accumulator = typename Base::Accumulator;
  using Base::Base;
  using Base::kParts, Base::kPieces, Base::kSteps, Base::kTilesM, Base::kTilesN;
  static constexpr bool kPipelined = true;

  template <class Tile>
  CG_MEMBER void run(Accumulator& acc, Tile& tile) const {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) tile.b_tile.fetch(tile.whole, s, n);
    for (int t = 0; t < tile.whole; ++t) {
      tile.prefetch(t + 1);
      multiply<true>(acc, tile, t);
      tile.commit(t + 1);
    }
    multiply<false>(acc, tile, tile.whole);
  }
  template <class Storage>
  CG_MEMBER void gather(Accumulator&, Storage&) const {}

 private:
  // Step t computes whole tile t - 1, so tile t is the next one's.
  template <bool kNext, class Tile>
  CG_MEMBER void multiply(Accumulator& acc, Tile& tile, int t) const {
    Words4 a[2][kTilesM][kPieces];
    Base::template fragment<A>(a[0], tile.a(t), this->a_offset, 0);
    unrolled<0, kSteps>([&](auto step) {
      constexpr int s = step.value;
      if constexpr (s + 1 < kSteps) Base::template fragment<A>(a[(s + 1) % 2], tile.a(t), this->a_offset, s + 1);
      unrolled<0, kTilesN>([&](auto column) {
        constexpr int n = column.value;
        __builtin_amdgcn_sched_barrier(0);
        unrolled<0, kParts * kTilesM>([&](auto index) {
          constexpr int p = index.value / kTilesM, m = index.value % kTilesM;
          acc.v[m][n] =
              Instruction::multiply(Base::part(tile.b_tile.fragment[s][n], p), Base::part(a[s % 2][m], p), acc.v[m][n]);
        });
        __builtin_amdgcn_sched_barrier(0);
        if constexpr (kNext) tile.b_tile.fetch(t, s, n);
      });
    });
  }
};

}  // namespace cg
