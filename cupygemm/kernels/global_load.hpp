// Load paths: how a tile of an operand is read from global memory, as a uniform base, a 32-bit offset of each lane and
// a uniform offset.
#pragma once
#include "vec.hpp"

namespace cg {

// 64-bit offsets for views whose strides are negative or very large, 32-bit ones otherwise. kAligned: addresses are
// multiples of what a load moves; otherwise of an element.
template <bool kWide, bool kAligned_ = true>
struct PointerLoads {
  static constexpr bool kBounded = false, kAligned = kAligned_;
  using Offset = typename Select<kWide, i64, u32>::type;
  GlobalBytes base;

  CG_MEMBER void begin(GlobalBytes from, i64) { base = from; }
  CG_MEMBER void advance(i64 bytes) { base += bytes; }
  template <class T, int kVec>
  CG_MEMBER Vec<T, kVec> load(Offset& lane, Offset uniform) {
    pin_offset(lane);
    if constexpr (kAligned) {
      return cg::load<T, kVec>(base + uniform + lane);
    } else {
      return load_unaligned<T, kVec>(base + uniform + lane);
    }
  }
};

#if CG_AMD
// A buffer resource descriptor: one instruction takes base, lane offset and uniform offset together, and reads past
// `bytes` give zero (seed tutorial 001, step 4). The base has 64 bits and moves with the tile, so only a tile's own
// reach is limited to 32. Whether the hardware counts the uniform offset in its bounds check depends on the generation:
// nothing here relies on it. Under ROCm such loads may be unaligned as others may (llvm-project pull request 134329),
// but a vector that straddles `bytes` loses more than what lies past it: without kAligned there is no bound.
template <bool kAligned_>
struct BufferLoads {
  static constexpr bool kBounded = kAligned_, kAligned = kAligned_;
  using Offset = u32;
#if defined(__GFX9__)
  static constexpr u32 kWord3 = 0x00020000;
#else
  static constexpr u32 kWord3 = 0x31004000;
#endif
  GlobalBytes base;
  int bytes;

  CG_MEMBER void begin(GlobalBytes from, i64 reach) {
    base = from;
    bytes = static_cast<int>(kBounded && reach < 0x7fffffff ? reach : 0x7fffffff);
  }
  CG_MEMBER void advance(i64 step) { base += step; }
  template <class T, int kVec>
  CG_MEMBER Vec<T, kVec> load(u32 lane, u32 uniform) {
    const auto resource = __builtin_amdgcn_make_buffer_rsrc((void*)base, 0, bytes, kWord3);
    constexpr int kBytes = sizeof(T) * kVec;
    if constexpr (kBytes == 16) {
      return bit_cast<Vec<T, kVec>>(__builtin_amdgcn_raw_buffer_load_b128(resource, lane, uniform, 0));
    } else if constexpr (kBytes == 8) {
      return bit_cast<Vec<T, kVec>>(__builtin_amdgcn_raw_buffer_load_b64(resource, lane, uniform, 0));
    } else if constexpr (kBytes == 4) {
      return bit_cast<Vec<T, kVec>>(__builtin_amdgcn_raw_buffer_load_b32(resource, lane, uniform, 0));
    } else if constexpr (kBytes == 2) {
      return bit_cast<Vec<T, kVec>>(__builtin_amdgcn_raw_buffer_load_b16(resource, lane, uniform, 0));
    } else {
      return bit_cast<Vec<T, kVec>>(__builtin_amdgcn_raw_buffer_load_b8(resource, lane, uniform, 0));
    }
  }
};
#endif

}  // namespace cg
