// Where an undefined bit decides something: the address of an access, data that leaves the workgroup, a branch.
#include "check.hpp"

namespace emu::check {
namespace {

template <int L>
void report_undefined(Wave<L>& w, int lane, const char* what, u32 reg) {
  const u32 origin = wave_check(w).origin[reg];
  if (origin == 0) {
    trap(w, lane, "uninitialised value: %s depends on %s, which was never written", what, RegisterName(reg).text);
  } else {
    trap(w, lane, "uninitialised value: %s depends on %s; the undefined bits came from assembly line %u", what,
         RegisterName(reg).text, origin);
  }
}

u32 register_of(const Operand& o, u32 dword) { return (o.kind == Kind::kSgpr ? kSgpr0 : 0) + o.reg + dword; }

// Reports if the operand has an undefined bit (of `bits` in every dword) in a lane of `mask`.
template <int L>
bool decided_by_undefined(Wave<L>& w, const Operand& o, u64 mask, u32 bits, const char* what) {
  if (o.kind != Kind::kVgpr && o.kind != Kind::kSgpr) return false;
  for (u32 d = 0; d < o.dwords; d++) {
    const u64 lanes = undefined_lanes(w, o, d, bits, mask);
    if (!lanes) continue;
    report_undefined(w, o.kind == Kind::kVgpr ? __builtin_ctzll(lanes) : -1, what, register_of(o, d));
    return true;
  }
  return false;
}

u32 data_bits(const Plan& p) {
  const u32 bits = p.memory.bytes >= 4 ? ~0u : (1u << 8 * p.memory.bytes) - 1;
  return p.high_data ? bits << 16 : bits;
}

}  // namespace

// Which sources are addresses (bit n: source n).
u32 address_sources(const Plan& p) {
  const bool load = p.memory.access == Access::kLoad;
  switch (p.memory.space) {
    case Space::kScalar:
      return 3;
    case Space::kGlobal:
    case Space::kFlat:
    case Space::kScratch:
      return load ? 3 : 5;
    case Space::kBuffer:
      return load ? 7 : 14;
    case Space::kLds:
      return p.memory.form == Form::kAddTid ? 0 : 1;
    default:
      return 0;
  }
}

template <int L>
void follow_memory(Wave<L>& w, const Insn& i, const Plan& p) {
  const u64 mask = p.memory.space == Space::kScalar ? 1 : active(w);
  if (!mask) return;
  const u32 addresses = address_sources(p);
  for (int n = 0; n < i.nsrc; n++) {
    if ((addresses >> n & 1) && decided_by_undefined(w, i.src[n], mask, ~0u, "the address")) return;
  }
  if (p.memory.form == Form::kToLds && (wave_check(w).state[kSgpr0 + kM0] & kUndefined)) {
    return report_undefined(w, -1, "the LDS address", kSgpr0 + kM0);
  }
  const bool leaves =
      p.memory.space == Space::kGlobal || p.memory.space == Space::kFlat || p.memory.space == Space::kBuffer;
  if (!leaves || p.memory.access == Access::kLoad) return;
  const Operand& data = i.src[p.memory.space == Space::kBuffer ? 0 : 1];
  decided_by_undefined(w, data, mask, data_bits(p),
                       p.memory.access == Access::kStore ? "stored data" : "an atomic's operand");
}

template <int L>
bool branch_is_undefined(Wave<L>& w, const Plan& p) {
  WaveCheck<L>& c = wave_check(w);
  if (p.scc_user && c.scc_undefined && p.writes == 0) {
    trap(w, -1, "uninitialised value: the branch depends on it, through SCC");
    return true;
  }
  if (!p.vccz_user) return false;
  u64 bits, vcc;
  memcpy(&bits, &c.shadow.s[kVccLo], 8);
  memcpy(&vcc, &w.s[kVccLo], 8);
  if (!(bits & Wave<L>::full()) || (vcc & ~bits & Wave<L>::full())) return false;
  report_undefined(w, -1, "the branch", kSgpr0 + kVccLo);
  return true;
}

template void follow_memory<32>(Wave<32>&, const Insn&, const Plan&);
template void follow_memory<64>(Wave<64>&, const Insn&, const Plan&);
template bool branch_is_undefined<32>(Wave<32>&, const Plan&);
template bool branch_is_undefined<64>(Wave<64>&, const Plan&);

}  // namespace emu::check
