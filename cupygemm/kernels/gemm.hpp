// The one orchestrating template: C = A * B for any TilePolicy, ComputePolicy and epilogue. Nothing in here knows an
// arch.
#pragma once
#include "epilogue.hpp"
#include "order.hpp"
#include "simt.hpp"
#include "tile.hpp"

namespace cg {

template <class Tile, class Compute>
struct CheckPolicies {
  static_assert(sizeof(typename Tile::Storage) > 0, "a TilePolicy keeps its tiles in LDS");
  static_assert(Tile::A::kRows == Compute::kBlockM, "the tile of A must have as many rows as the block computes");
  static_assert(Tile::B::kRows == Compute::kBlockN, "the tile of B must have as many columns as the block computes");
  static_assert(Tile::kDepth == Compute::kDepth, "TilePolicy and ComputePolicy must agree on the K tile");
  static constexpr bool ok = true;
};

template <class T, class Tile, class Compute, class Epilogue, int kBatchRank, bool kSplit>
CG_DEVICE void gemm(const GemmArgs& args) {
  static_assert(CheckPolicies<Tile, Compute>::ok, "");
  __shared__ typename Tile::Storage lds;

  const BlockPlace place = place_block<(kBatchRank > 0), kSplit>(args);
  if (!place.active) return;
  const int thread = thread_index();
  const int row0 = place.tile_m * Compute::kBlockM, col0 = place.tile_n * Compute::kBlockN;
  const int k0 = kSplit ? place.split * args.k_slice : 0;
  const int k_length = kSplit ? min_of(args.k - k0, args.k_slice) : args.k;
  const T* a = static_cast<const T*>(args.a) + batch_offset<kBatchRank>(place.batch, args.a_batch, args.batch_size);
  const T* b = static_cast<const T*>(args.b) + batch_offset<kBatchRank>(place.batch, args.b_batch, args.batch_size);
  i64 c_offset = batch_offset<kBatchRank>(place.batch, args.c_batch, args.batch_size);
  if constexpr (kSplit) c_offset += place.split * args.split_stride;

  Tile tile(lds, k_length, thread);
  tile.a_tile.begin(a, row0, args.m - row0, args.a_m, k0, args.a_k, thread);
  tile.b_tile.begin(b, col0, args.n - col0, args.b_n, k0, args.b_k, thread);
  const Compute compute(thread);
  typename Compute::Accumulator acc;
  Compute::zero(acc);

  tile.begin();
  for (int t = 0; t < tile.whole; ++t) {
    tile.prefetch(t + 1);
    compute.multiply(acc, tile.a(t), tile.b(t));
    tile.commit(t + 1);
  }
  compute.multiply(acc, tile.a(tile.whole), tile.b(tile.whole));
  Compute::settle(acc);
  Epilogue::run(compute, acc, args, c_offset, row0, col0);
}

}  // namespace cg
