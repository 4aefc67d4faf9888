// DPP: source 0 taken from another lane of the same wave. Lane moves as in the RDNA 3 and CDNA 3 ISA documents, section
// "Data Parallel Processing".
#pragma once
#include "operands.hpp"

namespace emu {

// The lane that lane `l` reads, or -1 if there is none.
template <int L>
inline int dpp_lane(const Insn& i, int l) {
  const int row = l & ~15, in_row = l & 15, n = int(i.dpp_ctrl);
  switch (i.dpp) {
    case Dpp::kQuadPerm:
      return (l & ~3) | ((n >> (2 * (l & 3))) & 3);
    case Dpp::kRowShl:
      return in_row + n < 16 ? l + n : -1;
    case Dpp::kRowShr:
      return in_row >= n ? l - n : -1;
    case Dpp::kRowRor:
      return row | ((in_row - n) & 15);
    case Dpp::kWaveShl:
      return l + 1 < L ? l + 1 : -1;
    case Dpp::kWaveRol:
      return (l + 1) % L;
    case Dpp::kWaveShr:
      return l - 1;
    case Dpp::kWaveRor:
      return (l + L - 1) % L;
    case Dpp::kRowMirror:
      return row | (15 - in_row);
    case Dpp::kRowHalfMirror:
      return l ^ 7;
    case Dpp::kRowBcast15:
      return row - 1;
    case Dpp::kRowBcast31:
      return l >= 32 ? 31 : -1;
    case Dpp::kRowShare:
      return row | n;
    case Dpp::kRowXmask:
      return l ^ n;
    case Dpp::kDpp8:
      return (l & ~7) | ((n >> (3 * (l & 7))) & 7);
    case Dpp::kNone:
      return l;
  }
  return l;
}

// Permutes x (L lanes) in place, and returns the lanes that are written: without bound_ctrl a lane whose source is
// missing or inactive keeps its destination.
template <int L>
inline u64 apply_dpp(u64 exec, const Insn& i, u32* x) {
  alignas(64) u32 from[L];
  memcpy(from, x, sizeof from);
  u64 lanes = exec;
  const bool zero = (i.flags & kBoundCtrl) || i.dpp == Dpp::kDpp8;
  for (int l = 0; l < L; l++) {
    const int source = dpp_lane<L>(i, l);
    const bool masked = !((i.row_mask >> (l >> 4)) & 1) || !((i.bank_mask >> ((l >> 2) & 3)) & 1);
    const bool active = source >= 0 && (((exec >> source) & 1) || (i.flags & kFetchInactive));
    x[l] = active ? from[source] : 0;
    if (masked || (!active && !zero)) lanes &= ~(1ull << l);
  }
  return lanes;
}

}  // namespace emu
