// Loads and stores in the private segment.
#include "scratch.hpp"

namespace emu {

// Byte `at` of lane `lane`'s private segment: its dwords are interleaved by lane.
template <int L>
static u8* scratch_byte(const Wave<L>& w, int lane, u32 at) {
  return reinterpret_cast<u8*>(w.scratch + size_t{at / 4} * L + lane) + at % 4;
}

template <int L>
bool check_scratch(Wave<L>& w, const u32* a, u64 mask, u32 bytes, const char* verb) {
  const u32 size = w.launch->kernel->desc.private_bytes;
  for (u64 m = mask; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    if (u64{a[l]} + bytes <= size) continue;
    trap(w, l, "scratch %s of %u bytes at offset 0x%x, but a work-item has 0x%x bytes", verb, bytes, a[l], size);
    return false;
  }
  return true;
}

template <int L>
void read_scratch(const Wave<L>& w, const u32* a, u64 mask, u32 bytes, u32 (*raw)[L]) {
  for (; mask; mask &= mask - 1) {
    const int l = __builtin_ctzll(mask);
    for (u32 d = 0; d < (bytes + 3) / 4; d++) raw[d][l] = 0;
    for (u32 b = 0; b < bytes; b++) raw[b / 4][l] |= u32{*scratch_byte(w, l, a[l] + b)} << b % 4 * 8;
  }
}

template <int L>
void write_scratch(const Wave<L>& w, const u32* a, u64 mask, u32 bytes, const u32* const* data, bool high) {
  for (; mask; mask &= mask - 1) {
    const int l = __builtin_ctzll(mask);
    for (u32 b = 0; b < bytes; b++)
      *scratch_byte(w, l, a[l] + b) = data[b / 4][l] >> (b % 4 * 8 + (high ? 16 : 0)) & 0xff;
  }
}

#define INSTANTIATE(L)                                                            \
  template bool check_scratch<L>(Wave<L>&, const u32*, u64, u32, const char*);    \
  template void read_scratch<L>(const Wave<L>&, const u32*, u64, u32, u32(*)[L]); \
  template void write_scratch<L>(const Wave<L>&, const u32*, u64, u32, const u32* const*, bool);
INSTANTIATE(32)
INSTANTIATE(64)

}  // namespace emu
