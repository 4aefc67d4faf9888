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
  static constexpr int kLoads = A::kLoads + B::kLoads;

  CG_MEMBER void prefetch(int) {}
  // The work to do before instruction i of kInstructions: the next load, or several where there are more loads than
  // instructions.
  template <int i, int kInstructions>
  CG_MEMBER void weave() {
    constexpr int kEach = ceil_div(kLoads, kInstructions);
    unrolled<min_of(i * kEach, kLoads), min_of((i + 1) * kEach, kLoads)>([&](auto load) { issue<load.value>(); });
  }
  CG_MEMBER void commit(int t) {
    if constexpr (kBuffers_ == 1) barrier();
    A::commit(a(t), this->a_registers, this->thread);
    B::commit(b(t), this->b_registers, this->thread);
    barrier();
    this->a_tile.advance();
    this->b_tile.advance();
  }
  // A choice of two addresses; an index would be multiplied, in 64 bits and in vector registers.
  CG_MEMBER T* a(int t) { return kBuffers_ == 1 || t % 2 == 0 ? this->lds.a[0] : this->lds.a[kBuffers_ - 1]; }
  CG_MEMBER T* b(int t) { return kBuffers_ == 1 || t % 2 == 0 ? this->lds.b[0] : this->lds.b[kBuffers_ - 1]; }

 private:
  // A's and B's loads in turn, as long as both have any left.
  template <int i>
  CG_MEMBER void issue() {
    constexpr int kBoth = 2 * min_of(A::kLoads, B::kLoads);
    constexpr bool kIsA = i < kBoth ? i % 2 == 0 : A::kLoads > B::kLoads;
    constexpr int kLoad = i < kBoth ? i / 2 : i - kBoth / 2;
    if constexpr (kIsA) {
      this->a_tile.fetch_one(this->a_registers, kLoad, this->thread);
    } else {
      this->b_tile.fetch_one(this->b_registers, kLoad, this->thread);
    }
  }
};

}  // namespace cg
