// One operand's way from global memory to LDS for matrix instructions, which read it with K contiguous
// (lds_layout.hpp).
#pragma once
#include "global_load.hpp"
#include "lds_layout.hpp"
#include "operand.hpp"
#include "transpose.hpp"

namespace cg {

// A thread moves pieces. Where K is contiguous in memory, a piece is one 16-byte chunk of one row. Where rows are, it
// is kRun consecutive k of kVec neighbouring rows, read row-wise, transposed in registers and written as kVec runs
// along K: the transposition costs one permutation of bytes for each 32-bit word and no extra pass.
//
// kVec, kUnit: as OperandTile, and where the load path is not aligned, K may be any number from kVec on. Loads: a load
// path of global_load.hpp. Layout: one of lds_layout.hpp. kWhole: the
// operand has at least kRows rows, and tiles that would stick out are moved inwards (gemm.hpp), so that a tile's rows
// all exist.
template <class T, int kRows_, int kDepth_, Contiguous kContiguous, int kVec_, bool kUnit, bool kWhole_, class Loads,
          class Layout_, int kThreads>
struct MatrixTile {
  using Layout = Layout_;
  using Offset = typename Loads::Offset;
  static constexpr int kRows = kRows_, kDepth = kDepth_, kVec = kVec_;
  static constexpr bool kAlongK = kContiguous == Contiguous::kK, kWhole = kWhole_;
  static constexpr int kPack = kChunkBytes / sizeof(T), kChunks = kDepth / kPack;
  static constexpr int kElements = Layout::kBytes / sizeof(T);
  static constexpr int kSize = sizeof(T);

  // Long runs write wide; but each thread should have a piece.
  CG_DEVICE constexpr int run_length() {
    int run = kPack;
    while (!kAlongK && run > 1 && kRows / kVec * (kDepth / run) < kThreads) run /= 2;
    return run;
  }
  static constexpr int kRun = run_length(), kParts = kPack / kRun;
  static constexpr int kPieceRows = kAlongK ? 1 : kVec, kGroups = kRows / kPieceRows;
  static constexpr int kPieces = kGroups * kChunks * kParts;
  static constexpr int kPerThread = (kPieces + kThreads - 1) / kThreads;
  static constexpr bool kEven = kPieces % kThreads == 0;  // otherwise some threads idle in the last round
  static constexpr int kPieceLoads = kAlongK ? kPack / kVec : kRun;
  static constexpr int kLoads = kPerThread * kPieceLoads;  // of a thread for a tile

  static_assert(kDepth % kPack == 0, "the K tile must be whole 16-byte chunks");
  static_assert(kPack % kVec == 0, "a load must be a whole part of a 16-byte chunk");
  static_assert(kRows % kPieceRows == 0, "rows of the tile must be a multiple of the load width");
  static_assert(kUnit || kVec == 1, "only a unit-stride index can be loaded in vectors");
  static_assert(Loads::kAligned || kAlongK || kWhole,
                "vectors along rows that end anywhere need a tile whose rows all exist");

  using Load = Vec<T, kVec>;
  using Registers = Load[kLoads];

  // Whether all pieces of a thread lie the same way from its first as in any other thread, in memory and in LDS: then
  // one register addresses them all. Clamping rows spoils that.
  static constexpr int kRoundRows = kAlongK ? kThreads / kChunks : 0;
  static constexpr int kRoundChunks = kAlongK ? 0 : kThreads / (kGroups * kParts);
  static constexpr bool kRegular = kPerThread == 1 || (kAlongK ? kThreads % kChunks == 0 && kRoundRows % 8 == 0
                                                               : kThreads % (kGroups * kParts) == 0);
  static constexpr int kOffsets = kRegular && (kWhole || !kAlongK) ? 1 : kPerThread;

  Loads memory;              // at the tile, the same in all threads
  i64 advance_bytes;         // from one K tile to the next
  Offset offset[kOffsets];   // of this thread's pieces, or of its first
  Offset round_step;         // from a piece to the thread's next
  Offset load_step;          // between the loads of a piece
  i64 row_step, tail_reach;  // bytes from row to row, and from the tile to the end of its last valid row's start

  // Lanes of a rows-contiguous tile: 8 groups of rows next to each other, so that a 128-bit write spreads over the
  // banks; then the parts of a chunk, which together fill its banks; then more groups.
  static constexpr int kFast = kGroups % 8 == 0 ? 8 : kGroups % 4 == 0 ? 4 : kGroups % 2 == 0 ? 2 : 1;
  CG_DEVICE int piece_of(int thread, int round) { return thread + round * kThreads; }
  CG_DEVICE int piece_row(int piece) {
    if constexpr (kAlongK) return Layout::copied_row(piece / kChunks);
    return (piece % kFast + piece / (kFast * kParts) % (kGroups / kFast) * kFast) * kPieceRows;
  }
  CG_DEVICE int piece_chunk(int piece) { return kAlongK ? piece % kChunks : piece / (kGroups * kParts); }
  CG_DEVICE int piece_part(int piece) { return kAlongK ? 0 : piece / kFast % kParts; }
  CG_DEVICE int piece_k(int piece) { return piece_chunk(piece) * kPack + piece_part(piece) * kRun; }
  CG_DEVICE bool has_piece(int thread, int round) {
    return kEven || round + 1 < kPerThread || piece_of(thread, round) < kPieces;
  }

  // As OperandTile::begin. Rows past the operand's end belong to no output element: a bounded load path reads zeros
  // there where it can tell, otherwise they read the last row again.
  CG_MEMBER void begin(const void* matrix, i64 row0, int rows, i64 row_stride, i64 k0, i64 k_stride, int thread) {
    if constexpr (kUnit && kAlongK) k_stride = 1;
    if constexpr (kUnit && !kAlongK) row_stride = 1;
    constexpr bool kClamp = !kWhole && !(kAlongK && Loads::kBounded);
    row_step = row_stride * kSize;
    tail_reach = (min_of(rows, kRows) - 1) * row_step;
    advance_bytes = kDepth * k_stride * kSize;
    load_step = static_cast<Offset>(k_stride) * (kAlongK ? kVec : 1) * kSize;
    round_step = static_cast<Offset>(kAlongK ? kRoundRows * row_stride : kRoundChunks * kPack * k_stride) * kSize;
    memory.begin((GlobalBytes)matrix + (row0 * row_stride + k0 * k_stride) * kSize,
                 kClamp || kWhole ? 0x7fffffff : tail_reach + depth_reach(kDepth));
#pragma unroll
    for (int r = 0; r < kOffsets; ++r) {
      const int piece = min_of(piece_of(thread, r), kPieces - 1), row = piece_row(piece);
      offset[r] =
          static_cast<Offset>((kClamp ? min_of(row, rows - kPieceRows) : row) * static_cast<Offset>(row_stride) +
                              piece_k(piece) * static_cast<Offset>(k_stride)) *
          kSize;
    }
  }

  // Load i of this thread, for the tile where the load path stands, all of it inside the operand. A thread without a
  // piece loads the last one too: loads under a condition are waited for where it ends.
  CG_MEMBER void fetch_one(Registers& to, int i, int thread) {
    if (kPerThread == 1 || has_piece(thread, i / kPieceLoads))
      to[i] = memory.template load<T, kVec>(lane_offset(i), uniform_offset(i));
  }
  CG_MEMBER void advance() { memory.advance(advance_bytes); }

  CG_MEMBER void fetch(Registers& to, int thread) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) fetch_one(to, i, thread);
    advance();
  }

  // Tile `tile`, of which only the first `depth` are inside. The rest must be zero: garbage times zero may be NaN.
  CG_MEMBER void fetch_tail(Registers& to, int thread, int tile, int depth) {
    if constexpr (!Loads::kAligned && kAlongK) return fetch_any_tail(to, thread, tile, depth);
    Loads tail;
    tail.begin(memory.base + tile * advance_bytes, kAlongK && !kWhole ? tail_reach + depth_reach(depth) : 0x7fffffff);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int r = i / kPieceLoads, k = piece_k(piece_of(thread, r)) + i % kPieceLoads * (kAlongK ? kVec : 1);
      to[i] = zeros<T, kVec>();
      if (has_piece(thread, r) && k < depth) to[i] = tail.template load<T, kVec>(lane_offset(i), uniform_offset(i));
    }
  }

  CG_DEVICE void commit(T* lds, const Registers& from, int thread) {
    char* bytes = reinterpret_cast<char*>(lds);
#pragma unroll
    for (int r = 0; r < kPerThread; ++r) {
      if (!has_piece(thread, r)) continue;
      if constexpr (kAlongK && kVec == kPack) {
        store<T, kPack>(place(bytes, thread, r, 0), from[r]);
      } else if constexpr (kAlongK) {
        Vec<T, kPack> chunk;
#pragma unroll
        for (int i = 0; i < kPack; ++i) chunk[i] = from[r * kPieceLoads + i / kVec][i % kVec];
        store<T, kPack>(place(bytes, thread, r, 0), chunk);
      } else {
        Load loads[kRun];
#pragma unroll
        for (int i = 0; i < kRun; ++i) loads[i] = in_one_piece(from[r * kRun + i]);
        Vec<T, kRun> runs[kVec];
        transpose<T, kRun, kVec>(loads, runs);
#pragma unroll
        for (int j = 0; j < kVec; ++j) store<T, kRun>(place(bytes, thread, r, j), runs[j]);
      }
    }
  }

 private:
  // As fetch_tail, for a depth that may end inside a vector: what would reach past it is read so that it ends there,
  // and moved down. The base lies a tile lower, for lane offsets must not become negative. All loads come before the
  // first that is waited for.
  CG_MEMBER void fetch_any_tail(Registers& to, int thread, int tile, int depth) {
    Loads tail;
    tail.begin(memory.base + (tile * advance_bytes - kDepth * kSize), 0x7fffffff);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      Offset lane = lane_offset(i) + static_cast<Offset>((kDepth - past(depth, thread, i)) * kSize);
      // Taken apart, the constant would go into the instruction and leave a negative offset, which is out of bounds.
      pin_offset(lane);
      if (has_piece(thread, i / kPieceLoads)) to[i] = tail.template load<T, kVec>(lane, uniform_offset(i));
    }
    schedule_fence();  // otherwise the operands' moves are mixed, and spill
#pragma unroll
    for (int i = 0; i < kLoads; ++i) to[i] = without_first(to[i], min_of(past(depth, thread, i), kVec));
  }

  // Elements by which load i would reach past the depth.
  CG_DEVICE int past(int depth, int thread, int i) {
    const int k = piece_k(piece_of(thread, kRegular ? 0 : i / kPieceLoads)) + i % kPieceLoads * kVec;
    return max_of(0, k + kVec - depth);
  }

  // Bytes from the first to the end of the last of `depth` elements along K.
  CG_MEMBER i64 depth_reach(int depth) const {
    return kUnit ? depth * kSize : static_cast<i64>(depth - 1) * load_step + kSize;
  }
  CG_MEMBER Offset& lane_offset(int i) { return offset[kOffsets == 1 ? 0 : i / kPieceLoads]; }
  CG_MEMBER Offset uniform_offset(int i) const {
    return (kOffsets == 1 ? i / kPieceLoads * round_step : 0) + i % kPieceLoads * load_step;
  }

  // Where row j of piece r of a thread goes in LDS.
  CG_DEVICE char* place(char* tile, int thread, int r, int j) {
    const int piece = kRegular ? thread : piece_of(thread, r);
    const int at = Layout::offset(piece_row(piece), piece_chunk(piece)) + piece_part(piece) * kRun * kSize;
    return kRegular ? Layout::moved(tile, at, r * kRoundRows + j, r * kRoundChunks) : Layout::moved(tile, at, j, 0);
  }
};

}  // namespace cg
