// Products with very few rows: C (M x N, M <= 4 or so) = A * B, a handful of GEMVs that read B once. Bound by memory,
// so there is no tile of B in LDS: each thread streams its share of B through registers, many loads ahead.
#pragma once
#include "operand.hpp"
#include "order.hpp"

namespace cg {

constexpr int kGemvThreads = 256;
constexpr int kGemvColumns = 8;                          // threads side by side along N
constexpr int kGemvLanes = kGemvThreads / kGemvColumns;  // threads that share a column, each with a part of K

// kContiguous, kVec, kUnit: how B is read, as in OperandTile. Where N is contiguous in memory, a thread reads kVec
// columns at every 32nd k; where K is, it reads kVec values of k at a time of one column, and as many of A if kVecA.
template <class T, int kRows, Contiguous kContiguous, int kVec, bool kUnit, bool kVecA>
struct Gemv {
  static constexpr bool kAlongK = kContiguous == Contiguous::kK;
  static constexpr int kBlockN = kGemvColumns * (kAlongK ? 1 : kVec);
  static constexpr int kColumns = kAlongK ? 1 : kVec;  // of a thread
  static constexpr int kStep = kAlongK ? kVec : 1;     // values of k of one load
  static constexpr int kAhead = 8;                     // loads before the first use
  static_assert(kUnit || kVec == 1, "only a unit-stride index can be loaded in vectors");

  struct Storage {
    T partial[kRows * kBlockN][kGemvLanes + 1];  // one more: the threads that add up lines read different banks
  };
  T sum[kRows][kColumns];

  CG_MEMBER void multiply(const Vec<T, kVec>& b, GlobalBytes a, i64 a_m, i64 a_k, int rows) {
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      const GlobalBytes line = a + min_of(m, rows - 1) * a_m;
      if constexpr (kAlongK) {
        Vec<T, kVec> x;
        if constexpr (kVecA) {
          x = load<T, kVec>(line);
        } else {
#pragma unroll
          for (int i = 0; i < kVec; ++i) x[i] = load<T, 1>(line + i * a_k)[0];
        }
#pragma unroll
        for (int i = 0; i < kVec; ++i) sum[m][0] = fma(x[i], b[i], sum[m][0]);
      } else {
        const T x = load<T, 1>(line)[0];
#pragma unroll
        for (int i = 0; i < kVec; ++i) sum[m][i] = fma(x, b[i], sum[m][i]);
      }
    }
  }

  // All strides in bytes. `a` and `b` are at the block's first row and this thread's first column.
  CG_MEMBER void run(GlobalBytes a, GlobalBytes b, i64 a_m, i64 a_k, i64 b_k, int rows, int depth, int lane) {
#pragma unroll
    for (int m = 0; m < kRows; ++m)
#pragma unroll
      for (int j = 0; j < kColumns; ++j) sum[m][j] = T(0);
    constexpr int kStride = kGemvLanes * kStep;
    const i64 a_step = kStride * a_k, b_step = kStride * b_k;
    a += lane * kStep * a_k;
    b += lane * kStep * b_k;
    int left = (depth - lane * kStep + kStride - 1) / kStride;  // this thread's loads
    for (; left >= kAhead; left -= kAhead) {
      Vec<T, kVec> ahead[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) ahead[i] = load<T, kVec>(b + i * b_step);
#pragma unroll
      for (int i = 0; i < kAhead; ++i) multiply(ahead[i], a + i * a_step, a_m, a_k, rows);
      a += kAhead * a_step;
      b += kAhead * b_step;
    }
    for (; left > 0; --left) {
      multiply(load<T, kVec>(b), a, a_m, a_k, rows);
      a += a_step;
      b += b_step;
    }
  }
};

template <class T, int kRows, Contiguous kContiguous, int kVec, bool kUnit, bool kVecA, int kBatchRank>
CG_DEVICE void gemv(const GemmArgs& args) {
  using Policy = Gemv<T, kRows, kContiguous, kVec, kUnit, kVecA>;
  constexpr i64 size = sizeof(T);
  __shared__ typename Policy::Storage lds;
  const BlockPlace place = place_block<(kBatchRank > 0), false>(args);
  if (!place.active) return;
  const int thread = thread_index();
  // Neighbouring threads read neighbouring memory.
  const int column = Policy::kAlongK ? thread / kGemvLanes : thread % kGemvColumns;
  const int lane = Policy::kAlongK ? thread % kGemvLanes : thread / kGemvColumns;
  const int row0 = place.tile_m * kRows, col0 = place.tile_n * Policy::kBlockN;
  const int rows = min_of(kRows, args.m - row0);
  // Columns past the end read the last ones again; nobody stores their sums.
  const int col = min_of(col0 + column * Policy::kColumns, args.n - Policy::kColumns);
  const i64 b_k = kUnit && Policy::kAlongK ? 1 : args.b_k, b_n = kUnit && !Policy::kAlongK ? 1 : args.b_n;
  const i64 a_offset = batch_offset<kBatchRank>(place.batch, args.a_batch, args.batch_size) + row0 * args.a_m;
  const i64 b_offset = batch_offset<kBatchRank>(place.batch, args.b_batch, args.batch_size) + col * b_n;

  Policy policy;
  policy.run((GlobalBytes)args.a + a_offset * size, (GlobalBytes)args.b + b_offset * size, args.a_m * size,
             (kVecA ? 1 : args.a_k) * size, b_k * size, rows, args.k, lane);
#pragma unroll
  for (int m = 0; m < kRows; ++m)
#pragma unroll
    for (int j = 0; j < Policy::kColumns; ++j)
      lds.partial[m * Policy::kBlockN + column * Policy::kColumns + j][lane] = policy.sum[m][j];
  barrier();

  T* c = static_cast<T*>(args.c) + batch_offset<kBatchRank>(place.batch, args.c_batch, args.batch_size);
  for (int i = thread; i < kRows * Policy::kBlockN; i += kGemvThreads) {
    const int m = i / Policy::kBlockN, n = col0 + i % Policy::kBlockN;
    if (m >= rows || n >= args.n) continue;
    T total = lds.partial[i][0];
#pragma unroll
    for (int l = 1; l < kGemvLanes; ++l) total = fma(lds.partial[i][l], T(1), total);
    c[static_cast<i64>(row0 + m) * args.c_m + n * args.c_n] = total;
  }
}

}  // namespace cg
