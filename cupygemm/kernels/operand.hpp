// One operand's way from global memory to LDS: which chunk each thread moves, and where it puts it.
//
// A tile is kRows x kDepth: rows run along M (operand A) or N (operand B), depth runs along K. In LDS the SIMT kernels
// keep it K-major, element (row, k) at k * kRows + (row ^ swizzle(k)), so that a fragment of consecutive rows at one k
// is one 128-bit read.
#pragma once
#include "vec.hpp"

namespace cg {

enum class Contiguous { kK, kRows };  // which index of the operand has stride 1 in global memory

// kVec: elements a global load moves; the host guarantees that base, strides and the contiguous extent are multiples of
// it, or else says that they are not kAligned. Then K has at least kVec elements where it is contiguous, and where rows
// are, the operand has at least kRows of them, and a tile that would stick out is moved inwards (gemm.hpp). kUnit: the
// contiguous index has stride 1. Otherwise (a view strided in both directions) kVec is 1 and the stride is an argument.
// kWide: offsets inside a tile need 64 bits (huge or negative strides).
template <class T, int kRows_, int kDepth_, Contiguous kContiguous, int kVec_, bool kUnit, bool kWide, bool kAligned,
          int kThreads>
struct OperandTile {
  static constexpr int kRows = kRows_, kDepth = kDepth_, kVec = kVec_;
  static constexpr bool kAlongK = kContiguous == Contiguous::kK, kWhole = !kAligned && !kAlongK;
  static constexpr int kChunksPerLine = (kAlongK ? kDepth : kRows) / kVec;
  static constexpr int kChunks = kRows * kDepth / kVec;
  static constexpr int kPerThread = (kChunks + kThreads - 1) / kThreads;
  static constexpr bool kEven = kChunks % kThreads == 0;  // otherwise the last round is for some of the threads only
  static constexpr int kElements = kRows * kDepth;

  static_assert((kAlongK ? kDepth : kRows) % kVec == 0,
                "a tile's contiguous extent must be a multiple of the load width");
  static_assert(kUnit || kVec == 1, "only a unit-stride index can be loaded in vectors");
  static_assert(kRows % 32 == 0, "the LDS swizzle permutes rows inside blocks of 32: rows must be a multiple of 32");

  using Chunk = Vec<T, kVec>;
  using Registers = Chunk[kPerThread];
  using Offset = typename Select<kWide, i64, u32>::type;

  // Transposing stores (K contiguous in memory, rows contiguous in LDS) would send the chunks of one row to one bank: k
  // differs, k * kRows is a multiple of
  // 32. XORing the row with a number made from k spreads them; its step leaves groups of 4 rows whole for 128-bit
  // reads. 32 lanes cover 32 * kVec / kDepth rows, so with a step of that many rows each lane of a store gets a bank of
  // its own where kVec >= 2.
  static constexpr int kStep = max_of(4, min_of(32, 32 * kVec / kDepth));
  static constexpr int kSteps = 32 / kStep;
  CG_DEVICE constexpr int swizzle(int k) { return kAlongK ? (k / kVec % kSteps) * kStep : 0; }

  GlobalBytes base;           // of the tile, the same in all threads
  i64 advance_bytes;          // from one K tile to the next
  Offset offset[kPerThread];  // of this thread's chunks, in bytes from base
  Offset row_bytes, k_bytes;  // strides, for direct loads
  int last_row;               // of the operand, in the tile

  CG_DEVICE int chunk_row(int chunk) { return kAlongK ? chunk / kChunksPerLine : chunk % kChunksPerLine * kVec; }
  CG_DEVICE int chunk_k(int chunk) { return kAlongK ? chunk % kChunksPerLine * kVec : chunk / kChunksPerLine; }
  CG_DEVICE int chunk_of(int thread, int round) { return thread + round * kThreads; }
  CG_DEVICE bool has_chunk(int thread, int round) {
    return kEven || round + 1 < kPerThread || chunk_of(thread, round) < kChunks;
  }

  // `rows` is the operand's extent from row0 on, at least 1. Rows past it belong to no output element, so they may hold
  // anything as long as reading them is allowed: they read the last row again.
  CG_MEMBER void begin(const void* matrix, i64 row0, int rows, i64 row_stride, i64 k0, i64 k_stride, int thread) {
    constexpr i64 size = sizeof(T);
    if constexpr (kUnit && kAlongK) k_stride = 1;
    if constexpr (kUnit && !kAlongK) row_stride = 1;
    row_bytes = static_cast<Offset>(row_stride) * size;
    k_bytes = static_cast<Offset>(k_stride) * size;
    last_row = rows - 1;
    base = (GlobalBytes)matrix + (row0 * row_stride + k0 * k_stride) * size;
    advance_bytes = kDepth * k_stride * size;
#pragma unroll
    for (int r = 0; r < kPerThread; ++r) {
      const int chunk = chunk_of(thread, r);
      const int row = min_of(chunk_row(chunk), rows - (kAlongK ? 1 : kVec));
      offset[r] =
          static_cast<Offset>(row * static_cast<Offset>(row_stride) + chunk_k(chunk) * static_cast<Offset>(k_stride)) *
          size;
    }
  }

  // The next K tile, all of it inside the operand.
  CG_MEMBER void fetch(Registers& to, int thread) {
#pragma unroll
    for (int r = 0; r < kPerThread; ++r) {
      pin_address(base, offset[r]);
      if (has_chunk(thread, r)) to[r] = read(base + offset[r]);
    }
    base += advance_bytes;
  }

  // Tile `tile`, of which only the first `depth` are inside. The rest must be zero in both operands: garbage times zero
  // may be NaN. Unaligned vectors along K that would reach past the depth are read so that they end there, and moved
  // down.
  CG_MEMBER void fetch_tail(Registers& to, int thread, int tile, int depth) const {
    GlobalBytes from = base + tile * advance_bytes;
    if constexpr (!kAligned && kAlongK) {
#pragma unroll
      for (int r = 0; r < kPerThread; ++r)
        if (has_chunk(thread, r)) to[r] = read(from + offset[r] - past(depth, thread, r) * static_cast<i64>(sizeof(T)));
#pragma unroll
      for (int r = 0; r < kPerThread; ++r) to[r] = without_first(to[r], min_of(past(depth, thread, r), kVec));
      return;
    }
#pragma unroll
    for (int r = 0; r < kPerThread; ++r) {
      to[r] = zeros<T, kVec>();
      if (has_chunk(thread, r) && chunk_k(chunk_of(thread, r)) < depth) to[r] = read(from + offset[r]);
    }
  }

#if defined(__gfx942__) || defined(__gfx950__)
  // Tiles that go straight to LDS. LDS words fill in the order of the lanes, so each wave takes runs of kWave pieces of
  // kDirect elements, consecutive rows at one k; a piece is 4 elements where memory has them side by side and the
  // target can move 16 bytes.
  static constexpr int kDirect = !kAlongK && kAligned && kVec == 4 && kMaxDirectWords == 4 ? 4 : 1;
  static constexpr int kRun = kWave * kDirect, kWaves = kThreads / kWave;
  static constexpr int kRuns = kElements / (kRun * kWaves);
  using DirectOffsets = Offset[kRuns];

  CG_DEVICE int run_start(int run, int thread) { return (run * kWaves + uniform(thread / kWave)) * kRun; }

  CG_MEMBER void begin_direct(DirectOffsets& to, int thread) const {
    static_assert(kRuns * kRun * kWaves == kElements, "every wave must fill whole runs of LDS");
    static_assert(sizeof(T) == 4, "direct loads move 4-byte elements");
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      const int word = run_start(r, thread) + thread % kWave * kDirect;
      const int k = word / kRows, row = (word % kRows) ^ swizzle(k);
      to[r] = min_of(row, last_row + 1 - kDirect) * row_bytes + k * k_bytes;
    }
  }

  // Run r of the next tile, which goes to `lds`.
  template <int r>
  CG_MEMBER void copy_one(T* lds, const DirectOffsets& from, int thread) const {
    copy_to_lds<kDirect, r * kRun * kWaves * sizeof(T)>(base, from[r], lds + run_start(0, thread));
  }
  CG_MEMBER void advance() { base += advance_bytes; }
#endif

  CG_DEVICE void commit(T* lds, const Registers& from, int thread) {
#pragma unroll
    for (int r = 0; r < kPerThread; ++r) {
      if (!has_chunk(thread, r)) continue;
      const int chunk = chunk_of(thread, r), row = chunk_row(chunk), k = chunk_k(chunk);
      if constexpr (kAlongK) {
        T* column = lds + k * kRows + (row ^ swizzle(k));
#pragma unroll
        for (int i = 0; i < kVec; ++i) column[i * kRows] = from[r][i];
      } else {
        store<T, kVec>(lds + k * kRows + row, from[r]);
      }
    }
  }

 private:
  // Elements by which a chunk would reach past the depth.
  CG_DEVICE int past(int depth, int thread, int r) { return max_of(0, chunk_k(chunk_of(thread, r)) + kVec - depth); }
  CG_DEVICE Chunk read(GlobalBytes from) {
    if constexpr (kAligned) {
      return load<T, kVec>(from);
    } else {
      return load_unaligned<T, kVec>(from);
    }
  }
};

}  // namespace cg
