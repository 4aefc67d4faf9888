// Epilogue: what happens to the accumulators on their way to C.
#pragma once
#include "args.hpp"
#include "element.hpp"
#include "vec.hpp"

namespace cg {

// Stores straight from registers. kVec columns move at once: the host guarantees that N, the row stride and the base
// allow it. kUnit: columns of C lie next to each other; otherwise their stride is an argument.
template <class Out, int kVec, bool kUnit>
struct DirectStore {
  static_assert(sizeof(Out) * kVec <= 16, "a store moves at most 16 bytes");
  static_assert(kUnit || kVec == 1, "columns that are apart are stored one by one");

  template <class Compute>
  CG_DEVICE void run(const Compute& compute, const typename Compute::Accumulator& acc, const GemmArgs& args,
                     i64 c_offset, int row0, int col0) {
    Out* c = static_cast<Out*>(args.c) + c_offset;
    compute.for_each(acc, [&](int row, int col, const auto& value) {
      constexpr int kCount = sizeof(value) / sizeof(value[0]);
      const int m = row0 + row;
      Out* line = c + static_cast<i64>(m) * args.c_m;
#pragma unroll
      for (int j = 0; j < kCount; j += kVec) {
        const int n = col0 + col + j;
        if (m < args.m && n < args.n) {
          Vec<Out, kVec> out;
#pragma unroll
          for (int i = 0; i < kVec; ++i) out[i] = convert<Out>(value[j + i]);
          store<Out, kVec>(kUnit ? line + n : line + n * args.c_n, out);
        }
      }
    });
  }
};

}  // namespace cg
