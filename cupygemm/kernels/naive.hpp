// Where the FP32 ladder starts (seed tutorial 000, step 1): a thread reads a row of A and a column of B from global
// memory for its element of C. Kept to measure what the other kernels gain.
#pragma once
#include "order.hpp"

namespace cg {

template <class T, int kBlockM, int kBlockN>
CG_DEVICE void naive(const GemmArgs& args) {
  const BlockPlace place = place_block<false, false>(args);
  const int m = place.tile_m * kBlockM + thread_index() / kBlockN;
  const int n = place.tile_n * kBlockN + thread_index() % kBlockN;
  if (m >= args.m || n >= args.n) return;
  const T* a = static_cast<const T*>(args.a) + m * args.a_m;
  const T* b = static_cast<const T*>(args.b) + n * args.b_n;
  T sum = T(0);
  for (int k = 0; k < args.k; ++k) sum = fma(a[k * args.a_k], b[k * args.b_k], sum);
  static_cast<T*>(args.c)[m * args.c_m + n * args.c_n] = sum;
}

}  // namespace cg
