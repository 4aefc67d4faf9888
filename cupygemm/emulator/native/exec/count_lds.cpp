// Cycles of an LDS access. A bank gives one dword a cycle; lanes that ask for the same dword share it. The lanes of a
// wave are served in phases, each as many as fill the banks: an access of 8 or 16 bytes takes more phases, which is its
// cost and no conflict. Conflicts are the cycles that a phase takes beyond its first.
//
// Banks: 64 on gfx950, 32 elsewhere (on RDNA those of one compute unit; a workgroup processor has two sets). Phases
// follow lane order, but for 16-byte reads on CDNA, whose groups are those that AMD's Composable Kernel documentation
// ("LDS bank conflicts") gives for gfx942; two of them make one of gfx950's.
#include "access.hpp"
#include "count.hpp"

namespace emu::count {
namespace {

constexpr u32 kMaxBanks = 64;

// Half a wave in the order of its phases, by groups of four lanes.
constexpr u8 kWideReadOrder[8] = {0, 5, 3, 6, 1, 4, 2, 7};

u32 lane_at(u32 position, bool wide_read) {
  if (!wide_read) return position;
  return (position & ~31u) | kWideReadOrder[position % 32 / 4] * 4u | position % 4;
}

// Cycles of one phase: the most dwords that any bank has to give.
template <int L>
u32 phase_cycles(const u32* address, u64 mask, const u8* lanes, u32 count, u32 dwords, u32 banks) {
  u32 held[kMaxBanks][L];  // distinct dwords of each bank
  u8 depth[kMaxBanks] = {};
  u32 most = 0;
  for (u32 n = 0; n < count; n++) {
    if (!(mask >> lanes[n] & 1)) continue;
    for (u32 d = 0; d < dwords; d++) {
      const u32 dword = address[lanes[n]] / 4 + d, bank = dword % banks;
      u32 k = 0;
      while (k < depth[bank] && held[bank][k] != dword) k++;
      if (k < depth[bank]) continue;
      held[bank][depth[bank]++] = dword;
      most = depth[bank] > most ? depth[bank] : most;
    }
  }
  return most;
}

template <int L>
void count_access(const u32* address, u64 mask, u32 bytes, u32 banks, bool wide_read, emu_counters& c) {
  const u32 dwords = dwords_of(bytes);
  const u32 width = dwords == 3 ? 4 : dwords;
  const u32 together = banks / width < L ? banks / width : L;
  for (u32 first = 0; first < L; first += together) {
    u8 lanes[L];
    for (u32 n = 0; n < together; n++) lanes[n] = static_cast<u8>(lane_at(first + n, wide_read));
    const u32 cycles = phase_cycles<L>(address, mask, lanes, together, dwords, banks);
    c.lds_cycles += cycles;
    c.lds_conflicts += cycles ? cycles - 1 : 0;
  }
}

}  // namespace

template <int L>
void count_lds(const Wave<L>& w, const Insn& i, const Plan& p, emu_counters& c) {
  const MemoryOp& m = p.memory;
  const u32 banks = w.arch == Arch::kCdna4 ? 64 : 32;
  const bool wide_read = is_cdna(w.arch) && m.access == Access::kLoad && m.bytes == 16;
  alignas(64) u32 a[L];
  for (u32 n = 0; n < p.addresses; n++) {
    if (m.form == Form::kAddTid) {
      for (u32 l = 0; l < L; l++) a[l] = (w.s[kM0] & 0xffffu) + static_cast<u32>(i.offset) + 4 * l;
    } else {
      const i32 unit = m.form == Form::kTwo ? m.bytes : m.form == Form::kTwoSt64 ? 64 * m.bytes : 1;
      lds_addresses(w, i.src[0], (n ? i.offset1 : i.offset) * unit, a);
    }
    count_access<L>(a, active(w), m.bytes, banks, wide_read, c);
  }
}

template void count_lds<32>(const Wave<32>&, const Insn&, const Plan&, emu_counters&);
template void count_lds<64>(const Wave<64>&, const Insn&, const Plan&, emu_counters&);

}  // namespace emu::count
