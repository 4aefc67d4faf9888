// Buffer resources (V#): the address and the hardware's bounds check of every lane of a MUBUF/VBUFFER instruction.
#pragma once
#include "access.hpp"

namespace emu {

struct Resource {
  u64 base;
  u32 stride, records, word3;
  bool swizzled;
};

template <int L>
inline Resource read_resource(const Wave<L>& w, const Operand& o) {
  const u32 word1 = read_s32(w, o, 1);
  Resource r;
  r.base = read_s32(w, o, 0) | u64{word1 & 0xffff} << 32;
  r.stride = word1 >> 16 & 0x3fff;
  r.records = read_s32(w, o, 2);
  r.word3 = read_s32(w, o, 3);
  // Index swizzling: one bit on gfx9, two on gfx11 and gfx12. gfx9 can add the lane id too (word 3, bit 23).
  r.swizzled = word1 >> 30 & (is_cdna(w.arch) ? 2u : 3u);
  if (is_cdna(w.arch) && (r.word3 >> 23 & 1)) r.swizzled = true;
  return r;
}

// `a[l]` is the address of lane l's first byte and `in_range[l]` how many of its `bytes` pass the bounds check, in
// whole dwords (or all of them, if they are fewer than 4). False if the resource is of a kind that is not emulated; the
// launch is then stopped.
template <int L>
bool buffer_addresses(Wave<L>& w, const Insn& i, const Operand& vaddr, const Operand& rsrc, const Operand& soffset,
                      u32 bytes, u64* a, u8* in_range);

// The in-range part of every active lane's access against the memory map. `whole` gets the lanes that are in range with
// all their bytes, `filled` their addresses, and one of those for every other lane. False: the launch is stopped.
template <int L>
bool check_buffer(Wave<L>& w, const u64* a, const u8* in_range, u64 mask, u32 bytes, const char* verb, u64* whole,
                  u64* filled);

}  // namespace emu
