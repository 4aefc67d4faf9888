// BlockOrder: which tile of C, which matrix of the batch and which slice of K a block computes.
#pragma once
#include "args.hpp"

namespace cg {

struct BlockPlace {
  int tile_m, tile_n;
  int batch, split;
  bool active;  // false: this block only fills up the grid
};

// Blocks are numbered column by column inside a group of `group_m` rows of tiles, group after group. Blocks that run at
// the same time then share few rows of A and few columns of B, which their L2 can hold (seed tutorial 001, step 6).
// group_m = 1 is plain row order.
CG_DEVICE void grouped(int index, const GemmArgs& args, int& tile_m, int& tile_n) {
  const int group_blocks = args.group_m * args.tiles_n;
  const int group = index / group_blocks;
  const int first = group * args.group_m;
  const int rows = min_of(args.group_m, args.tiles_m - first);
  const int inside = index - group * group_blocks;
  tile_n = inside / rows;
  tile_m = first + inside - tile_n * rows;
}

// CDNA 3 and 4 are made of 8 dies (XCDs) with an L2 cache each, and hand blocks to them in turn. Renumbered, the blocks
// of a die are consecutive, so that neighbours share its cache. Every number from 0 to blocks - 1 occurs once.
#if defined(__gfx942__) || defined(__gfx950__)
constexpr int kDies = 8;
#else
constexpr int kDies = 1;
#endif
CG_DEVICE int die_order(int index, int blocks) {
  if constexpr (kDies == 1) return index;
  const int die = index % kDies, rest = blocks % kDies;
  return die * (blocks / kDies) + min_of(die, rest) + index / kDies;
}

// Grid dimension x numbers tiles; y and z together number matrices and K slices, since each of y and z stops at 65,535.
template <bool kBatched, bool kSplit>
CG_DEVICE BlockPlace place_block(const GemmArgs& args) {
  BlockPlace p{0, 0, 0, 0, true};
  grouped(die_order(block_x(), args.tiles_m * args.tiles_n), args, p.tile_m, p.tile_n);
  if constexpr (kBatched || kSplit) {
    const i64 index = block_y() + static_cast<i64>(block_z()) * args.grid_y;
    p.active = index < static_cast<i64>(args.batches) * args.splits;
    p.batch = static_cast<int>(index);
    if constexpr (kSplit) {
      // The grid holds fewer than 2^32 layers. AMD GPUs divide in vector registers, where base addresses must not be.
      p.batch = uniform(static_cast<int>(static_cast<u32>(index) / static_cast<u32>(args.splits)));
      p.split = uniform(static_cast<int>(index - static_cast<i64>(p.batch) * args.splits));
    }
  }
  return p;
}

// Offset in elements of matrix `index` of the batch, whose dimensions need not collapse into one stride.
template <int kDims>
CG_DEVICE i64 batch_offset(int index, const i64 (&stride)[kBatchDims], const i32 (&size)[kBatchDims]) {
  static_assert(kDims >= 0 && kDims <= kBatchDims, "batch dimensions beyond kBatchDims are looped over by the host");
  i64 offset = 0;
#pragma unroll
  for (int d = 0; d < kDims; ++d) {
    if (d == kDims - 1) {
      offset += index * stride[d];
    } else {
      const int outer = index / size[d];
      offset += (index - outer * size[d]) * stride[d];
      index = outer;
    }
  }
  return offset;
}

}  // namespace cg
