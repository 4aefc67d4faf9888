// Undefined bits through matrix instructions, element by element: the instruction is run on operands in which an
// undefined element is NaN (integers: 1) and any other is 0. An element of D is undefined if it comes out as NaN (or
// other than 0).
#include "check.hpp"

namespace emu::check {
namespace {

constexpr u32 kMaxRows = 32;

struct Code {
  u32 bits;  // width of an element
  u32 nan;   // code of an undefined one
};

bool ends(const char* s, const char* suffix) {
  const size_t n = strlen(s), m = strlen(suffix);
  return n >= m && strcmp(s + n - m, suffix) == 0;
}

Code operand_code(const char* name, Arch arch) {
  if (strstr(name, "_fp8") || strstr(name, "_bf8")) return {8, arch == Arch::kCdna3 ? 0x80u : 0x7fu};
  if (strstr(name, "bf16")) return {16, 0x7fc0u};
  if (ends(name, "f16")) return {16, 0x7e00u};
  if (ends(name, "f64")) return {64, 0};
  return {32, 0x7fc00000u};
}

Code accumulator_code(const char* name) {
  if (strstr(name, "wmma_f16")) return {16, 0x7e00u};
  if (strstr(name, "wmma_bf16")) return {16, 0x7fc0u};
  if (strstr(name, "_f64_")) return {64, 0};
  return {32, 0x7fc00000u};
}

u32 encode_word(u32 undefined, const Code& code) {
  if (code.bits == 32) return undefined ? code.nan : 0;
  u32 out = 0;
  const u32 mask = (1u << code.bits) - 1;
  for (u32 at = 0; at < 32; at += code.bits) out |= (undefined >> at & mask ? code.nan : 0) << at;
  return out;
}

template <int L>
void encode_rows(Wave<L>& shadow, const Operand& o, const Code& code) {
  if (o.kind != Kind::kVgpr) return;
  for (u32 d = 0; d < o.dwords; d++) {
    u32* row = shadow.v[o.reg + d];
    if (code.bits == 64) {
      u32* high = shadow.v[o.reg + d + 1];
      for (int l = 0; l < L; l++) {
        high[l] = row[l] | high[l] ? 0x7ff80000u : 0;
        row[l] = 0;
      }
      d++;
      continue;
    }
    for (int l = 0; l < L; l++) row[l] = encode_word(row[l], code);
  }
}

u32 decode_word(u32 x, const Code& code) {
  if (code.bits == 32) return (x & 0x7fffffffu) > 0x7f800000u ? ~0u : 0;
  const u32 infinity = code.nan & (code.nan == 0x7fc0u ? 0x7f80u : 0x7c00u);
  u32 out = 0;
  for (u32 at = 0; at < 32; at += 16) out |= (x >> at & 0x7fffu) > infinity ? 0xffffu << at : 0;
  return out;
}

template <int L>
void decode_rows(Wave<L>& shadow, const Operand& o, const Code& code) {
  for (u32 d = 0; d < o.dwords; d++) {
    u32* row = shadow.v[o.reg + d];
    if (code.bits == 64) {
      u32* high = shadow.v[o.reg + d + 1];
      for (int l = 0; l < L; l++) row[l] = high[l] = (high[l] & 0x7fffffffu) >= 0x7ff80000u ? ~0u : 0;
      d++;
      continue;
    }
    for (int l = 0; l < L; l++) row[l] = decode_word(row[l], code);
  }
}

// The shadow rows of A, B and C, to be put back where D does not overwrite them.
template <int L>
struct SavedRows {
  alignas(64) u32 rows[3][kMaxRows][L];

  void save(const Wave<L>& shadow, const Insn& i) {
    for (int n = 0; n < 3; n++) {
      if (i.src[n].kind == Kind::kVgpr) memcpy(rows[n], shadow.v[i.src[n].reg], sizeof(rows[0][0]) * i.src[n].dwords);
    }
  }
  void restore(Wave<L>& shadow, const Insn& i, const u32 (*result)[L]) {
    for (int n = 0; n < 3; n++) {
      if (i.src[n].kind == Kind::kVgpr) memcpy(shadow.v[i.src[n].reg], rows[n], sizeof(rows[0][0]) * i.src[n].dwords);
    }
    memcpy(shadow.v[i.dst[0].reg], result, sizeof(rows[0][0]) * i.dst[0].dwords);
  }
};

template <int L>
void run(Wave<L>& shadow, const Insn& i) {
  shadow.at = &i;
  reinterpret_cast<Handler<L>>(i.run)(shadow, i);
}

template <int L>
void fill_rows(Wave<L>& shadow, const Operand& o, u32 x) {
  if (o.kind != Kind::kVgpr) return;
  for (u32 d = 0; d < o.dwords; d++) {
    for (int l = 0; l < L; l++) shadow.v[o.reg + d][l] = x;
  }
}

// Two runs: A's undefined elements against a B of ones, then the other way round.
template <int L>
void follow_integer(Wave<L>& shadow, const Insn& i, SavedRows<L>& saved, u32 (*result)[L]) {
  const bool nibbles = strstr(op_row(i.op)->name, "iu4") != nullptr;
  const Code code{nibbles ? 4u : 8u, 1};
  const u32 ones = nibbles ? 0x11111111u : 0x01010101u;
  const Operand& d = i.dst[0];
  memset(result, 0, sizeof(result[0]) * d.dwords);
  for (int n = 0; n < 2; n++) {
    memcpy(shadow.v[i.src[n].reg], saved.rows[n], sizeof(result[0]) * i.src[n].dwords);
    encode_rows(shadow, i.src[n], code);
    fill_rows(shadow, i.src[1 - n], ones);
    fill_rows(shadow, i.src[2], 0);
    run(shadow, i);
    for (u32 r = 0; r < d.dwords; r++) {
      for (int l = 0; l < L; l++) result[r][l] |= shadow.v[d.reg + r][l] ? ~0u : 0;
    }
  }
  if (i.src[2].kind != Kind::kVgpr) return;
  for (u32 r = 0; r < d.dwords; r++) {
    for (int l = 0; l < L; l++) result[r][l] |= saved.rows[2][r][l] ? ~0u : 0;
  }
}

template <int L>
void follow_float(Wave<L>& shadow, const Insn& i, u32 (*result)[L]) {
  const char* name = op_row(i.op)->name;
  const Code code = operand_code(name, shadow.arch), accumulator = accumulator_code(name);
  const Operand &a = i.src[0], &b = i.src[1], &c = i.src[2], &d = i.dst[0];
  encode_rows(shadow, a, code);
  if (b.reg != a.reg) encode_rows(shadow, b, code);
  encode_rows(shadow, c, accumulator);
  const bool in_place = c.kind == Kind::kVgpr && c.reg == d.reg;
  const bool over_operand = d.reg == a.reg || d.reg == b.reg;
  if (!in_place && !over_operand) encode_rows(shadow, d, accumulator);
  run(shadow, i);
  decode_rows(shadow, d, accumulator);
  memcpy(result, shadow.v[d.reg], sizeof(result[0]) * d.dwords);
}

}  // namespace

template <int L>
void follow_matrix(Wave<L>& w, const Insn& i, const Plan& p) {
  WaveCheck<L>& c = wave_check(w);
  static thread_local SavedRows<L> saved;
  alignas(64) static thread_local u32 result[kMaxRows][L];
  if (strstr(op_row(i.op)->name, "f8f6f4")) {  // no code of the 6- and 4-bit formats is NaN
    for (auto& row : result) memset(row, 0xff, sizeof row);
    memcpy(c.shadow.v[i.dst[0].reg], result, sizeof(result[0]) * i.dst[0].dwords);
  } else {
    saved.save(c.shadow, i);
    if (p.flow == Flow::kMatrixInteger) {
      follow_integer(c.shadow, i, saved, result);
    } else {
      follow_float(c.shadow, i, result);
    }
    saved.restore(c.shadow, i, result);
  }
  refresh_state(w, p.write[0], i.line + 1);
}

// gfx11 wants lanes 16-31 of A and B to repeat lanes 0-15.
void check_replicas(Wave<32>& w, const Insn& i) {
  for (int n = 0; n < 2; n++) {
    for (u32 d = 0; d < i.src[n].dwords; d++) {
      const u32* row = w.v[i.src[n].reg + d];
      if (memcmp(row, row + 16, 16 * sizeof *row) == 0) continue;
      for (int l = 0; l < 16; l++) {
        if (row[l] == row[l + 16]) continue;
        return trap(
            w, l + 16,
            "operand %c of a gfx11 WMMA: lane %d holds 0x%08x in v%u, but lane %d, which it must repeat, 0x%08x",
            "AB"[n], l + 16, row[l + 16], i.src[n].reg + d, l, row[l]);
      }
    }
  }
}

template void follow_matrix<32>(Wave<32>&, const Insn&, const Plan&);
template void follow_matrix<64>(Wave<64>&, const Insn&, const Plan&);

}  // namespace emu::check
