// A MatrixTile whose whole tiles go from global memory straight to LDS (DirectToLds in tile.hpp), for operands with K
// contiguous on CDNA 3 and 4.
#pragma once
#include "matrix_tile.hpp"

namespace cg {

#if defined(__gfx942__) || defined(__gfx950__)
// LDS fills in the order of the lanes, so the permutation of chunks is applied to where a lane reads: it fetches the
// chunk whose place in LDS is the lane's own. Parameters as MatrixTile's.
template <class T, int kRows_, int kDepth_, int kVec_, bool kWhole_, class Loads, class Layout_, int kThreads>
struct DirectMatrixTile
    : MatrixTile<T, kRows_, kDepth_, Contiguous::kK, kVec_, true, kWhole_, Loads, Layout_, kThreads> {
  using Base = MatrixTile<T, kRows_, kDepth_, Contiguous::kK, kVec_, true, kWhole_, Loads, Layout_, kThreads>;
  using Layout = Layout_;
  static constexpr int kWords = sizeof(T) * kVec_ == kChunkBytes ? kMaxDirectWords : 1;
  static constexpr int kBytes = 4 * kWords;  // a lane and load
  static constexpr int kRun = kWave * kBytes, kWaves = kThreads / kWave, kRuns = Layout::kBytes / (kRun * kWaves);
  using DirectOffsets = u32[kRuns];

  static_assert(sizeof(T) * kVec_ >= 4, "direct loads move 4 bytes at least, which must be aligned to 4");
  static_assert(kRuns * kRun * kWaves == Layout::kBytes, "every wave must fill whole runs of LDS");

  int last_row;

  CG_MEMBER void begin(const void* matrix, i64 row0, int rows, i64 row_stride, i64 k0, i64 k_stride, int thread) {
    Base::begin(matrix, row0, rows, row_stride, k0, k_stride, thread);
    last_row = rows - 1;
  }

  CG_DEVICE int run_start(int run, int thread) { return (run * kWaves + uniform(thread / kWave)) * kRun; }

  CG_MEMBER void begin_direct(DirectOffsets& to, int thread) const {
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      const int place = run_start(r, thread) + thread % kWave * kBytes;
      const int row = place / Layout::kPitch, chunk = place % Layout::kPitch / kChunkBytes;
      to[r] = min_of(row, last_row) * static_cast<u32>(this->row_step) +
              (chunk ^ Layout::permutation(row)) * kChunkBytes + place % kChunkBytes;
    }
  }

  // Run r of the next tile, which goes to `lds`.
  template <int r>
  CG_MEMBER void copy_one(T* lds, const DirectOffsets& from, int thread) const {
    copy_to_lds<kWords, r * kRun * kWaves>(this->memory.base, from[r],
                                           reinterpret_cast<char*>(lds) + run_start(0, thread));
  }
};
#endif

}  // namespace cg
