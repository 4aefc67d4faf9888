// Packing an operand B for packed.hpp.
#pragma once
#include "packed.hpp"

namespace cg {

constexpr int kPackThreads = 256;

struct PackArgs {
  const void* b;
  void* out;
  i64 k, n;      // extents of B
  i64 b_k, b_n;  // its strides, in elements
  i64 chunks;    // of 16 bytes along K, the filling included
  i64 total;     // chunks of the packed array
};

// A thread makes one chunk. Word: an unsigned integer of an element's size.
template <class Word>
CG_DEVICE void pack(const PackArgs& args) {
  constexpr int kPack = kChunkBytes / sizeof(Word);
  const i64 index = (block_x() + static_cast<i64>(block_y()) * 65536) * kPackThreads + thread_index();
  if (index >= args.total) return;
  const i64 n = index / (kPackedColumns * args.chunks) * kPackedColumns + index % kPackedColumns;
  const i64 k = index / kPackedColumns % args.chunks * kPack;
  const Word* b = static_cast<const Word*>(args.b) + n * args.b_n;
  Vec<Word, kPack> chunk = zeros<Word, kPack>();
#pragma unroll
  for (int i = 0; i < kPack; ++i)
    if (n < args.n && k + i < args.k) chunk[i] = b[(k + i) * args.b_k];
  store<Word, kPack>(static_cast<Word*>(args.out) + index * kPack, chunk);
}

}  // namespace cg
