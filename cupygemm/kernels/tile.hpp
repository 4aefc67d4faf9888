// TilePolicies: how the tiles of A and B reach LDS while other tiles are computed.
//
// The K range of a block is walked in tiles of kDepth. Its last tile may be ragged, and only that one needs masks, so
// it goes first: the main loop then holds nothing but whole tiles. Step 0 computes the ragged tile, step t > 0 computes
// whole tile t - 1.
//
// A policy owns the LDS buffers and offers what gemm.hpp strings together:
//   begin()       the tile of step 0 is in LDS and visible to the block
//   prefetch(t)   the tile of step t starts on its way
//   commit(t)     all waves are done with step t - 1, and the tile of step t is in LDS and visible
//   a(t), b(t)    where the tile of step t lies
// and, to spread a prefetch over other instructions:
//   issue<i>(t)   the i-th of its kLoads parts; after all of them, advance()
#pragma once
#include "operand.hpp"

namespace cg {

template <class T, class A, class B, int kBuffers>
struct alignas(16) TileStorage {
  T a[kBuffers][A::kElements];
  T b[kBuffers][B::kElements];
};

// Global memory -> registers while the current tile is computed, registers -> LDS after it.
// One buffer: two barriers a tile (everyone is done reading; everyone has written). Two buffers (ping-pong): the write
// goes to the other one, so one barrier does both.
template <class T, class A_, class B_, int kBuffers_>
struct RegisterStaged {
  using A = A_;
  using B = B_;
  static constexpr int kBuffers = kBuffers_, kDepth = A::kDepth;
  static_assert(kBuffers == 1 || kBuffers == 2, "one LDS buffer, or two to alternate between");
  static_assert(A::kDepth == B::kDepth, "the tiles of A and B must be equally deep in K");
  using Storage = TileStorage<T, A, B, kBuffers>;

  A a_tile;
  B b_tile;
  typename A::Registers a_registers;
  typename B::Registers b_registers;
  Storage& lds;
  int thread;
  int whole;   // tiles before the ragged one
  int ragged;  // depth of the ragged one, 1 .. kDepth

  CG_MEMBER RegisterStaged(Storage& lds, int k_length, int thread)
      : lds(lds), thread(thread), whole((k_length - 1) / kDepth), ragged(k_length - whole * kDepth) {}

  CG_MEMBER void begin() {
    a_tile.fetch_tail(a_registers, thread, whole, ragged);
    b_tile.fetch_tail(b_registers, thread, whole, ragged);
    write(0);
    barrier();
  }
  CG_MEMBER void prefetch(int) {
    a_tile.fetch(a_registers, thread);
    b_tile.fetch(b_registers, thread);
  }
  // A's and B's loads in turn, as long as both have any left.
  static constexpr int kLoads = A::kLoads + B::kLoads;
  template <int i>
  CG_MEMBER void issue(int) {
    constexpr int kBoth = 2 * min_of(A::kLoads, B::kLoads);
    constexpr bool kIsA = i < kBoth ? i % 2 == 0 : A::kLoads > B::kLoads;
    constexpr int kLoad = i < kBoth ? i / 2 : i - kBoth / 2;
    if constexpr (kIsA) {
      a_tile.fetch_one(a_registers, kLoad, thread);
    } else {
      b_tile.fetch_one(b_registers, kLoad, thread);
    }
  }
  CG_MEMBER void advance() {
    a_tile.advance();
    b_tile.advance();
  }
  CG_MEMBER void commit(int t) {
    if constexpr (kBuffers == 1) barrier();
    write(t);
    barrier();
  }
  CG_MEMBER T* a(int t) { return lds.a[kBuffers == 1 ? 0 : t & 1]; }
  CG_MEMBER T* b(int t) { return lds.b[kBuffers == 1 ? 0 : t & 1]; }

 protected:
  CG_MEMBER void write(int t) {
    A::commit(a(t), a_registers, thread);
    B::commit(b(t), b_registers, thread);
  }
};

#if defined(__gfx942__) || defined(__gfx950__)
// Global memory -> LDS without passing through registers (seed tutorial 000, step 7). One instruction fills consecutive
// LDS words, lane after lane, from addresses of the lanes' own. Its result counts as a vector memory access, so it is
// waited for by vmcnt before the barrier that publishes it. A masked lane would leave its word unwritten, so the ragged
// tile takes the way through registers.
template <class T, class A_, class B_, int kBuffers_>
struct DirectToLds : RegisterStaged<T, A_, B_, kBuffers_> {
  using Base = RegisterStaged<T, A_, B_, kBuffers_>;
  using A = A_;
  using B = B_;
  using Base::kBuffers;
  using Base::RegisterStaged;

  typename A::DirectOffsets a_offset;
  typename B::DirectOffsets b_offset;

  CG_MEMBER void begin() {
    Base::begin();
    this->a_tile.begin_direct(a_offset, this->thread);
    this->b_tile.begin_direct(b_offset, this->thread);
  }
  CG_MEMBER void prefetch(int t) {
    if constexpr (kBuffers == 2) copy(t);
  }
  static constexpr int kLoads = A::kRuns + B::kRuns;
  template <int i>
  CG_MEMBER void issue(int t) {
    static_assert(kBuffers == 2, "with one buffer, copies start when the tile is done");
    copy_one<i>(t);
  }
  CG_MEMBER void commit(int t) {
    if constexpr (kBuffers == 1) {
      barrier();
      copy(t);
    }
    wait_vector_memory();
    barrier();
  }

 private:
  CG_MEMBER void copy(int t) {
    unrolled<0, kLoads>([&](auto i) { copy_one<i.value>(t); });
    this->advance();
  }
  template <int i>
  CG_MEMBER void copy_one(int t) {
    if constexpr (i < A::kRuns) {
      this->a_tile.template copy_one<i>(this->a(t), a_offset, this->thread);
    } else {
      this->b_tile.template copy_one<i - A::kRuns>(this->b(t), b_offset, this->thread);
    }
  }
};
#endif

}  // namespace cg
