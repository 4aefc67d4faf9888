// What each instruction reads, writes and counts, for the checkers.
#include <cstdio>

#include "check.hpp"

namespace emu::check {
namespace {

bool starts(const char* s, const char* prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }
bool contains(const char* s, const char* part) { return strstr(s, part) != nullptr; }

struct Moved {
  const char* prefix;
  u8 control;
};

// Instructions that move bits, by the beginning of their names, with the sources that only say which.
constexpr Moved kMoves[] = {
    {"v_mov_b", 0},
    {"v_accvgpr_", 0},
    {"v_swap_b", 0},
    {"v_readfirstlane_b32", 0},
    {"v_readlane_b32", 2},
    {"v_writelane_b32", 2},
    {"v_permlane16_b", 6},
    {"v_permlanex16_b", 6},
    {"v_permlane16_var", 2},
    {"v_permlanex16_var", 2},
    {"v_permlane64", 0},
    {"v_permlane16_swap", 0},
    {"v_permlane32_swap", 0},
    {"v_cndmask_b", 4},
    {"v_lshlrev_b", 1},
    {"v_lshrrev_b", 1},
    {"v_ashrrev_i", 1},
    {"v_bfe_", 6},
    {"v_perm_b32", 4},
    {"v_alignbit_b32", 4},
    {"v_alignbyte_b32", 4},
    {"v_bfi_b32", 1},
    {"v_pack_b32_f16", 0},
    {"v_pk_mov_b32", 0},
    {"v_movrel", 0},
    {"s_mov_b", 0},
    {"s_cselect_b", 0},
    {"s_lshl_b", 2},
    {"s_lshr_b", 2},
    {"s_ashr_i", 2},
    {"s_bfe_", 2},
    {"s_pack_", 0},
    {"ds_bpermute", 1},
    {"ds_permute", 1},
    {"ds_swizzle", 0},
};

Flow bitwise_flow(const char* name) {
  if (starts(name, "v_and_b") || starts(name, "s_and_b")) return Flow::kAnd;
  if (starts(name, "v_or_b") || starts(name, "s_or_b")) return Flow::kOr;
  if (starts(name, "v_xor_b") || starts(name, "s_xor_b") || starts(name, "v_not_b") || starts(name, "s_not_b"))
    return Flow::kXor;
  if (starts(name, "s_andn2_b") || starts(name, "s_and_not1_b")) return Flow::kAndNot;
  if (starts(name, "s_orn2_b") || starts(name, "s_or_not1_b")) return Flow::kOrNot;
  return Flow::kNone;
}

// No operand is a part of a register, or comes from another lane.
bool whole_dwords(const Insn& i) {
  const auto part = [](const Operand& o) { return o.sdwa || (o.mods & kHigh) || o.type == Type::kB16; };
  for (int n = 0; n < i.nsrc; n++) {
    if (part(i.src[n])) return false;
  }
  for (int n = 0; n < i.ndst; n++) {
    if (part(i.dst[n])) return false;
  }
  return i.dpp == Dpp::kNone;
}

// Integer sums, differences, low halves of products and left shifts, in one or two dwords.
bool is_sum(const char* name) {
  constexpr const char* kSums[] = {"v_add_",     "v_addc_",   "v_add3_",       "v_sub_",        "v_subrev_",
                                   "v_subb_",    "v_mul_lo_", "v_mul_u32_u24", "v_mul_i32_i24", "v_mad_",
                                   "v_lshl_add", "v_lshl_or", "v_xad",         "s_add_",        "s_addc",
                                   "s_sub_",     "s_subb",    "s_mul_i32",     "s_mul_u64"};
  if (contains(name, "16") || contains(name, "_f")) return false;
  for (const char* sum : kSums) {
    if (starts(name, sum)) return true;
  }
  return contains(name, "_add_u32") && starts(name, "s_lshl");
}

void set_flow(Plan& p, const Insn& i, const char* name, u32 flags) {
  if (flags & kOpMatrix) {
    p.flow = contains(name, "_i32_") ? Flow::kMatrixInteger : Flow::kMatrixFloat;
    return;
  }
  if (p.memory.space != Space::kNone && p.memory.space != Space::kLanes) {
    p.flow = Flow::kMemory;
    return;
  }
  const bool changes_sign = [&] {
    for (int n = 0; n < i.nsrc; n++) {
      if (i.src[n].mods & (kNeg | kAbs | kSext)) return true;
    }
    return i.omod != 0 || (i.flags & kClamp) != 0;
  }();
  const bool compares = starts(name, "s_cmp") || starts(name, "s_bitcmp");
  p.flow = i.ndst || p.writes_exec || compares ? Flow::kAny : Flow::kNone;
  if (contains(name, "saveexec") || contains(name, "wrexec")) {
    p.flow = Flow::kSaveExec;
    return;
  }
  if (changes_sign) return;
  for (const Moved& m : kMoves) {
    if (!starts(name, m.prefix)) continue;
    p.flow = Flow::kMove;
    p.control = m.control;
    return;
  }
  const Flow bitwise = bitwise_flow(name);
  if (!whole_dwords(i)) return;
  if (bitwise != Flow::kNone) p.flow = bitwise;
  if (is_sum(name)) p.flow = Flow::kSum;
}

u8 counters_of(const MemoryOp& m, bool returns, const char* name, Arch arch, bool* unordered) {
  constexpr u8 kLoad = 1 << kLoadCnt, kStore = 1 << kStoreCnt, kDs = 1 << kDsCnt, kKm = 1 << kKmCnt;
  const u8 store = is_cdna(arch) ? kLoad : kStore;
  if (starts(name, "global_inv")) return kLoad;
  if (starts(name, "global_wb")) return kStore;
  switch (m.space) {
    case Space::kNone:
      return 0;
    case Space::kScalar:
      *unordered = true;
      return arch == Arch::kRdna4 ? kKm : kDs;
    case Space::kLds:
    case Space::kLanes:
      return kDs;
    case Space::kFlat:
      *unordered = is_cdna(arch);
      return static_cast<u8>(kDs | (returns ? kLoad : store));
    default:
      return returns || m.form == Form::kToLds ? kLoad : store;
  }
}

void add(Range* ranges, u8& count, u32 first, u32 registers) {
  if (registers) ranges[count++] = {static_cast<u16>(first), static_cast<u16>(registers)};
}

void add_operand(Range* ranges, u8& count, const Operand& o, u32 wave_size) {
  const u32 dwords = o.type == Type::kMask && wave_size == 32 ? 1 : o.dwords;
  if (o.kind == Kind::kVgpr) add(ranges, count, o.reg, dwords);
  if (o.kind == Kind::kSgpr) add(ranges, count, kSgpr0 + o.reg, dwords);
}

void set_quick(Plan& p, const Insn& i, bool matrix) {
  u32 count = 0;
  for (u16& reg : p.few) reg = kRegisters;
  const auto take = [&](const Range* ranges, u32 n) {
    for (u32 k = 0; k < n; k++) {
      for (u32 r = ranges[k].first; r < ranges[k].first + u32{ranges[k].count}; r++, count++) {
        if (count < 4) p.few[count] = static_cast<u16>(r);
      }
    }
  };
  take(p.read, p.reads);
  take(p.write, p.writes);
  p.quick =
      count <= 4 && p.counters == 0 && p.special == Special::kNone && !p.first_lane && !matrix && i.waits == ~0ull;
}

}  // namespace

Plan make_plan(const Insn& i, u32 wave_size, Arch arch) {
  Plan p{};
  const OpRow& row = *op_row(i.op);
  const char* name = row.name;
  if (row.flags & kOpMem) p.memory = memory_op(row.flags);
  p.scalar = starts(name, "s_");
  for (int n = 0; n < i.nsrc; n++) add_operand(p.read, p.reads, i.src[n], wave_size);
  for (int n = 0; n < i.ndst; n++) add_operand(p.write, p.writes, i.dst[n], wave_size);
  const bool swaps = starts(name, "v_swap") || contains(name, "_swap_b32");
  if (swaps) {
    for (int n = 0; n < i.ndst; n++) add_operand(p.read, p.reads, i.dst[n], wave_size);
  }
  const bool buffer_atomic = p.memory.space == Space::kBuffer && p.memory.access == Access::kAtomic;
  if (buffer_atomic && (i.flags & kGlc)) add(p.write, p.writes, i.src[0].reg, p.memory.bytes / 4u);
  if (p.memory.form == Form::kToLds || p.memory.form == Form::kAddTid) add(p.read, p.reads, kSgpr0 + kM0, 1);
  p.writes_exec = (i.flags & kCmpx) != 0 || contains(name, "saveexec") || contains(name, "wrexec");
  for (int n = 0; n < p.writes; n++) {
    p.writes_exec |= p.write[n].first <= kSgpr0 + kExecHi && p.write[n].first + p.write[n].count > kSgpr0 + kExecLo;
  }
  p.one_lane = starts(name, "v_writelane");
  if (strcmp(name, "s_barrier") == 0 || starts(name, "s_barrier_signal")) p.special = Special::kBarrier;
  if (starts(name, "s_endpgm")) p.special = Special::kEnd;
  p.first_lane = starts(name, "v_readfirstlane");
  p.d16 = contains(name, "d16");
  p.masks_exec = starts(name, "s_and_save") || starts(name, "s_and_not1_save") || starts(name, "s_andn1_save");
  p.high_data = contains(name, "d16_hi");
  p.scc_user = starts(name, "s_cbranch_scc") || starts(name, "s_cselect") || starts(name, "s_addc") ||
               starts(name, "s_subb") || starts(name, "s_cmov") || starts(name, "s_add_co_ci") ||
               starts(name, "s_sub_co_ci");
  p.vccz_user = starts(name, "s_cbranch_vcc");
  if (p.vccz_user) add(p.read, p.reads, kSgpr0 + kVccLo, wave_size / 32);
  p.counters = counters_of(p.memory, p.writes != 0, name, arch, &p.unordered);
  set_flow(p, i, name, row.flags);
  set_quick(p, i, (row.flags & kOpMatrix) != 0);
  return p;
}

RegisterName::RegisterName(u32 reg) {
  if (reg < 256) {
    snprintf(text, sizeof text, "v%u", reg);
  } else if (reg < kSgpr0) {
    snprintf(text, sizeof text, "a%u", reg - 256);
  } else {
    const u32 s = reg - kSgpr0;
    if (s == kVccLo || s == kVccHi) {
      snprintf(text, sizeof text, "vcc_%s", s == kVccLo ? "lo" : "hi");
    } else if (s == kM0) {
      snprintf(text, sizeof text, "m0");
    } else if (s >= kExecLo) {
      snprintf(text, sizeof text, "exec_%s", s == kExecLo ? "lo" : "hi");
    } else if (s >= kTtmp0 && s < kM0) {
      snprintf(text, sizeof text, "ttmp%u", s - kTtmp0);
    } else {
      snprintf(text, sizeof text, "s%u", s);
    }
  }
}

}  // namespace emu::check
