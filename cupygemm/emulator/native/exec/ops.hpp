// The opcode table: how a file registers the instructions that it executes.
//
// A file defines rows, and a function that returns them (`OpTable ds_ops()`), which ops.cpp lists. Rows are constant
// data:
//   const OpRow kRows[] = {row("ds_load_b32", "b32=b32", &load<32>, &load<64>), ...};
// A mnemonic may have several rows that differ in the number of operands (an atomic with and without a result).
//
// Signature: destinations, '=', sources, each a type; separated by commas. Types: b16 i16 u16 f16 bf16, b32 i32 u32
// f32, b64 i64 u64 f64, pf16 pbf16 pi16 (two halves in a dword), pf32 pi32 (two dwords), b96 b128 b256 b512 b1024, mask
// (one bit a lane: an SGPR on wave32, a pair on wave64), label, imm (a plain integer), any. They decide how the decoder
// encodes constants and, for 16-bit types, what op_sel means. A source with `@vcc`, `@dst`, `@exec` or `@scc` behind
// its type is not in the text: the decoder adds it.
#pragma once
#include "machine.hpp"

namespace emu {

enum OpFlag : u32 {
  kOpF64 = 1u << 0,  // these two run under the mode bits of 16- and 64-bit floats
  kOpF16 = 1u << 1,
  kOpKeepHigh = 1u << 2,    // a 16-bit result keeps the other half of its register on gfx9 too
  kOpHighResult = 1u << 8,  // a 16-bit result goes to the high half (v_fma_mixhi_f16)
  kOpCmpx = 1u << 3,        // the mask goes to EXEC
  kOpTrans = 1u << 4,
  kOpWait = 1u << 5,  // wait instruction
  kOpMem = 1u << 6,
  kOpMatrix = 1u << 7,
};

struct OpRow {
  const char* name;
  const char* sig;
  Handler<32> wave32;
  Handler<64> wave64;
  Core core;
  u32 flags;
};

constexpr OpRow row(const char* name, const char* sig, Handler<32> h32, Handler<64> h64, u32 flags = 0) {
  return OpRow{name, sig, h32, h64, nullptr, flags};
}

struct OpTable {
  const OpRow* rows;
  u32 count;
};

// Row by its number in the concatenated table (Insn::op); null past the end.
const OpRow* op_row(u32 op);
u32 op_count();

}  // namespace emu
