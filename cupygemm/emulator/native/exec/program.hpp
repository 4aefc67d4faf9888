// A kernel as the executor keeps it: decoded instructions with their handlers.
#pragma once
#include "ops.hpp"
#include "types.hpp"

namespace emu {

// A signature, parsed.
struct OpInfo {
  u8 ndst, nsrc;
  Type dst[kMaxDst], src[kMaxSrc];
};
const OpInfo& op_info(u32 op);

// Fills in what depends on the opcode table and the wave size: handlers, operand types, kPlain.
void link_insn(Insn& insn, u32 wave_size);

}  // namespace emu
