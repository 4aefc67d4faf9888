// The unit that issues an instruction, as the counters SQ_INSTS_* tell units apart, and the arithmetic it does.
#include <cstdlib>

#include "count.hpp"

namespace emu::count {
namespace {

bool starts(const char* s, const char* prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }
bool contains(const char* s, const char* part) { return strstr(s, part) != nullptr; }

template <size_t N>
bool starts_with_any(const char* s, const char* const (&prefixes)[N]) {
  for (const char* prefix : prefixes)
    if (starts(s, prefix)) return true;
  return false;
}

// Program control and hints, which the sequencer executes by itself.
constexpr const char* kControl[] = {
    "s_wait",    "s_nop",     "s_endpgm",  "s_sleep",   "s_trap",         "s_delay_alu",     "s_clause",   "s_setprio",
    "s_setkill", "s_sethalt", "s_wakeup",  "s_sendmsg", "s_icache_inv",   "s_inst_prefetch", "s_set_inst", "s_code_",
    "s_ttrace",  "s_incperf", "s_decperf", "s_version", "s_barrier_wait", "s_round_",        "s_denorm_"};
constexpr const char* kBranches[] = {"s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call"};
constexpr const char* kScalarMemory[] = {"s_load_",   "s_buffer_", "s_dcache_", "s_scratch_", "s_prefetch_",
                                         "s_memtime", "s_memreal", "s_atc_",    "s_gl1",      "s_store_"};

Unit unit_of(const char* name, u32 flags, const MemoryOp& m, bool returns) {
  if (flags & kOpMem) {
    if (m.space == Space::kScalar) return Unit::kSmem;
    if (m.space == Space::kLds || m.space == Space::kLanes) return Unit::kLds;
    return m.access == Access::kLoad || (m.access == Access::kAtomic && returns) ? Unit::kVmemRead : Unit::kVmemWrite;
  }
  if (starts(name, "v_")) return Unit::kValu;
  if (starts(name, "ds_")) return Unit::kLds;
  if (starts_with_any(name, kScalarMemory)) return Unit::kSmem;
  if (starts_with_any(name, kControl)) return Unit::kNone;
  if (starts_with_any(name, kBranches)) return Unit::kBranch;
  if (starts(name, "s_barrier")) return Unit::kBarrier;
  return starts(name, "s_") ? Unit::kSalu : Unit::kNone;
}

// As AMD's profilers count: a sum, a product or a transcendental function is one operation, a fused multiply-add two.
// Comparisons, minima, roundings and conversions are none.
u8 lane_flops(const char* name) {
  const u8 packed = starts(name, "v_pk_") ? 2 : 1;
  const char* what = name + (packed == 2 ? 5 : 2);
  if (starts(what, "dot2") && !contains(name, "_i32_") && !contains(name, "_u32_")) return 4;
  if (starts(what, "dot4_f32")) return 8;
  constexpr const char* kFloats[] = {"_f16", "_f32", "_f64", "_bf16"};
  bool floats = false;
  for (const char* type : kFloats) floats |= contains(name, type);
  constexpr const char* kTrans[] = {"rcp",  "rsq",    "sqrt",   "exp_",  "log_",  "sin_",
                                    "cos_", "s_exp_", "s_log_", "s_rcp", "s_rsq", "s_sqrt"};
  if (!floats) return 0;
  if (starts_with_any(what, kTrans)) return 1;
  constexpr const char* kTwo[] = {"fma_",   "fmac_",  "fmaak_",    "fmamk_",  "mad_",   "mac_",
                                  "madak_", "madmk_", "div_fmas_", "fma_mix", "mad_mix"};
  if (starts_with_any(what, kTwo)) return static_cast<u8>(2 * packed);
  constexpr const char* kOne[] = {"add_f",          "sub_f",  "subrev_f", "mul_f", "mul_legacy_f",
                                  "mul_dx9_zero_f", "add_bf", "sub_bf",   "mul_bf"};
  return starts_with_any(what, kOne) ? packed : 0;
}

// 2 M N K of every block, from a name such as v_mfma_f32_32x32x8_f16. The blocks follow from the size of the result.
u32 matrix_ops(const char* name, const Insn& i) {
  const char* at = name;
  while (*at && !(at[0] == '_' && at[1] >= '0' && at[1] <= '9')) at++;
  if (!*at) return 0;
  char* end = nullptr;
  const u64 m = strtoul(at + 1, &end, 10), n = strtoul(end + 1, &end, 10), k = strtoul(end + 1, &end, 10);
  const u64 blocks = starts(name, "v_wmma") ? 1 : 64 * i.dst[0].dwords / (contains(name, "_f64_") ? 2u : 1u) / (m * n);
  return static_cast<u32>(2 * m * n * k * (blocks ? blocks : 1));
}

}  // namespace

Plan make_plan(const Insn& i) {
  const OpRow& row = *op_row(i.op);
  Plan p{};
  if (i.flags & kEmittedByDecoder) return p;
  MemoryOp m{};
  if (row.flags & kOpMem) m = memory_op(row.flags);
  const bool returns = i.ndst > 0 || (m.space == Space::kBuffer && (i.flags & kGlc));
  p.unit = unit_of(row.name, row.flags, m, returns);
  if (p.unit == Unit::kVmemRead || p.unit == Unit::kVmemWrite || p.unit == Unit::kLds) p.memory = m;
  if (m.space == Space::kLanes || m.space == Space::kScratch) p.memory = {};
  p.addresses = m.form == Form::kTwo || m.form == Form::kTwoSt64 ? 2 : 1;
  p.matrix = (row.flags & kOpMatrix) != 0;
  p.vopd = (i.flags & kDualX) != 0;
  if (i.flags & kDualY) p.unit = Unit::kNone;
  if (p.matrix) {
    p.matrix_ops = matrix_ops(row.name, i);
    p.integer = contains(row.name, "_i32_");
  } else if (starts(row.name, "v_")) {
    p.lane_flops = lane_flops(row.name);
  }
  return p;
}

}  // namespace emu::count
