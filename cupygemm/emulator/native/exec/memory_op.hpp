// What a memory instruction does, as bits of its row's flags in the opcode table: for the checkers, the counters and
// the docs.
#pragma once
#include "ops.hpp"

namespace emu {

enum class Space : u8 { kNone, kScalar, kGlobal, kFlat, kScratch, kBuffer, kLds, kLanes };
enum class Access : u8 { kLoad, kStore, kAtomic };

// How the addresses follow from the operands, where it is not the usual way.
enum class Form : u8 {
  kPlain,
  kTwo,      // ds_*2: two addresses, offsets in elements
  kTwoSt64,  // ds_*2st64: offsets in 64 elements
  kAddTid,   // M0 + 4 lane
  kToLds,    // the data goes to LDS
  kCompareFirst,
};

struct MemoryOp {
  Space space;
  Access access;
  Form form;
  u8 bytes;  // a lane and address; of a scalar load, in all
};

constexpr u32 kMemoryShift = 12;

constexpr u32 memory_flags(Space space, Access access, u32 bytes, Form form = Form::kPlain) {
  const u32 bits = static_cast<u32>(space) | static_cast<u32>(access) << 3 | static_cast<u32>(form) << 5 | bytes << 8;
  return kOpMem | bits << kMemoryShift;
}

constexpr MemoryOp memory_op(u32 flags) {
  const u32 bits = flags >> kMemoryShift;
  return {static_cast<Space>(bits & 7), static_cast<Access>(bits >> 3 & 3), static_cast<Form>(bits >> 5 & 7),
          static_cast<u8>(bits >> 8 & 0xff)};
}

static_assert(memory_op(memory_flags(Space::kLanes, Access::kAtomic, 64, Form::kCompareFirst)).bytes == 64);

}  // namespace emu
