// Read-modify-write operations: what one does to one value, and a wave's worth of them on host memory.
//
// They are real host atomics, since workgroups may run on several threads. Lanes go in ascending order.
#pragma once
#include "access.hpp"

namespace emu {

enum class Rmw : u8 {
  kSwap,
  kCompareSwap,
  kAdd,
  kSub,
  kReverseSub,
  kMinSigned,
  kMaxSigned,
  kMinUnsigned,
  kMaxUnsigned,
  kAnd,
  kOr,
  kXor,
  kInc,
  kDec,
  kSubClamp,
  kCondSub,
  kAddF,
  kMinF,
  kMaxF,
  kPackedAddF16,
  kPackedAddBf16,
};

// The value that `op` stores. `width` is 4 or 8 bytes; only kCompareSwap uses `compare`. Additions round to nearest
// even and keep denormals; kMinF and kMaxF give the number when one operand is NaN.
u64 rmw(Rmw op, u32 width, u64 old, u64 data, u64 compare);

// For every active lane: memory at address[l] becomes rmw(...), old[l] what was there. `data[d]` and `compare[d]` are
// dwords of the operands. An address that is not a multiple of `width` stops the launch: the hardware would fault.
template <int L>
bool rmw_lanes(Wave<L>& w, Rmw op, u32 width, const u64* address, u64 mask, const u32* const* data,
               const u32* const* compare, u32 (*old)[L]);

}  // namespace emu
