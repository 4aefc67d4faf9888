// Stream-K (Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the
// GPU"): the tiles of C that do not fill a last round of blocks are put end to end, K tile after K tile, and cut in
// equal streams, one a block. A tile that several streams meet in is left to the sum, in pieces.
//
// Streams are cut by the host's numbers alone and a second kernel adds up the pieces in an order of its own, so that
// the same call gives the same bits.
#pragma once
#include "element.hpp"
#include "gemm.hpp"
#include "split_sum.hpp"

namespace cg {

struct StreamArgs : GemmArgs {
  float* pieces;  // workspace: by piece, by tile in streams, kBlockM x kBlockN sums, row-major
  i32 streams;    // the first blocks of the grid; the others compute a whole tile each
  i32 tiles;      // tiles in streams, the first ones of C
  i32 steps;      // K tiles of a tile of C
  i32 share;      // K tiles of a stream
  i32 longer;     // the first streams, which have one more
  i32 block_m, block_n;
};

// Where stream `stream` begins, in K tiles.
CG_DEVICE int stream_begin(const StreamArgs& args, int stream) {
  return stream * args.share + min_of(stream, args.longer);
}

// The stream that K tile `step` is in.
CG_DEVICE int stream_of(const StreamArgs& args, int step) {
  const int in_longer = args.longer * (args.share + 1);
  return step < in_longer ? step / (args.share + 1) : args.longer + (step - in_longer) / args.share;
}

// Which matrix of the batch tile `index` belongs to, and where it lies there.
CG_DEVICE BlockPlace place_tile(const GemmArgs& args, int index) {
  BlockPlace p{0, 0, 0, 0, true};
  const int tiles = args.tiles_m * args.tiles_n;
  p.batch = uniform(index / tiles);
  grouped(index - p.batch * tiles, args, p.tile_m, p.tile_n);
  return p;
}

template <class T, class Tile, class Compute, class Epilogue, int kBatchRank>
CG_DEVICE void gemm_in_streams(const StreamArgs& args) {
  static_assert(CheckPolicies<Tile, Compute>::ok, "");
  static_assert(!FirstRow<typename Tile::A>::kInside && !FirstRow<typename Tile::B>::kInside,
                "a piece in the workspace must not overlap another");
  constexpr int kBlockM = Compute::kBlockM, kBlockN = Compute::kBlockN, kDepth = Compute::kDepth;
  typename Tile::Storage& lds = Lds<Tile>::get();

  const int block = block_x();
  int step, end;
  if (block < args.streams) {
    step = stream_begin(args, block);
    end = stream_begin(args, block + 1);
  } else {
    step = (args.tiles + block - args.streams) * args.steps;
    end = step + args.steps;
  }
  while (true) {
    const int tile = uniform(step / args.steps), first = step - tile * args.steps;
    const int count = min_of(end - step, args.steps - first);
    const BlockPlace place = place_tile(args, tile);
    const int k0 = first * kDepth;
    multiply_part<T, Tile, Compute, kBatchRank>(
        args, lds, place, k0, min_of(args.k - k0, count * kDepth),
        [&](const Compute& compute, const typename Compute::Accumulator& acc, int row0, int col0) {
          GemmArgs to = args;
          i64 offset = batch_offset<kBatchRank>(place.batch, args.c_batch, args.batch_size);
          if (count < args.steps) {
            const int piece = block - stream_of(args, tile * args.steps);
            offset = (static_cast<i64>(piece) * args.tiles + tile) * (kBlockM * kBlockN);
            to.c = args.pieces;
            to.c_m = kBlockN;
            to.m -= row0;
            to.n -= col0;
            row0 = col0 = 0;
          }
          Epilogue::template run<Inside<false, false>>(compute, acc, to, offset, row0, col0, lds);
        });
    step += count;
    if (step == end) return;
    barrier();  // other waves may still read the last tiles
  }
}

// Adds up the pieces of the tiles that several streams met in. Grid dimension x numbers runs of columns of a tile, y
// the tiles.
template <class Out, class Sums, int kBatchRank>
CG_DEVICE void add_pieces(const StreamArgs& args) {
  const int tile = block_y(), first = stream_of(args, tile * args.steps);
  const int pieces = stream_of(args, (tile + 1) * args.steps - 1) - first + 1;
  if (pieces == 1) return;
  const int element = static_cast<int>(Sums::element()), size = args.block_m * args.block_n;
  const BlockPlace place = place_tile(args, tile);
  const int row = element / args.block_n;
  const int m = place.tile_m * args.block_m + row, n = place.tile_n * args.block_n + element - row * args.block_n;
  typename Sums::Run sum;
  const float* from = args.pieces + static_cast<i64>(tile) * size + element;
  const bool inside = element < size && m < args.m && n < args.n;
  if (!Sums::of(sum, from, static_cast<i64>(args.tiles) * size, pieces, inside)) return;
  Out* c = static_cast<Out*>(args.c) + batch_offset<kBatchRank>(place.batch, args.c_batch, args.batch_size);
  store<Out, Sums::kVec>(c + m * args.c_m + n, converted<Out>(sum));
}

}  // namespace cg
