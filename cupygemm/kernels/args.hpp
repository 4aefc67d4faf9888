// What the host tells a kernel: one struct, passed by value. launch.py packs it field by field in this order.
#pragma once
#include "prelude.hpp"

namespace cg {

constexpr int kBatchDims = 4;

// C[batch] (M x N) = A[batch] (M x K) * B[batch] (K x N). Strides count elements and may be negative or 0.
struct GemmArgs {
  const void* a;
  const void* b;
  void* c;
  i64 a_m, a_k;  // A[m, k] at a + m * a_m + k * a_k
  i64 b_k, b_n;
  i64 c_m, c_n;
  i64 a_batch[kBatchDims], b_batch[kBatchDims], c_batch[kBatchDims];  // innermost batch dimension first
  i64 split_stride;  // elements between the partial products of two K slices in the workspace
  i32 m, n, k;
  i32 k_slice;  // K range of one slice of a split-K launch, a multiple of the K tile; K where there is one slice
  i32 splits;   // K slices
  i32 batches;  // matrices in the batch
  i32 batch_size[kBatchDims];  // extents of the batch dimensions, innermost first
  i32 tiles_m, tiles_n;        // block tiles along M and N
  i32 group_m;                 // rows of block tiles walked together (order.hpp)
  i32 grid_y;                  // blocks in grid dimension y, to number what dimension z repeats
};

}  // namespace cg
