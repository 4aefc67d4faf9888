// The TilePolicy that interleaves: the loads of the next tile are issued one by one between the instructions of the
// current one, instead of in a burst before it (seed tutorial 001, step 7).
#pragma once
#include "tile.hpp"

namespace cg {

// Otherwise as RegisterStaged. A and B must be able to fetch one load at a time (matrix_tile.hpp).
template <class T, class A_, class B_, int kBuffers_>
struct Woven : RegisterStaged<T, A_, B_, kBuffers_> {
  using Base = RegisterStaged<T, A_, B_, kBuffers_>;
  using A = A_;
  using B = B_;
  using Base::RegisterStaged;
  static constexpr bool kWoven = true;
  using Base::kLoads;

  CG_MEMBER void prefetch(int) {}
  // The work to do before instruction i of kInstructions: the next load, or several, so that all are on their way in
  // the first half of the tile.
  template <int i, int kInstructions>
  CG_MEMBER void weave() {
    constexpr int kEach = ceil_div(2 * kLoads, kInstructions);
    unrolled<min_of(i * kEach, kLoads), min_of((i + 1) * kEach, kLoads)>(
        [&](auto load) { this->template issue<load.value>(0); });
  }
  CG_MEMBER void commit(int t) {
    if constexpr (kBuffers_ == 1) barrier();
    A::commit(a(t), this->a_registers, this->thread);
    B::commit(b(t), this->b_registers, this->thread);
    barrier();
    this->advance();
  }
  // A choice of two addresses; an index would be multiplied, in 64 bits and in vector registers.
  CG_MEMBER T* a(int t) { return kBuffers_ == 1 || t % 2 == 0 ? this->lds.a[0] : this->lds.a[kBuffers_ - 1]; }
  CG_MEMBER T* b(int t) { return kBuffers_ == 1 || t % 2 == 0 ? this->lds.b[0] : this->lds.b[kBuffers_ - 1]; }
};

}  // namespace cg
