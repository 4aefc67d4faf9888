// AsyncCopies, the TilePolicy for NVIDIA GPUs from compute capability 8.0 on: global memory -> LDS (shared memory)
// without passing through registers, several tiles ahead (cp.async of the PTX ISA, section "Data Movement").
#pragma once
#include "operand.hpp"
#include "tile.hpp"

namespace cg {

extern __shared__ __align__(16) char dynamic_lds[];

// Copies kBytes, or nothing where `go` is false. The condition is a predicate and no branch, so that the copies of the
// main loop can be spread between its multiply-adds. 16-byte copies bypass L1, which has no use for the tiles.
template <int kBytes>
CG_DEVICE void copy_async_if(bool go, u32 to, const char* from) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async moves 4, 8 or 16 bytes");
  if constexpr (kBytes == 16) {
    asm volatile("{ .reg .pred go; setp.ne.b32 go, %2, 0; @go cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(to),
                 "l"(from), "r"(static_cast<int>(go))
                 : "memory");
  } else {
    asm volatile("{ .reg .pred go; setp.ne.b32 go, %2, 0; @go cp.async.ca.shared.global [%0], [%1], %3; }" ::"r"(to),
                 "l"(from), "r"(static_cast<int>(go)), "n"(kBytes)
                 : "memory");
  }
}

// Copies kBytes where `valid`, and writes zeros otherwise; then `from` is not read.
template <int kBytes>
CG_DEVICE void copy_async_or_zeros(bool valid, u32 to, const char* from) {
  const int size = valid ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(size), "n"(kBytes)
                 : "memory");
  }
}

CG_DEVICE void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most kPending of this thread's copy groups are still under way.
template <int kPending>
CG_DEVICE void wait_copy_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// One operand's way to LDS; the parameters are those of OperandTile. The tile is K-major there, element (row, k) at
// k * kPitch + row.
//
// Where K is contiguous in memory, copies move one element and so transpose: 8 lanes copy 32 bytes of one row (a memory
// sector), 4 rows a wave. They land 8 lines of kPitch apart; a pitch of 4 more than a multiple of 32 gives the 32 lanes
// of a wave the 32 banks, and keeps groups of 4 rows aligned for 128-bit reads.
template <class T, int kRows_, int kDepth_, Contiguous kContiguous, int kVec_, bool kUnit, bool kWide, int kThreads>
struct AsyncOperand {
  static constexpr int kRows = kRows_, kDepth = kDepth_;
  static constexpr bool kAlongK = kContiguous == Contiguous::kK;
  static constexpr int kVec = kAlongK ? 1 : kVec_;  // elements a copy moves
  static constexpr int kPitch = kRows + (kAlongK ? 4 : 0);
  static constexpr int kElements = kPitch * kDepth;
  static constexpr int kLanesK = 8;                               // lanes side by side along K
  static constexpr int kLine = kAlongK ? kLanesK : kRows / kVec;  // threads side by side in memory
  static constexpr int kLines = max_of(1, kThreads / kLine);      // lines that the block copies at once
  static constexpr int kSteps = kAlongK ? kDepth / kLanesK : max_of(1, kLine / kThreads);  // copies to finish a line
  static constexpr int kPerThread = max_of(1, kRows* kDepth / kVec / kThreads);
  static constexpr bool kEven = kRows * kDepth / kVec >= kThreads;  // otherwise only the first threads copy
  static constexpr bool kShared =
      kAlongK && kUnit;  // the copies of a row lie a constant apart: one offset for them all
  static constexpr int kOffsets = kShared ? kPerThread / kSteps : kPerThread;
  using Offset = typename Select<kWide, i64, u32>::type;

  static_assert(kRows * kDepth / kVec % kThreads == 0 || !kEven, "all threads must have equally many copies");
  static_assert(kThreads % kLine == 0 || kLine % kThreads == 0, "lines and threads must divide one another");
  static_assert(!kAlongK || (kDepth % kLanesK == 0 && kPerThread % kSteps == 0), "a thread copies whole rows' shares");
  static_assert(kRows % 32 == 0, "the pitch spreads rows over the banks only where rows are a multiple of 32");

  GlobalBytes base;         // of the tile, the same in all threads
  i64 advance_bytes;        // from one K tile to the next
  Offset offset[kOffsets];  // of this thread's copies, in bytes from base
  Offset step_bytes;        // between the copies that share an offset
  u32 target;               // of this thread's first copy, in bytes from the tile in LDS

  // Which element copy `r` of a thread begins with.
  CG_DEVICE int copy_row(int thread, int r) {
    if constexpr (kAlongK) return thread / kLine + r / kSteps * kLines;
    return (thread % kLine + r % kSteps * kThreads) * kVec;
  }
  CG_DEVICE int copy_k(int thread, int r) {
    if constexpr (kAlongK) return thread % kLine + r % kSteps * kLanesK;
    return thread / kLine + r / kSteps * kLines;
  }

  // As OperandTile::begin.
  CG_MEMBER void begin(const void* matrix, i64 row0, int rows, i64 row_stride, i64 k0, i64 k_stride, int thread) {
    constexpr i64 size = sizeof(T);
    if constexpr (kUnit && kAlongK) k_stride = 1;
    if constexpr (kUnit && !kAlongK) row_stride = 1;
    base = static_cast<GlobalBytes>(matrix) + (row0 * row_stride + k0 * k_stride) * size;
    advance_bytes = kDepth * k_stride * size;
#pragma unroll
    for (int i = 0; i < kOffsets; ++i) {
      const int r = kShared ? i * kSteps : i;
      const int row = min_of(copy_row(thread, r), rows - kVec);
      offset[i] = (static_cast<Offset>(row) * static_cast<Offset>(row_stride) +
                   static_cast<Offset>(copy_k(thread, r)) * static_cast<Offset>(k_stride)) *
                  size;
    }
    target = (copy_k(thread, 0) * kPitch + copy_row(thread, 0)) * size;
  }

  // The next K tile, all of it inside the operand; nothing where `go` is false.
  CG_MEMBER void issue(bool go, u32 lds, int thread) {
    if constexpr (!kEven) go = go && has_copy(thread);
#pragma unroll
    for (int r = 0; r < kPerThread; ++r) copy_async_if<kBytes>(go, lds + place(r), from(r));
    base += advance_bytes;
  }

  // Tile `tile`, of which only the first `depth` are inside; the rest becomes zero, as in OperandTile::fetch_tail.
  CG_MEMBER void issue_tail(u32 lds, int thread, int tile, int depth) const {
    if (!kEven && !has_copy(thread)) return;
#pragma unroll
    for (int r = 0; r < kPerThread; ++r) {
      const bool valid = copy_k(thread, r) < depth;
      copy_async_or_zeros<kBytes>(valid, lds + place(r), valid ? from(r) + tile * advance_bytes : base);
    }
  }

 private:
  static constexpr int kBytes = kVec * sizeof(T);
  CG_DEVICE bool has_copy(int thread) { return thread < kRows * kDepth / kVec; }
  CG_MEMBER GlobalBytes from(int r) const {
    if constexpr (kShared) return base + offset[r / kSteps] + r % kSteps * kLanesK * sizeof(T);
    return base + offset[r];
  }
  CG_MEMBER u32 place(int r) const {
    const int row = copy_row(0, r), k = copy_k(0, r);
    return target + (k * kPitch + row) * sizeof(T);
  }
};

// kStages LDS buffers: one is computed from, the others are full or on their way. A buffer is overwritten one step
// after it was last read, so the barrier that publishes a tile also protects the buffer behind it.
template <class T, class A_, class B_, int kStages_>
struct AsyncCopies {
  using A = A_;
  using B = B_;
  static constexpr int kStages = kStages_, kDepth = A::kDepth;
  static_assert(kStages >= 3, "with fewer than 3 buffers, copies would overwrite the tile that is being read");
  static_assert(A::kDepth == B::kDepth, "the tiles of A and B must be equally deep in K");
  using Storage = TileStorage<T, A, B, kStages>;
  // More LDS than a kernel may declare; the host sets its size at launch.
  CG_DEVICE Storage& storage() { return *reinterpret_cast<Storage*>(dynamic_lds); }

  A a_tile;
  B b_tile;
  Storage& lds;
  int thread;
  int whole;    // tiles before the ragged one
  int ragged;   // depth of the ragged one, 1 .. kDepth
  int reading;  // buffer of the current step
  int vacant;   // buffer that the next prefetch fills
  u32 a_lds, b_lds;

  CG_MEMBER AsyncCopies(Storage& lds, int k_length, int thread)
      : lds(lds),
        thread(thread),
        whole((k_length - 1) / kDepth),
        ragged(k_length - whole * kDepth),
        reading(0),
        vacant(kStages - 1),
        a_lds(static_cast<u32>(__cvta_generic_to_shared(lds.a[0]))),
        b_lds(static_cast<u32>(__cvta_generic_to_shared(lds.b[0]))) {}

  CG_MEMBER void begin() {
    a_tile.issue_tail(a_lds, thread, whole, ragged);
    b_tile.issue_tail(b_lds, thread, whole, ragged);
    end_copy_group();
#pragma unroll
    for (int t = 1; t < kStages - 1; ++t) issue(t, t);
    wait_copy_groups<kStages - 2>();
    barrier();
  }
  // Called for step t, starts the tile that is kStages - 2 steps further on. A group ends in any case: waiting counts
  // groups.
  CG_MEMBER void prefetch(int t) { issue(t + kStages - 2, vacant); }
  CG_MEMBER void commit(int) {
    wait_copy_groups<kStages - 2>();
    barrier();
    vacant = reading;
    reading = reading + 1 == kStages ? 0 : reading + 1;
  }
  CG_MEMBER const T* a(int) { return lds.a[reading]; }
  CG_MEMBER const T* b(int) { return lds.b[reading]; }

 private:
  CG_MEMBER void issue(int step, int buffer) {
    const bool go = step <= whole;
    a_tile.issue(go, a_lds + buffer * static_cast<u32>(A::kElements * sizeof(T)), thread);
    b_tile.issue(go, b_lds + buffer * static_cast<u32>(B::kElements * sizeof(T)), thread);
    end_copy_group();
  }
};

}  // namespace cg
