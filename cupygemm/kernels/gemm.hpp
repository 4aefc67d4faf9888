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

// Whether a TilePolicy puts its loads between the instructions of the ComputePolicy (woven.hpp).
template <class Tile, class = void>
struct IsWoven {
  static constexpr bool value = false;
};
template <class Tile>
struct IsWoven<Tile, decltype(void(Tile::kWoven))> {
  static constexpr bool value = Tile::kWoven;
};

// Whether a TilePolicy takes its LDS from what the host sets at launch instead of declaring it (async_copy.hpp).
template <class Tile, class = void>
struct Lds {
  CG_DEVICE typename Tile::Storage& get() {
    __shared__ typename Tile::Storage lds;
    return lds;
  }
};
template <class Tile>
struct Lds<Tile, decltype(void(Tile::storage()))> {
  CG_DEVICE typename Tile::Storage& get() { return Tile::storage(); }
};

// Whether a ComputePolicy holds fragments across tiles, and so has to walk the tiles itself (pipelined.hpp,
// mfma_ahead.hpp): run() does, once the first tile is in LDS.
template <class Compute, class = void>
struct IsPipelined {
  static constexpr bool value = false;
};
template <class Compute>
struct IsPipelined<Compute, decltype(void(Compute::kPipelined))> {
  static constexpr bool value = Compute::kPipelined;
};

// Whether a ComputePolicy takes more from the arguments than sizes (block_scaled.hpp).
template <class Compute, class = void>
struct TakesArgs {
  static constexpr bool value = false;
};
template <class Compute>
struct TakesArgs<Compute, decltype(void(Compute::kTakesArgs))> {
  static constexpr bool value = Compute::kTakesArgs;
};

// The first row of tile `index`. Where an operand says that it fills at least one tile (matrix_tile.hpp), the last tile
// ends with the operand: it shares rows with the one before, and both store the same numbers there.
template <class Operand, class = void>
struct FirstRow {
  static constexpr bool kInside = false;  // whether all rows of a tile exist
  CG_DEVICE int of(int index, int) { return index * Operand::kRows; }
};
template <class Operand>
struct FirstRow<Operand, decltype(void(Operand::kWhole))> {
  static constexpr bool kInside = Operand::kWhole;
  CG_DEVICE int of(int index, int rows) {
    const int row = index * Operand::kRows;
    return Operand::kWhole ? min_of(row, rows - Operand::kRows) : row;
  }
};

// The product of a block tile over the K range that starts at k0; then store(compute, acc, first row, first column).
template <class T, class Tile, class Compute, int kBatchRank, class Args, class Store>
CG_DEVICE void multiply_part(const Args& args, typename Tile::Storage& lds, const BlockPlace& place, int k0,
                             int k_length, Store store) {
  const int thread = thread_index();
  const int row0 = FirstRow<typename Tile::A>::of(place.tile_m, args.m);
  const int col0 = FirstRow<typename Tile::B>::of(place.tile_n, args.n);
  const T* a = static_cast<const T*>(args.a) + batch_offset<kBatchRank>(place.batch, args.a_batch, args.batch_size);
  const T* b = static_cast<const T*>(args.b) + batch_offset<kBatchRank>(place.batch, args.b_batch, args.batch_size);

  Tile tile(lds, k_length, thread);
  tile.a_tile.begin(a, row0, args.m - row0, args.a_m, k0, args.a_k, thread);
  tile.b_tile.begin(b, col0, args.n - col0, args.b_n, k0, args.b_k, thread);
  Compute compute(thread);
  if constexpr (TakesArgs<Compute>::value) compute.take_args(args, row0, col0, thread);
  typename Compute::Accumulator acc;
  Compute::zero(acc);

  tile.begin();
  if constexpr (IsPipelined<Compute>::value) {
    compute.run(acc, tile);
    compute.gather(acc, lds);
  } else {
    for (int t = 0; t < tile.whole; ++t) {
      tile.prefetch(t + 1);
      if constexpr (IsWoven<Tile>::value) {
        compute.multiply(acc, tile.a(t), tile.b(t),
                         [&](auto i) { tile.template weave<i.value, Compute::kInstructions>(); });
      } else {
        compute.multiply(acc, tile.a(t), tile.b(t));
      }
      tile.commit(t + 1);
    }
    compute.multiply(acc, tile.a(tile.whole), tile.b(tile.whole));
  }
  Compute::settle(acc);
  store(compute, acc, row0, col0);
}

template <class T, class Tile, class Compute, class Epilogue, int kBatchRank, bool kSplit>
CG_DEVICE void gemm(const GemmArgs& args) {
  static_assert(CheckPolicies<Tile, Compute>::ok, "");
  typename Tile::Storage& lds = Lds<Tile>::get();
  const BlockPlace place = place_block<(kBatchRank > 0), kSplit>(args);
  if (!place.active) return;
  const int k0 = kSplit ? place.split * args.k_slice : 0;
  i64 c_offset = batch_offset<kBatchRank>(place.batch, args.c_batch, args.batch_size);
  if constexpr (kSplit) c_offset += place.split * args.split_stride;
  multiply_part<T, Tile, Compute, kBatchRank>(
      args, lds, place, k0, kSplit ? min_of(args.k - k0, args.k_slice) : args.k,
      [&](const Compute& compute, const typename Compute::Accumulator& acc, int row0, int col0) {
        using Bounds = Inside<FirstRow<typename Tile::A>::kInside, FirstRow<typename Tile::B>::kInside>;
        Epilogue::template run<Bounds>(compute, acc, args, c_offset, row0, col0, lds);
      });
}

}  // namespace cg
