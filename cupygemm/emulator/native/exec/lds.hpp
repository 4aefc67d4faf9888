// LDS as the target of direct loads (LDS-DMA): where lane l's data goes.
#pragma once
#include "access.hpp"

namespace emu {

// LDS byte address of lane 0: M0 plus the instruction's offset, which counts for both addresses (CDNA 3 ISA, 9.1.9). M0
// gives 16 bits, and more where LDS is larger than 64 KiB.
template <int L>
inline u32 dma_base(const Wave<L>& w, const Insn& i) {
  const u32 m0 = w.arch == Arch::kCdna4 ? w.s[kM0] : w.s[kM0] & 0xffffu;
  return m0 + static_cast<u32>(i.offset);
}

// Bytes between neighbouring lanes: sub-dword loads are zero-extended to a dword.
constexpr u32 dma_stride(u32 bytes) { return bytes < 4 ? 4 : bytes; }

template <int L>
inline void write_dma(Wave<L>& w, const Insn& i, const u32 (*raw)[L], u64 mask, u32 bytes) {
  alignas(64) u32 a[L];
  const u32 base = dma_base(w, i), stride = dma_stride(bytes);
  for (int l = 0; l < L; l++) a[l] = base + static_cast<u32>(l) * stride;
  if (!check_lds(w, a, mask, stride, "direct load")) return;
  const u32* data[4];
  for (u32 d = 0; d < stride / 4; d++) data[d] = raw[d];
  scatter<L>(reinterpret_cast<u64>(w.group->lds), a, data, mask, stride);
}

}  // namespace emu
