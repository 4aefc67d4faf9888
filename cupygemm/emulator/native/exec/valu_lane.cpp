// Instructions that cross lanes, or touch registers outside of the usual destination: reads and writes of single lanes,
// permutations, swaps, counts of mask bits, and moves through M0.
#include "lanes.hpp"

namespace emu {

namespace {

template <int L>
void readfirstlane(Wave<L>& w, const Insn& i) {
  const u64 exec = w.exec() & Wave<L>::full();
  const int lane = exec ? __builtin_ctzll(exec) : 0;
  const Operand& o = i.src[0];
  write_s32(w, i.dst[0], o.kind == Kind::kVgpr ? w.v[o.reg][lane] : read_s32(w, o));
}

template <int L>
void readlane(Wave<L>& w, const Insn& i) {
  const Operand& o = i.src[0];
  const u32 lane = read_s32(w, i.src[1]) & (L - 1);
  write_s32(w, i.dst[0], o.kind == Kind::kVgpr ? w.v[o.reg][lane] : read_s32(w, o));
}

// EXEC does not matter here.
template <int L>
void writelane(Wave<L>& w, const Insn& i) {
  w.v[i.dst[0].reg][read_s32(w, i.src[1]) & (L - 1)] = read_s32(w, i.src[0]);
}

// Bits of the mask below the lane, in its low or high half, plus source 1.
template <int L, int kFirst>
void mbcnt(Wave<L>& w, const Insn& i) {
  alignas(64) u32 a[L], b[L], r[L];
  const u32* mask = read_lanes(w, i.src[0], 0, a);
  const u32* base = read_lanes(w, i.src[1], 0, b);
  for (int l = 0; l < L; l++) {
    const int n = l - kFirst;
    const u32 below = n <= 0 ? 0 : n >= 32 ? ~0u : (1u << n) - 1;
    r[l] = u32(__builtin_popcount(mask[l] & below)) + base[l];
  }
  write_lanes(w, i.dst[0], 0, r);
}

// op_sel bit 0: inactive lanes may be read; bit 1: what cannot be read is 0, else the destination stays.
template <int L>
void finish_permute(Wave<L>& w, const Insn& i, const u32* source, const u8* from) {
  alignas(64) u32 r[L];
  const u64 exec = w.exec();
  u64 lanes = exec;
  for (int l = 0; l < L; l++) {
    const bool readable = ((exec >> from[l]) & 1) || (i.op_sel & 1);
    r[l] = readable ? source[from[l]] : 0;
    if (!readable && !(i.op_sel & 2)) lanes &= ~(1ull << l);
  }
  write_lanes(w, i.dst[0], 0, r, lanes);
}

// Within rows of 16 lanes, or (kOther) from the neighbouring row: lane n of a row reads the lane named by nibble n of
// the 64-bit selector.
template <int L, bool kOther>
void permlane16(Wave<L>& w, const Insn& i) {
  alignas(64) u32 tmp[L];
  u8 from[L];
  const u64 select = read_s32(w, i.src[1]) | (u64(read_s32(w, i.src[2])) << 32);
  for (int l = 0; l < L; l++) {
    const int row = (l & ~15) ^ (kOther ? 16 : 0);
    from[l] = u8(row | ((select >> (4 * (l & 15))) & 15));
  }
  memcpy(tmp, read_lanes(w, i.src[0], 0, tmp), sizeof tmp);
  finish_permute(w, i, tmp, from);
}

// The same with a selector a lane.
template <int L, bool kOther>
void permlane16_var(Wave<L>& w, const Insn& i) {
  alignas(64) u32 tmp[L], buffer[L];
  u8 from[L];
  const u32* select = read_lanes(w, i.src[1], 0, buffer);
  for (int l = 0; l < L; l++) from[l] = u8(((l & ~15) ^ (kOther ? 16 : 0)) | (select[l] & 15));
  memcpy(tmp, read_lanes(w, i.src[0], 0, tmp), sizeof tmp);
  finish_permute(w, i, tmp, from);
}

// Halves of a wave64 change places; nothing happens in wave32.
template <int L>
void permlane64(Wave<L>& w, const Insn& i) {
  alignas(64) u32 tmp[L], r[L];
  const u32* a = read_lanes(w, i.src[0], 0, tmp);
  for (int l = 0; l < L; l++) r[l] = a[(l ^ 32) & (L - 1)];
  write_lanes(w, i.dst[0], 0, r);
}

// Odd rows (of kRow lanes) of the first register change places with even rows of the second.
template <int L, int kRow>
void permlane_swap(Wave<L>& w, const Insn& i) {
  alignas(64) u32 a[L], b[L];
  u32 *d = w.v[i.dst[0].reg], *s = w.v[i.dst[1].reg];
  memcpy(a, d, sizeof a), memcpy(b, s, sizeof b);
  for (int l = 0; l < L; l++) {
    if (l & kRow)
      a[l] = s[l - kRow];
    else
      b[l] = d[(l + kRow) & (L - 1)];
  }
  write_lanes(w, i.dst[0], 0, a);
  write_lanes(w, i.dst[1], 0, b);
}

template <int L>
void swap_b32(Wave<L>& w, const Insn& i) {
  alignas(64) u32 a[L], b[L];
  memcpy(a, w.v[i.dst[0].reg], sizeof a), memcpy(b, w.v[i.dst[1].reg], sizeof b);
  write_lanes(w, i.dst[0], 0, b);
  write_lanes(w, i.dst[1], 0, a);
}

template <int L>
void swap_b16(Wave<L>& w, const Insn& i) {
  alignas(64) u32 a[L], b[L];
  const int at = i.dst[0].mods & kHigh ? 16 : 0, bt = i.dst[1].mods & kHigh ? 16 : 0;
  u32 *d = w.v[i.dst[0].reg], *s = w.v[i.dst[1].reg];
  for (int l = 0; l < L; l++) {
    const u32 x = (d[l] >> at) & 0xffff, y = (s[l] >> bt) & 0xffff;
    a[l] = y << at, b[l] = x << bt;
  }
  const u64 exec = w.exec();
  for (int l = 0; l < L; l++) {
    if (!((exec >> l) & 1)) continue;
    d[l] = (d[l] & ~(0xffffu << at)) | a[l];
    s[l] = (s[l] & ~(0xffffu << bt)) | b[l];
  }
}

// ---- Registers named by M0
// ------------------------------------------------------------------------------------------------

template <int L>
bool in_file(Wave<L>& w, u32 reg) {
  if (reg < 256) return true;
  trap(w, -1, "register v%u by way of M0 does not exist", reg);
  return false;
}

template <int L, bool kSource, bool kDestination>
void move_relative(Wave<L>& w, const Insn& i) {
  const u32 m0 = w.s[kM0], from = i.src[0].reg + (kSource ? m0 : 0), to = i.dst[0].reg + (kDestination ? m0 : 0);
  alignas(64) u32 tmp[L];
  if (!in_file(w, to)) return;
  Operand d = i.dst[0];
  d.reg = u16(to);
  if (i.src[0].kind != Kind::kVgpr) return write_lanes(w, d, 0, read_lanes(w, i.src[0], 0, tmp));
  if (!in_file(w, from)) return;
  memcpy(tmp, w.v[from], sizeof tmp);
  write_lanes(w, d, 0, tmp);
}

// CDNA: s_set_gpr_idx_on puts index and mode into M0; the decoder turns moves up to s_set_gpr_idx_off into
// v_mov_b32_indexed.
template <int L>
void set_gpr_idx_on(Wave<L>& w, const Insn& i) {
  w.s[kM0] = (read_s32(w, i.src[0]) & 0xff) | ((u32(i.src[1].value) & 15) << 12);
}
template <int L>
void set_gpr_idx_idx(Wave<L>& w, const Insn& i) {
  w.s[kM0] = (w.s[kM0] & ~0xffu) | (read_s32(w, i.src[0]) & 0xff);
}
template <int L>
void set_gpr_idx_mode(Wave<L>& w, const Insn& i) {
  w.s[kM0] = (w.s[kM0] & ~0xf000u) | ((u32(i.src[0].value) & 15) << 12);
}
template <int L>
void nothing(Wave<L>&, const Insn&) {}
template <int L>
void move_indexed(Wave<L>& w, const Insn& i) {
  const u32 index = w.s[kM0] & 0xff, mode = (w.s[kM0] >> 12) & 15;
  alignas(64) u32 tmp[L];
  Operand d = i.dst[0], s = i.src[0];
  if (mode & 8) d.reg = u16(d.reg + index);
  if (mode & 1 && s.kind == Kind::kVgpr) s.reg = u16(s.reg + index);
  if (!in_file(w, d.reg) || (s.kind == Kind::kVgpr && !in_file(w, s.reg))) return;
  memcpy(tmp, read_lanes(w, s, 0, tmp), sizeof tmp);
  write_lanes(w, d, 0, tmp);
}

template <int L, int kDwords, bool kSource>
void scalar_relative(Wave<L>& w, const Insn& i) {
  const u32 from = i.src[0].reg + (kSource ? w.s[kM0] : 0), to = i.dst[0].reg + (kSource ? 0 : w.s[kM0]);
  if (from + kDwords > kVccLo || to + kDwords > kVccLo)
    return trap(w, -1, "register s%u by way of M0 does not exist", from > to ? from : to);
  u32 x[2] = {w.s[from], w.s[from + kDwords - 1]};
  for (int d = 0; d < kDwords; d++) w.s[to + d] = x[d];
}

#define EMU_ROW(name, sig, handler) row(name, sig, &handler<32>, &handler<64>)
#define EMU_ROW2(name, sig, handler, arg) row(name, sig, &handler<32, arg>, &handler<64, arg>)
#define EMU_ROW3(name, sig, handler, a, b) row(name, sig, &handler<32, a, b>, &handler<64, a, b>)

const OpRow kRows[] = {
    EMU_ROW("v_readfirstlane_b32", "b32=b32", readfirstlane),
    EMU_ROW("v_readlane_b32", "b32=b32,b32", readlane),
    EMU_ROW("v_writelane_b32", "b32=b32,b32", writelane),
    EMU_ROW2("v_mbcnt_lo_u32_b32", "b32=b32,b32", mbcnt, 0),
    EMU_ROW2("v_mbcnt_hi_u32_b32", "b32=b32,b32", mbcnt, 32),
    EMU_ROW2("v_permlane16_b32", "b32=b32,b32,b32", permlane16, false),
    EMU_ROW2("v_permlanex16_b32", "b32=b32,b32,b32", permlane16, true),
    EMU_ROW2("v_permlane16_var_b32", "b32=b32,b32", permlane16_var, false),
    EMU_ROW2("v_permlanex16_var_b32", "b32=b32,b32", permlane16_var, true),
    EMU_ROW("v_permlane64_b32", "b32=b32", permlane64),
    EMU_ROW2("v_permlane16_swap_b32", "b32,b32=", permlane_swap, 16),
    EMU_ROW2("v_permlane32_swap_b32", "b32,b32=", permlane_swap, 32),
    EMU_ROW("v_swap_b32", "b32,b32=", swap_b32),
    EMU_ROW("v_swap_b16", "b16,b16=", swap_b16),
    EMU_ROW3("v_movrels_b32", "b32=b32", move_relative, true, false),
    EMU_ROW3("v_movreld_b32", "b32=b32", move_relative, false, true),
    EMU_ROW3("v_movrelsd_b32", "b32=b32", move_relative, true, true),
    EMU_ROW("v_mov_b32_indexed", "b32=b32", move_indexed),
    EMU_ROW("s_set_gpr_idx_on", "=b32,imm", set_gpr_idx_on),
    EMU_ROW("s_set_gpr_idx_idx", "=b32", set_gpr_idx_idx),
    EMU_ROW("s_set_gpr_idx_mode", "=imm", set_gpr_idx_mode),
    EMU_ROW("s_set_gpr_idx_off", "=", nothing),
    EMU_ROW3("s_movrels_b32", "b32=b32", scalar_relative, 1, true),
    EMU_ROW3("s_movrels_b64", "b64=b64", scalar_relative, 2, true),
    EMU_ROW3("s_movreld_b32", "b32=b32", scalar_relative, 1, false),
    EMU_ROW3("s_movreld_b64", "b64=b64", scalar_relative, 2, false),
};

}  // namespace

OpTable valu_lane_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
