// Branches, calls, barriers, waits, MODE, and scalar instructions that only matter to timing.
#include "launch.hpp"
#include "operands.hpp"
#include "ops.hpp"

namespace emu {

namespace {

// Code addresses: instruction n of a module is at code_base + 16 n, whatever its size on hardware.
constexpr u32 kCodeStride = 16;

enum class When { kAlways, kScc0, kScc1, kVccz, kVccnz, kExecz, kExecnz };

template <int L>
void jump(Wave<L>& w, u64 target) {
  if (target <= w.pc && w.budget-- == 0)
    return trap(w, -1, "more backward branches than the launch allows: the loop does not end");
  w.pc = u32(target);
}

template <int L, When kWhen>
void branch(Wave<L>& w, const Insn& i) {
  u64 vcc;
  memcpy(&vcc, &w.s[kVccLo], 8);
  const bool vccz = (vcc & Wave<L>::full()) == 0, execz = (w.exec() & Wave<L>::full()) == 0;
  const bool taken = kWhen == When::kAlways || (kWhen == When::kScc0 && !w.scc) || (kWhen == When::kScc1 && w.scc) ||
                     (kWhen == When::kVccz && vccz) || (kWhen == When::kVccnz && !vccz) ||
                     (kWhen == When::kExecz && execz) || (kWhen == When::kExecnz && !execz);
  if (taken) jump(w, i.src[0].value);
}

template <int L>
u64 address_of_next(const Wave<L>& w) {
  return w.launch->code_base + u64(w.pc) * kCodeStride;
}

template <int L>
void jump_to_address(Wave<L>& w, u64 address) {
  const u64 offset = address - w.launch->code_base;
  if (offset % kCodeStride || offset / kCodeStride >= w.launch->kernel->insn_count)
    return trap(w, -1, "jump to 0x%llx, which is no instruction's address", static_cast<unsigned long long>(address));
  jump(w, offset / kCodeStride);
}

// s_getpc_b64 gives the module's code base: the decoder makes `symbol@rel32@lo+4` relative to that.
template <int L>
void getpc(Wave<L>& w, const Insn& i) {
  write_s64(w, i.dst[0], w.launch->code_base);
}
template <int L>
void setpc(Wave<L>& w, const Insn& i) {
  jump_to_address(w, read_s64(w, i.src[0]));
}
template <int L>
void swappc(Wave<L>& w, const Insn& i) {
  const u64 target = read_s64(w, i.src[0]);
  write_s64(w, i.dst[0], address_of_next(w));
  jump_to_address(w, target);
}
template <int L>
void call(Wave<L>& w, const Insn& i) {
  write_s64(w, i.dst[0], address_of_next(w));
  jump(w, i.src[0].value);
}

template <int L>
void endpgm(Wave<L>& w, const Insn&) {
  w.state = State::kDone;
}

template <int L>
void barrier(Wave<L>& w, const Insn&) {
  if (!barrier_arrive(w)) w.state = State::kAtBarrier;
}
template <int L>
void barrier_signal(Wave<L>& w, const Insn&) {
  barrier_arrive(w);
}
template <int L>
void barrier_signal_isfirst(Wave<L>& w, const Insn&) {
  w.scc = w.group->arrived == 0;
  barrier_arrive(w);
}
template <int L>
void barrier_wait(Wave<L>& w, const Insn&) {
  if (w.group->phase <= w.signalled) w.state = State::kAtBarrier;
}

// A sleeping wave may be waiting for another one of its workgroup.
template <int L>
void sleep(Wave<L>& w, const Insn&) {
  w.state = State::kYielded;
}

template <int L>
void nothing(Wave<L>&, const Insn&) {}

template <int L>
void trap_instruction(Wave<L>& w, const Insn& i) {
  trap(w, -1, "s_trap %llu", static_cast<unsigned long long>(i.src[0].value));
}
template <int L>
void unknown(Wave<L>& w, const Insn&) {
  trap(w, -1, "the emulated %s does not know this instruction", w.launch->kernel->desc.target);
}

// ---- Hardware registers ---------------------------------------------------------------------------------------------
// The operand: register number in bits 5:0, first bit in 10:6, width less one in 15:11.

constexpr u32 kHwMode = 1, kHwStatus = 2, kHwShMemBases = 15;

u32 pack_mode(const FpMode& m) {
  return m.round_f32 | (m.round_f16_64 << 2) | (m.denorm_f32 << 4) | (m.denorm_f16_64 << 6) | (m.dx10_clamp << 8) |
         (m.ieee << 9) | (m.fp16_ovfl << 23);
}

template <int L>
void put_mode(Wave<L>& w, u32 x) {
  FpMode m = w.mode;
  m.round_f32 = x & 3, m.round_f16_64 = (x >> 2) & 3;
  m.denorm_f32 = (x >> 4) & 3, m.denorm_f16_64 = (x >> 6) & 3;
  m.fp16_ovfl = (x >> 23) & 1;
  if (w.arch != Arch::kRdna4) m.dx10_clamp = (x >> 8) & 1, m.ieee = (x >> 9) & 1;
  set_mode(w, m);
}

u32 field_mask(u64 hwreg) { return u32((2ull << ((hwreg >> 11) & 31)) - 1); }

template <int L>
void getreg(Wave<L>& w, const Insn& i) {
  const u64 hwreg = i.src[0].value;
  u32 x = 0;
  switch (hwreg & 63) {
    case kHwMode:
      x = pack_mode(w.mode);
      break;
    case kHwStatus:
      x = w.scc;
      break;
    case kHwShMemBases:
      x = (kSharedApertureHi & 0xffff0000u) | (kPrivateApertureHi >> 16);
      break;
    default:
      break;  // hardware ids, clocks: 0
  }
  write_s32(w, i.dst[0], (x >> ((hwreg >> 6) & 31)) & field_mask(hwreg));
}

template <int L>
void setreg(Wave<L>& w, const Insn& i) {
  const u64 hwreg = i.src[0].value;
  if ((hwreg & 63) != kHwMode) return;
  const u32 shift = (hwreg >> 6) & 31, mask = field_mask(hwreg) << shift;
  put_mode(w, (pack_mode(w.mode) & ~mask) | ((read_s32(w, i.src[1]) << shift) & mask));
}

template <int L>
void round_mode(Wave<L>& w, const Insn& i) {
  put_mode(w, (pack_mode(w.mode) & ~0xfu) | (u32(i.src[0].value) & 0xf));
}
template <int L>
void denorm_mode(Wave<L>& w, const Insn& i) {
  put_mode(w, (pack_mode(w.mode) & ~0xf0u) | ((u32(i.src[0].value) & 0xf) << 4));
}

#define EMU_ROW(name, sig, handler) row(name, sig, &handler<32>, &handler<64>)
#define EMU_BRANCH(name, when) row(name, "=label", &branch<32, when>, &branch<64, when>)
#define EMU_NOTHING(name, sig) row(name, sig, &nothing<32>, &nothing<64>)
#define EMU_WAIT(name) row(name, "=any", &nothing<32>, &nothing<64>, kOpWait)

const OpRow kRows[] = {
    EMU_ROW("unknown", "=any", unknown),
    EMU_BRANCH("s_branch", When::kAlways),
    EMU_BRANCH("s_cbranch_scc0", When::kScc0),
    EMU_BRANCH("s_cbranch_scc1", When::kScc1),
    EMU_BRANCH("s_cbranch_vccz", When::kVccz),
    EMU_BRANCH("s_cbranch_vccnz", When::kVccnz),
    EMU_BRANCH("s_cbranch_execz", When::kExecz),
    EMU_BRANCH("s_cbranch_execnz", When::kExecnz),
    EMU_ROW("s_getpc_b64", "b64=", getpc),
    EMU_ROW("s_setpc_b64", "=b64", setpc),
    EMU_ROW("s_swappc_b64", "b64=b64", swappc),
    EMU_ROW("s_call_b64", "b64=label", call),
    EMU_ROW("s_endpgm", "=", endpgm),
    EMU_ROW("s_endpgm_saved", "=", endpgm),
    EMU_ROW("s_barrier", "=", barrier),
    EMU_ROW("s_barrier_signal", "=any", barrier_signal),
    EMU_ROW("s_barrier_signal_isfirst", "=any", barrier_signal_isfirst),
    EMU_ROW("s_barrier_wait", "=any", barrier_wait),
    EMU_ROW("s_sleep", "=imm", sleep),
    EMU_ROW("s_trap", "=imm", trap_instruction),
    EMU_ROW("s_getreg_b32", "b32=imm", getreg),
    EMU_ROW("s_setreg_b32", "=imm,b32", setreg),
    EMU_ROW("s_setreg_imm32_b32", "=imm,b32", setreg),
    EMU_ROW("s_round_mode", "=imm", round_mode),
    EMU_ROW("s_denorm_mode", "=imm", denorm_mode),
    EMU_WAIT("s_waitcnt"),
    EMU_WAIT("s_waitcnt_depctr"),
    row("s_waitcnt_vscnt", "=any,any", &nothing<32>, &nothing<64>, kOpWait),
    row("s_waitcnt_vmcnt", "=any,any", &nothing<32>, &nothing<64>, kOpWait),
    row("s_waitcnt_expcnt", "=any,any", &nothing<32>, &nothing<64>, kOpWait),
    row("s_waitcnt_lgkmcnt", "=any,any", &nothing<32>, &nothing<64>, kOpWait),
    EMU_WAIT("s_wait_loadcnt"),
    EMU_WAIT("s_wait_storecnt"),
    EMU_WAIT("s_wait_dscnt"),
    EMU_WAIT("s_wait_kmcnt"),
    EMU_WAIT("s_wait_expcnt"),
    EMU_WAIT("s_wait_samplecnt"),
    EMU_WAIT("s_wait_bvhcnt"),
    EMU_WAIT("s_wait_loadcnt_dscnt"),
    EMU_WAIT("s_wait_storecnt_dscnt"),
    EMU_WAIT("s_wait_alu"),
    EMU_WAIT("s_wait_idle"),
    EMU_NOTHING("s_wait_event", "=any"),
    EMU_NOTHING("s_delay_alu", "=any"),
    EMU_NOTHING("s_nop", "=any"),
    EMU_NOTHING("v_nop", "="),
    EMU_NOTHING("v_pipeflush", "="),
    EMU_NOTHING("s_clause", "=any"),
    EMU_NOTHING("s_setprio", "=any"),
    EMU_NOTHING("s_setkill", "=any"),
    EMU_NOTHING("s_sethalt", "=any"),
    EMU_NOTHING("s_wakeup", "="),
    EMU_NOTHING("s_sendmsg", "=any"),
    EMU_NOTHING("s_icache_inv", "="),
    EMU_NOTHING("s_inst_prefetch", "=any"),
    EMU_NOTHING("s_set_inst_prefetch_distance", "=any"),
    EMU_NOTHING("s_code_end", "="),
    EMU_NOTHING("s_ttracedata", "="),
    EMU_NOTHING("s_ttracedata_imm", "=any"),
    EMU_NOTHING("s_incperflevel", "=any"),
    EMU_NOTHING("s_decperflevel", "=any"),
    EMU_NOTHING("s_version", "=any"),
};

}  // namespace

OpTable control_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
