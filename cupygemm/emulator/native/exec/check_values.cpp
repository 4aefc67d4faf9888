// Uninitialised values, in the manner of valgrind's memcheck: every register bit is defined or not; moves, shifts and
// bit operations carry that along; other arithmetic makes a lane's result undefined as a whole. A report comes where an
// undefined bit decides something: in an address, in data stored outside of the workgroup, in EXEC, in a branch.
//
// LDS and private memory have undefined bits of their own, so that spilling or staging an undefined value is no error.
// Bits are kept in a shadow wave: an instruction that only moves bits is run a second time on it.
#include "check.hpp"
#include "dpp.hpp"

namespace emu::check {
namespace {

template <int L>
bool any_state(const WaveCheck<L>& c, const Range& range, u8 wanted) {
  for (u32 r = range.first; r < range.first + u32{range.count}; r++) {
    if (c.state[r] & wanted) return true;
  }
  return false;
}

// Line (plus 1) that the first undefined source's bits came from.
template <int L>
u32 origin_of(const WaveCheck<L>& c, const Plan& p) {
  for (u32 n = 0; n < p.reads; n++) {
    for (u32 r = p.read[n].first; r < p.read[n].first + u32{p.read[n].count}; r++) {
      if (c.state[r] & kUndefined) return c.origin[r];
    }
  }
  return 0;
}

bool half_type(Type t) { return t == Type::kB16 || t == Type::kF16 || t == Type::kBF16; }
bool packed_type(Type t) { return t == Type::kPackedI16 || t == Type::kPackedF16 || t == Type::kPackedBF16; }

u32 sdwa_bits(u8 sel) {
  if (sel >= 1 && sel <= 4) return 0xffu << 8 * (sel - 1);
  return sel == 5 ? 0xffffu : sel == 6 ? 0xffff0000u : ~0u;
}

// The bits of source n that the instruction looks at.
u32 bits_read(const Insn& i, int n) {
  const Operand& o = i.src[n];
  if (o.sdwa) return sdwa_bits(o.sdwa);
  const bool half = half_type(o.type) || (o.type == Type::kMix && (i.op_sel_hi >> n & 1));
  if (!half) return ~0u;
  const bool high = o.type == Type::kMix ? i.op_sel >> n & 1 : o.mods & kHigh;
  return high ? 0xffff0000u : 0xffffu;
}

template <int L>
u64 lanes_from_source(Wave<L>& w, const Insn& i, int n, u32 bits, u64 lanes) {
  const Operand& o = i.src[n];
  if (o.type == Type::kMask && o.kind == Kind::kSgpr) {
    const WaveCheck<L>& c = wave_check(w);
    return c.shadow.s[o.reg] | (L == 64 ? u64{c.shadow.s[o.reg + 1]} << 32 : 0);
  }
  u64 undefined = 0;
  for (u32 d = 0; d < o.dwords; d++) undefined |= undefined_lanes(w, o, d, bits, lanes);
  if (n != 0 || i.dpp == Dpp::kNone || !undefined) return undefined;
  alignas(64) u32 row[L];
  for (int l = 0; l < L; l++) row[l] = undefined >> l & 1;
  apply_dpp<L>(w.exec(), i, row);
  undefined = 0;
  for (int l = 0; l < L; l++) undefined |= u64{row[l]} << l;
  return undefined;
}

// Lanes whose result the instruction writes.
template <int L>
u64 lanes_written(Wave<L>& w, const Insn& i) {
  if (i.dpp == Dpp::kNone) return active(w);
  alignas(64) u32 row[L] = {};
  return apply_dpp<L>(w.exec(), i, row) & Wave<L>::full();
}

// The bits of a VGPR result that the instruction writes.
u32 bits_written(const Insn& i, const Operand& o, Arch arch) {
  if (o.sdwa) return (i.flags & kSdwaPreserve) ? sdwa_bits(o.sdwa) : ~0u;
  if (!half_type(o.type)) return ~0u;
  const bool high = (o.mods & kHigh) || (i.flags & kHighResult);
  if (is_cdna(arch) && !high && !(i.flags & kKeepHigh)) return ~0u;
  return high ? 0xffff0000u : 0xffffu;
}

template <int L>
void write_shadow_lanes(WaveCheck<L>& c, u32 reg, u64 lanes, u64 undefined, u32 written, u32 bits, u32 origin) {
  u32* row = c.shadow.v[reg];
  u32 any = 0;
  for (int l = 0; l < L; l++) {
    const u32 next = (row[l] & ~written) | (undefined >> l & 1 ? bits & written : 0);
    row[l] = lanes >> l & 1 ? next : row[l];
    any |= row[l];
  }
  if (any && !(c.state[reg] & kUndefined)) c.origin[reg] = origin;
  if (any && (undefined & lanes)) c.origin[reg] = origin;
  c.state[reg] = any ? c.state[reg] | kUndefined : c.state[reg] & ~kUndefined;
}

template <int L>
void write_shadow_scalar(WaveCheck<L>& c, u32 sgpr, u32 bits, u32 origin) {
  c.shadow.s[sgpr] = bits;
  u8& state = c.state[kSgpr0 + sgpr];
  state = bits ? state | kUndefined : state & ~kUndefined;
  if (bits) c.origin[kSgpr0 + sgpr] = origin;
}

// An undefined bit in EXEC decides which lanes run.
template <int L>
bool exec_is_undefined(Wave<L>& w, u64 bits) {
  if (!(bits & Wave<L>::full())) return false;
  WaveCheck<L>& c = wave_check(w);
  c.shadow.set_exec(0);
  trap(w, __builtin_ctzll(bits), "uninitialised value: EXEC, which says what lanes run, depends on it");
  return true;
}

template <int L>
void write_results(Wave<L>& w, const Insn& i, const Plan& p, u64 undefined, u64 low, u64 high) {
  WaveCheck<L>& c = wave_check(w);
  const u32 origin = origin_of(c, p);
  const u64 lanes = lanes_written(w, i);
  if ((i.flags & kCmpx) && exec_is_undefined(w, undefined & lanes)) return;
  for (int n = 0; n < i.ndst; n++) {
    const Operand& o = i.dst[n];
    if (o.kind == Kind::kVgpr) {
      const u32 written = bits_written(i, o, w.arch);
      for (u32 d = 0; d < o.dwords; d++) {
        if (packed_type(o.type)) {
          write_shadow_lanes(c, o.reg + d, lanes, low, 0xffffu, 0xffffu, origin);
          write_shadow_lanes(c, o.reg + d, lanes, high, 0xffff0000u, 0xffff0000u, origin);
        } else if (o.type == Type::kPackedF32) {
          write_shadow_lanes(c, o.reg + d, lanes, d ? high : low, ~0u, ~0u, origin);
        } else {
          write_shadow_lanes(c, o.reg + d, lanes, undefined, written,
                             half_type(o.type) && written == ~0u ? 0xffffu : ~0u, origin);
        }
      }
    } else if (o.kind == Kind::kSgpr && o.type == Type::kMask) {
      const u64 bits = undefined & lanes;
      if (o.reg == kExecLo && exec_is_undefined(w, bits)) return;
      write_shadow_scalar(c, o.reg, static_cast<u32>(bits), origin);
      if (L == 64) write_shadow_scalar(c, o.reg + 1, static_cast<u32>(bits >> 32), origin);
    } else if (o.kind == Kind::kSgpr) {
      const u32 bits = undefined ? ~0u : 0;
      if (bits && o.reg + o.dwords > kExecLo && o.reg <= kExecHi && exec_is_undefined(w, ~0ull)) return;
      for (u32 d = 0; d < o.dwords; d++) write_shadow_scalar(c, o.reg + d, bits, origin);
    }
  }
}

template <int L>
void follow_any(Wave<L>& w, const Insn& i, const Plan& p) {
  u64 undefined = 0, low = 0, high = 0;
  for (int n = 0; n < i.nsrc; n++) {
    const Operand& o = i.src[n];
    const bool pair = o.type == Type::kPackedF32 && o.dwords == 2;
    if (pair || packed_type(o.type)) {
      // op_sel says which half of the operand either half of the result comes from; the other may be undefined.
      const u64 lower =
          pair ? undefined_lanes(w, o, 0, ~0u, Wave<L>::full()) : lanes_from_source(w, i, n, 0xffffu, Wave<L>::full());
      const u64 upper = pair ? undefined_lanes(w, o, 1, ~0u, Wave<L>::full())
                             : lanes_from_source(w, i, n, 0xffff0000u, Wave<L>::full());
      low |= i.op_sel >> n & 1 ? upper : lower;
      high |= i.op_sel_hi >> n & 1 ? upper : lower;
      undefined |= lower | upper;
    } else {
      const u64 lanes = lanes_from_source(w, i, n, bits_read(i, n), Wave<L>::full());
      undefined |= lanes;
      low |= lanes;
      high |= lanes;
    }
  }
  if (wave_check(w).scc_undefined && p.scc_user) undefined = ~0ull;
  if (p.scalar) wave_check(w).scc_undefined = undefined != 0;
  write_results(w, i, p, undefined, low, high);
}

// The undefined bits of lane `lane` of a source of one or two dwords, as a number; an undefined carry counts as bit 0.
template <int L>
u64 source_bits(const WaveCheck<L>& c, const Operand& o, int lane) {
  if (o.kind == Kind::kSgpr && o.type == Type::kMask) return c.shadow.s[o.reg + lane / 32] >> lane % 32 & 1;
  if (o.kind == Kind::kSgpr) return c.shadow.s[o.reg] | (o.dwords > 1 ? u64{c.shadow.s[o.reg + 1]} << 32 : 0);
  if (o.kind != Kind::kVgpr) return 0;
  return c.shadow.v[o.reg][lane] | (o.dwords > 1 ? u64{c.shadow.v[o.reg + 1][lane]} << 32 : 0);
}

template <int L>
void follow_sum(Wave<L>& w, const Insn& i, const Plan& p) {
  WaveCheck<L>& c = wave_check(w);
  const u32 origin = origin_of(c, p);
  const u64 lanes = active(w);
  const Operand& result = i.dst[0];
  alignas(64) u64 bits[L] = {};
  u64 undefined = 0;
  for (int l = 0; l < L; l++) {
    for (int n = 0; n < i.nsrc; n++) bits[l] |= source_bits(c, i.src[n], l);
    bits[l] |= -bits[l];
    undefined |= u64{bits[l] != 0} << l;
  }
  if (p.scalar) {
    if (c.scc_undefined && p.scc_user) bits[0] = ~0ull;
    c.scc_undefined = bits[0] != 0;
  }
  for (u32 d = 0; d < result.dwords; d++) {
    if (result.kind == Kind::kSgpr) write_shadow_scalar(c, result.reg + d, static_cast<u32>(bits[0] >> 32 * d), origin);
    if (result.kind != Kind::kVgpr) continue;
    u32* row = c.shadow.v[result.reg + d];
    for (int l = 0; l < L; l++) row[l] = lanes >> l & 1 ? static_cast<u32>(bits[l] >> 32 * d) : row[l];
    refresh_state(w, {static_cast<u16>(result.reg + d), 1}, origin);
  }
  if (i.ndst < 2 || i.dst[1].kind != Kind::kSgpr) return;
  for (u32 d = 0; d < L / 32; d++)
    write_shadow_scalar(c, i.dst[1].reg + d, static_cast<u32>((undefined & lanes) >> 32 * d), origin);
}

// ---- Bit by bit
// ------------------------------------------------------------------------------------------------------

u32 combine(Flow flow, u32 a, u32 ua, u32 b, u32 ub) {
  switch (flow) {
    case Flow::kAnd:
      return (ua | ub) & (ua | a) & (ub | b);
    case Flow::kAndNot:
      return (ua | ub) & (ua | a) & (ub | ~b);
    case Flow::kOr:
      return (ua | ub) & (ua | ~a) & (ub | ~b);
    case Flow::kOrNot:
      return (ua | ub) & (ua | ~a) & (ub | b);
    default:
      return ua | ub;
  }
}

template <int L>
void follow_bits_vector(Wave<L>& w, const Insn& i, const Plan& p) {
  WaveCheck<L>& c = wave_check(w);
  const u32 origin = origin_of(c, p);
  alignas(64) u32 values[2][L], bits[2][L] = {};
  const u64 lanes = active(w);
  for (u32 d = 0; d < i.dst[0].dwords; d++) {
    for (int n = 0; n < 2; n++) {
      const Operand& o = i.src[n < i.nsrc ? n : 0];
      memcpy(values[n], read_lanes(w, o, static_cast<int>(d), bits[n]), sizeof values[n]);
      for (int l = 0; l < L; l++) {
        bits[n][l] = o.kind == Kind::kVgpr   ? c.shadow.v[o.reg + d][l]
                     : o.kind == Kind::kSgpr ? c.shadow.s[o.reg + d]
                                             : 0;
      }
    }
    u32* row = c.shadow.v[i.dst[0].reg + d];
    for (int l = 0; l < L; l++) {
      const u32 next = combine(p.flow, values[0][l], bits[0][l], values[1][l], bits[1][l]);
      row[l] = lanes >> l & 1 ? next : row[l];
    }
    refresh_state(w, {static_cast<u16>(i.dst[0].reg + d), 1}, origin);
  }
}

template <int L>
u64 scalar_bits(const Wave<L>& w, const Operand& o) {
  if (o.kind != Kind::kSgpr) return 0;
  const WaveCheck<L>& c = wave_check(w);
  return c.shadow.s[o.reg] | (o.dwords > 1 ? u64{c.shadow.s[o.reg + 1]} << 32 : 0);
}

u64 combine64(Flow flow, u64 a, u64 ua, u64 b, u64 ub) {
  return combine(flow, static_cast<u32>(a), static_cast<u32>(ua), static_cast<u32>(b), static_cast<u32>(ub)) |
         u64{combine(flow, static_cast<u32>(a >> 32), static_cast<u32>(ua >> 32), static_cast<u32>(b >> 32),
                     static_cast<u32>(ub >> 32))}
             << 32;
}

template <int L>
void follow_bits_scalar(Wave<L>& w, const Insn& i, const Plan& p) {
  WaveCheck<L>& c = wave_check(w);
  const u32 origin = origin_of(c, p);
  const Operand &a = i.src[0], &b = i.src[i.nsrc > 1 ? 1 : 0], &o = i.dst[0];
  u64 bits = combine64(p.flow, read_s64(w, a), scalar_bits(w, a), read_s64(w, b), scalar_bits(w, b));
  if (o.dwords == 1) bits &= 0xffffffffu;
  c.scc_undefined = bits != 0;
  if (o.kind != Kind::kSgpr) return;
  if (o.reg == kExecLo && exec_is_undefined(w, bits)) return;
  for (u32 d = 0; d < o.dwords; d++) write_shadow_scalar(c, o.reg + d, static_cast<u32>(bits >> 32 * d), origin);
}

// The new EXEC is op(source, EXEC) by the name's beginning; bits that EXEC masks out do not matter. Destination: the
// old EXEC.
template <int L>
void follow_save_exec(Wave<L>& w, const Insn& i, const Plan& p) {
  WaveCheck<L>& c = wave_check(w);
  const u64 bits = scalar_bits(w, i.src[0]);
  if (exec_is_undefined(w, p.masks_exec ? bits & w.exec() : bits)) return;
  c.scc_undefined = false;
  for (u32 d = 0; d < i.dst[0].dwords; d++) write_shadow_scalar(c, i.dst[0].reg + d, 0, 0);
}

template <int L>
void follow_move(Wave<L>& w, const Insn& i, const Plan& p) {
  WaveCheck<L>& c = wave_check(w);
  bool unknown = p.scc_user && c.scc_undefined;
  for (int n = 0; n < i.nsrc; n++) {
    if (p.control >> n & 1) unknown |= lanes_from_source(w, i, n, ~0u, Wave<L>::full()) & active(w);
  }
  if (unknown) return follow_any(w, i, p);
  run_on_shadow(w, i, p, p.control, origin_of(c, p));
  if (p.writes_exec) exec_is_undefined(w, c.shadow.exec());
  if (p.scalar && i.ndst) c.scc_undefined = false;
}

}  // namespace

template <int L>
void define_results(Wave<L>& w, const Insn& i, const Plan& p) {
  WaveCheck<L>& c = wave_check(w);
  if (p.scalar && i.ndst) c.scc_undefined = false;
  for (u32 n = 0; n < p.writes; n++) {
    if (!any_state(c, p.write[n], kUndefined)) continue;
    if (p.write[n].first >= kSgpr0) {
      for (u32 r = p.write[n].first; r < p.write[n].first + u32{p.write[n].count}; r++)
        write_shadow_scalar(c, r - kSgpr0, 0, 0);
      continue;
    }
    const bool matrix = p.flow == Flow::kMatrixFloat || p.flow == Flow::kMatrixInteger;
    const u64 lanes = matrix ? Wave<L>::full() : lanes_written(w, i);
    const u32 written = p.d16             ? (p.high_data ? 0xffff0000u : 0xffffu)
                        : n < u32{i.ndst} ? bits_written(i, i.dst[n], w.arch)
                                          : ~0u;
    for (u32 r = p.write[n].first; r < p.write[n].first + u32{p.write[n].count}; r++)
      write_shadow_lanes(c, r, lanes, 0, written, 0, 0);
  }
}

template <int L>
void follow_values(Wave<L>& w, const Insn& i, const Plan& p, bool sources_undefined) {
  if (branch_is_undefined(w, p)) return;
  if (p.flow == Flow::kMemory) {
    if (sources_undefined) follow_memory(w, i, p);
    if (w.state != State::kRunning) return;
    // LDS is followed with its races (check_lds.cpp).
    if (p.memory.space == Space::kScratch) return run_on_shadow(w, i, p, address_sources(p), i.line + 1);
    if (p.memory.space != Space::kLds && p.memory.form != Form::kToLds) define_results(w, i, p);
    return;
  }
  if (!sources_undefined) return p.one_lane ? follow_move(w, i, p) : define_results(w, i, p);
  switch (p.flow) {
    case Flow::kNone:
      return;
    case Flow::kAnd:
    case Flow::kOr:
    case Flow::kXor:
    case Flow::kAndNot:
    case Flow::kOrNot:
      return p.scalar ? follow_bits_scalar(w, i, p) : follow_bits_vector(w, i, p);
    case Flow::kSum:
      return follow_sum(w, i, p);
    case Flow::kMove:
      return follow_move(w, i, p);
    case Flow::kSaveExec:
      return follow_save_exec(w, i, p);
    case Flow::kMatrixFloat:
    case Flow::kMatrixInteger:
      return follow_matrix(w, i, p);
    default:
      return follow_any(w, i, p);
  }
}

#define INSTANTIATE(L)                                                 \
  template void define_results<L>(Wave<L>&, const Insn&, const Plan&); \
  template void follow_values<L>(Wave<L>&, const Insn&, const Plan&, bool);
INSTANTIATE(32)
INSTANTIATE(64)

}  // namespace emu::check
