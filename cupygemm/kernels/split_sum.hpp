// The second kernel of a product in slices of K: adds up partial products, always in the same order.
#pragma once
#include "args.hpp"
#include "element.hpp"
#include "order.hpp"
#include "vec.hpp"

namespace cg {

constexpr int kSumThreads = 256;

// How a block shares the work: kRuns threads side by side, each with a run of kVec columns, and kLanes threads a run,
// which add up every kLanes-th partial product, since a small matrix in many slices has too few runs to fill a GPU.
template <int kVec_, int kLanes_>
struct Sums {
  static constexpr int kVec = kVec_, kLanes = kLanes_, kRuns = kSumThreads / kLanes;
  static_assert(kRuns * kLanes == kSumThreads, "the threads of a block must share its runs evenly");
  using Run = Vec<float, kVec>;

  // The first element of this thread's run.
  CG_DEVICE i64 element() { return (static_cast<i64>(block_x()) * kRuns + thread_index() % kRuns) * kVec; }

  // Partial products `step` elements apart, from `from` on. All threads of a block call it; the sum is in lane 0, where
  // it returns true. `inside`: there is such a run.
  CG_DEVICE bool of(Run& sum, const float* from, i64 step, int count, bool inside) {
    const int lane = thread_index() / kRuns;
    const bool any = inside && (kLanes == 1 || lane < count);
    if (any) {
      from += lane * step;
      sum = load<float, kVec>(from);
#pragma unroll 8
      for (int s = lane + kLanes; s < count; s += kLanes) add_to(sum, load<float, kVec>(from += kLanes * step));
    }
    if constexpr (kLanes > 1) {
      __shared__ Run sums[kSumThreads];
      if (any) sums[thread_index()] = sum;
      barrier();
      if (lane > 0) return false;
#pragma unroll 1
      for (int l = 1; l < min_of(kLanes, count); ++l) add_to(sum, sums[l * kRuns + thread_index()]);
    }
    return inside;
  }

 private:
  CG_DEVICE void add_to(Run& sum, const Run& more) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) sum[i] = add(sum[i], more[i]);
  }
};

template <class Out, int kVec>
CG_DEVICE Vec<Out, kVec> converted(const Vec<float, kVec>& sum) {
  Vec<Out, kVec> out;
#pragma unroll
  for (int i = 0; i < kVec; ++i) out[i] = convert<Out>(sum[i]);
  return out;
}

// args.a is the workspace, in FP32: per K slice, split_stride elements further on, the matrices of the batch one after
// another, each M x N and row-major. Grid dimension x numbers runs of columns, y and z the matrices.
template <class Out, class Sums, bool kUnit, int kBatchRank>
CG_DEVICE void add_slices(const GemmArgs& args) {
  const i64 matrix = static_cast<i64>(args.m) * args.n;
  const i64 element = Sums::element();
  const i64 batch = block_y() + static_cast<i64>(block_z()) * args.grid_y;
  if (batch >= args.batches) return;
  typename Sums::Run sum;
  const float* from = static_cast<const float*>(args.a) + batch * matrix + element;
  if (!Sums::of(sum, from, args.split_stride, args.splits, element < matrix)) return;
  const i64 row = element / args.n, column = element - row * args.n;
  Out* to = static_cast<Out*>(args.c) +
            batch_offset<kBatchRank>(static_cast<int>(batch), args.c_batch, args.batch_size) + row * args.c_m;
  store<Out, Sums::kVec>(kUnit ? to + column : to + column * args.c_n, converted<Out>(sum));
}

}  // namespace cg
