// The second kernel of a split-K product: adds up the partial products of the K slices, always in the same order.
#pragma once
#include "args.hpp"
#include "element.hpp"
#include "order.hpp"
#include "vec.hpp"

namespace cg {

constexpr int kSumThreads = 256;

// args.a is the workspace, in FP32: per K slice, split_stride elements further on, the matrices of the batch one after
// another, each M x N and row-major. Grid dimension x numbers runs of kVec columns, y and z the matrices.
template <class Out, int kVec, bool kUnit, int kBatchRank>
CG_DEVICE void add_slices(const GemmArgs& args) {
  const i64 matrix = static_cast<i64>(args.m) * args.n;
  const i64 element = (static_cast<i64>(block_x()) * kSumThreads + thread_index()) * kVec;
  const i64 batch = block_y() + static_cast<i64>(block_z()) * args.grid_y;
  if (element >= matrix || batch >= args.batches) return;
  const float* from = static_cast<const float*>(args.a) + batch * matrix + element;
  Vec<float, kVec> sum = load<float, kVec>(from);
#pragma unroll 8
  for (int s = 1; s < args.splits; ++s) {
    const Vec<float, kVec> next = load<float, kVec>(from + s * args.split_stride);
#pragma unroll
    for (int i = 0; i < kVec; ++i) sum[i] = fma(next[i], 1.0f, sum[i]);
  }
  const i64 row = element / args.n, column = element - row * args.n;
  Out* to = static_cast<Out*>(args.c) +
            batch_offset<kBatchRank>(static_cast<int>(batch), args.c_batch, args.batch_size) + row * args.c_m;
  Vec<Out, kVec> out;
#pragma unroll
  for (int i = 0; i < kVec; ++i) out[i] = convert<Out>(sum[i]);
  store<Out, kVec>(kUnit ? to + column : to + column * args.c_n, out);
}

}  // namespace cg
