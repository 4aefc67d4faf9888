// Epilogue: what happens to the accumulators on their way to C.
#pragma once
#include "args.hpp"
#include "element.hpp"
#include "vec.hpp"

namespace cg {

// Stores straight from registers: finish(sum, m, n) makes an element of C of a sum. kVec columns move at once: the host
// guarantees that N, the row stride and the base allow it. kUnit: columns of C lie next to each other; otherwise their
// stride is an argument.
template <class Out, int kVec, bool kUnit, class Compute, class Finish>
CG_DEVICE void store_result(const Compute& compute, const typename Compute::Accumulator& acc, const GemmArgs& args,
                            i64 c_offset, int row0, int col0, Finish finish) {
  static_assert(sizeof(Out) * kVec <= 16, "a store moves at most 16 bytes");
  static_assert(kUnit || kVec == 1, "columns that are apart are stored one by one");
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
        for (int i = 0; i < kVec; ++i) out[i] = finish(value[j + i], m, n + i);
        store<Out, kVec>(kUnit ? line + n : line + n * args.c_n, out);
      }
    }
  });
}

// Nothing but the conversion to C's type.
template <class Out, int kVec, bool kUnit>
struct DirectStore {
  template <class Compute>
  CG_DEVICE void run(const Compute& compute, const typename Compute::Accumulator& acc, const GemmArgs& args,
                     i64 c_offset, int row0, int col0) {
    store_result<Out, kVec, kUnit>(compute, acc, args, c_offset, row0, col0,
                                   [](auto sum, int, int) { return convert<Out>(sum); });
  }
};

}  // namespace cg
