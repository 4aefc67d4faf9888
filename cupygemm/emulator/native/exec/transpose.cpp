// Loads that transpose between lanes: gfx950's ds_read_b64_tr_* and ds_read_b96_tr_b6, gfx12's global_load_tr_b128.
// EXEC must be all ones.
//
// Every lane reads its own bytes; then element j of lane l is element s of lane f of what was read (both within l's
// group of lanes):
//   gfx950, groups of 16: b16 s = l % 4, f = 4 j + l / 4; b8 s = l % 8, f = 2 j + l / 8; b4, b6 s = l, f = j. So the
//   group reads a row-major tile of 4, 8 or 16 rows and 16 columns, and lane l gets column l. gfx12 b128, groups of 8:
//   s = l, f = j, an 8 x 8 transpose (measured on a gfx1201; the ISA document does not say).
// global_load_tr_b64 is refused: its permutation is not published.
#include "access.hpp"
#include "memory_op.hpp"

namespace emu {
namespace {

template <int L>
bool need_all_lanes(Wave<L>& w) {
  if (active(w) == Wave<L>::full()) return true;
  trap(w, -1, "a transposing load needs EXEC to be all ones, but it is 0x%llx",
       static_cast<unsigned long long>(active(w)));
  return false;
}

u32 element(const u32* words, u32 bits, u32 n) {
  const u32 at = n * bits, word = at / 32, shift = at % 32;
  u64 both = words[word];
  if (shift + bits > 32) both |= u64{words[word + 1]} << 32;
  return static_cast<u32>(both >> shift) & ((1u << bits) - 1);
}

// `lanes_a_row` lanes hold one row of the tile of a group of `group` lanes.
template <int L>
void transpose(Wave<L>& w, const Operand& dst, const u32 (*raw)[L], u32 bytes, u32 bits, u32 group, u32 lanes_a_row) {
  const u32 count = bytes * 8 / bits;
  alignas(64) u32 out[4][L] = {};
  for (u32 l = 0; l < L; l++) {
    const u32 column = l % group;
    for (u32 j = 0; j < count; j++) {
      const u32 from = l - column + lanes_a_row * j + column / count;
      u32 words[4];
      for (u32 d = 0; d < bytes / 4; d++) words[d] = raw[d][from];
      const u64 x = u64{element(words, bits, column % count)} << j * bits % 32;
      out[j * bits / 32][l] |= static_cast<u32>(x);
      if (x >> 32) out[j * bits / 32 + 1][l] |= static_cast<u32>(x >> 32);
    }
  }
  for (u32 d = 0; d < bytes / 4; d++) write_lanes(w, dst, static_cast<int>(d), out[d]);
}

template <u32 Bytes, u32 Bits>
void ds_read_tr(Wave<64>& w, const Insn& i) {
  alignas(64) u32 a[64], raw[4][64];
  if (!need_all_lanes(w)) return;
  lds_addresses(w, i.src[0], i.offset, a);
  if (!check_lds(w, a, active(w), Bytes, "load")) return;
  gather<64>(reinterpret_cast<u64>(w.group->lds), a, raw, Bytes);
  transpose<64>(w, i.dst[0], raw, Bytes, Bits, 16, 16 * Bits / (Bytes * 8));
}

void global_load_tr(Wave<32>& w, const Insn& i) {
  alignas(64) u64 a[32];
  alignas(64) u32 raw[4][32];
  if (!need_all_lanes(w)) return;
  global_addresses(w, i.src[0], i.src[1], i.offset, a);
  if (!check_global(w, a, active(w), 16, "load")) return;
  gather<32>(0, a, raw, 16);
  transpose<32>(w, i.dst[0], raw, 16, 16, 8, 1);
}

const OpRow kRows[] = {
    row("ds_read_b64_tr_b16", "b64=b32", nullptr, &ds_read_tr<8, 16>, memory_flags(Space::kLds, Access::kLoad, 8)),
    row("ds_read_b64_tr_b8", "b64=b32", nullptr, &ds_read_tr<8, 8>, memory_flags(Space::kLds, Access::kLoad, 8)),
    row("ds_read_b64_tr_b4", "b64=b32", nullptr, &ds_read_tr<8, 4>, memory_flags(Space::kLds, Access::kLoad, 8)),
    row("ds_read_b96_tr_b6", "b96=b32", nullptr, &ds_read_tr<12, 6>, memory_flags(Space::kLds, Access::kLoad, 12)),
    row("global_load_tr_b128", "b128=b64,b64", &global_load_tr, nullptr,
        memory_flags(Space::kGlobal, Access::kLoad, 16)),
};

}  // namespace

OpTable transpose_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
