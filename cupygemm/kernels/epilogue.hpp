// Epilogue: what happens to the accumulators on their way to C.
#pragma once
#include "args.hpp"
#include "element.hpp"
#include "vec.hpp"

namespace cg {

// How C is written. kVec columns move at once: the host guarantees that N, the row stride and the base allow it, or
// else says that they are not kAligned. kUnit: columns of C lie next to each other; otherwise their stride is an
// argument. kThroughLds: each wave gathers rows of its part in LDS first, so that a store covers whole cache lines.
template <class Out_, int kVec_, bool kUnit_, bool kAligned_, bool kThroughLds_>
struct Stores {
  using Out = Out_;
  static constexpr int kVec = kVec_;
  static constexpr bool kUnit = kUnit_, kAligned = kAligned_, kThroughLds = kThroughLds_;
  static_assert(sizeof(Out) * kVec <= 16, "a store moves at most 16 bytes");
  static_assert(kUnit || kVec == 1, "columns that are apart are stored one by one");
  static_assert(!kThroughLds || kUnit, "gathering rows is for columns that lie next to each other");
};

// Which bounds the tile of a block needs no check for: no row (column) of it is past the end of C.
template <bool kRows_, bool kColumns_>
struct Inside {
  static constexpr bool kRows = kRows_, kColumns = kColumns_;
};

// C, as the threads of a block write it.
template <class Stores, class Inside>
struct Target {
  using Out = typename Stores::Out;
  static constexpr int kVec = Stores::kVec;
  static constexpr bool kCut = !Stores::kAligned && !Inside::kColumns;  // N may end inside a vector
  const GemmArgs& args;
  Out* c;

  CG_MEMBER Target(const GemmArgs& args, i64 c_offset) : args(args), c(static_cast<Out*>(args.c) + c_offset) {}
  CG_MEMBER bool holds(int m, int n) const { return (Inside::kRows || m < args.m) && (Inside::kColumns || n < args.n); }
  // The nearest row (column) of C: what is read for places past its end.
  CG_MEMBER int row(int m) const { return Inside::kRows ? m : min_of(m, args.m - 1); }
  CG_MEMBER int column(int n) const { return Inside::kColumns ? n : min_of(n, args.n - 1); }

  CG_MEMBER Out* line(int m) const { return c + static_cast<i64>(m) * args.c_m; }
  CG_MEMBER void put(Out* line, int n, const Vec<Out, kVec>& x) const {
    if constexpr (Stores::kAligned) {
      store<Out, kVec>(Stores::kUnit ? line + n : line + n * args.c_n, x);
    } else if (!kCut || n + kVec <= args.n) {
      store_unaligned<Out, kVec>(line + n, x);
    } else {
#pragma unroll
      for (int i = 0; i < kVec - 1; ++i)
        if (n + i < args.n) line[n + i] = x[i];
    }
  }
};

// Stores straight from registers.
template <class Compute, class Target, class Finish>
CG_DEVICE void store_directly(const Compute& compute, const typename Compute::Accumulator& acc, const Target& target,
                              int row0, int col0, Finish finish) {
  constexpr int kVec = Target::kVec;
  compute.for_each(acc, [&](int row, int col, const auto& value) {
    constexpr int kCount = sizeof(value) / sizeof(value[0]);
    const int m = row0 + row;
    typename Target::Out* line = target.line(m);
#pragma unroll
    for (int j = 0; j < kCount; j += kVec) {
      const int n = col0 + col + j;
      if (target.holds(m, n)) {
        Vec<typename Target::Out, kVec> out;
#pragma unroll
        for (int i = 0; i < kVec; ++i) out[i] = finish(value[j + i], m, Target::kCut ? target.column(n + i) : n + i);
        target.put(line, n, out);
      }
    }
  });
}

// Stores rows that a wave gathers in its share of LDS: results of an instruction lie in it in short pieces of many
// rows, each in a cache line of its own. One row of instruction tiles at a time. Writes of 8 bytes meet one other in a
// bank; reads meet none.
template <class Compute, class Target, class Storage, class Finish>
CG_DEVICE void store_gathered(const Compute& compute, const typename Compute::Accumulator& acc, const Target& target,
                              int row0, int col0, Storage& lds, Finish finish) {
  using Out = typename Target::Out;
  constexpr int kVec = Target::kVec, kSize = sizeof(Out), kRows = Compute::kTile, kColumns = Compute::kWaveN;
  constexpr int kPitch = kColumns * kSize + 16, kChunks = kColumns / kVec;
  constexpr int kWavesM = Compute::kBlockM / Compute::kWaveM, kWavesN = Compute::kBlockN / kColumns;
  static_assert(kWavesM * kWavesN * kRows * kPitch <= sizeof(Storage), "the rows of all waves must fit in LDS");
  static_assert(kRows * kChunks % kWave == 0, "the lanes of a wave must share the rows evenly");
  const int thread = thread_index(), wave = uniform(thread / kWave), lane = thread % kWave;
  const int wave_row = wave / kWavesN * Compute::kWaveM, wave_col = wave % kWavesN * kColumns;
  char* own = reinterpret_cast<char*>(&lds) + wave * (kRows * kPitch);
  barrier();  // other waves may still read the last tiles
  compute.for_each(
      acc,
      [&](int row, int col, const auto& value) {
        constexpr int kCount = sizeof(value) / sizeof(value[0]);
        constexpr int kAtOnce = min_of(kCount, 16 / kSize);
#pragma unroll
        for (int j = 0; j < kCount; j += kAtOnce) {
          Vec<Out, kAtOnce> out;
#pragma unroll
          for (int i = 0; i < kAtOnce; ++i)
            out[i] = finish(value[j + i], target.row(row0 + row), target.column(col0 + col + j + i));
          store<Out, kAtOnce>(own + (row - wave_row) % kRows * kPitch + (col - wave_col + j) * kSize, out);
        }
      },
      [&](int m) {
        wave_barrier();
#pragma unroll
        for (int i = 0; i < kRows * kChunks / kWave; ++i) {
          const int piece = lane + i * kWave, row = piece / kChunks, col = piece % kChunks * kVec;
          const Vec<Out, kVec> x = load<Out, kVec>(own + row * kPitch + col * kSize);
          const int to_row = row0 + wave_row + m * kRows + row, to_col = col0 + wave_col + col;
          if (target.holds(to_row, to_col)) target.put(target.line(to_row), to_col, x);
        }
        wave_barrier();
      });
}

// finish(sum, m, n) makes an element of C of a sum.
template <class Stores, class Inside, class Compute, class Storage, class Finish>
CG_DEVICE void store_result(const Compute& compute, const typename Compute::Accumulator& acc, const GemmArgs& args,
                            i64 c_offset, int row0, int col0, Storage& lds, Finish finish) {
  const Target<Stores, Inside> target(args, c_offset);
  if constexpr (Stores::kThroughLds) {
    store_gathered(compute, acc, target, row0, col0, lds, finish);
  } else {
    store_directly(compute, acc, target, row0, col0, finish);
  }
}

// Nothing but the conversion to C's type.
template <class Stores>
struct PlainStore {
  template <class Inside, class Compute, class Storage>
  CG_DEVICE void run(const Compute& compute, const typename Compute::Accumulator& acc, const GemmArgs& args,
                     i64 c_offset, int row0, int col0, Storage& lds) {
    store_result<Stores, Inside>(compute, acc, args, c_offset, row0, col0, lds,
                                 [](auto sum, int, int) { return convert<typename Stores::Out>(sum); });
  }
};

}  // namespace cg
