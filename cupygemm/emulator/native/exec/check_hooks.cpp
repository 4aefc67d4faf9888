// The checkers' entry points, called by the executor of a launch with checks, and the checks that need no state of
// their own.
#include <cstdlib>

#include "check.hpp"

namespace emu {

using namespace check;

namespace {

void* allocate(size_t bytes) {
  void* p = nullptr;
  if (posix_memalign(&p, 64, bytes ? bytes : 64)) abort();
  memset(p, 0, bytes);
  return p;
}

u32 scratch_dwords(const Launch& launch) { return (launch.kernel->desc.private_bytes + 3) / 4; }

u32 wave_count(const Launch& launch) {
  const u32* block = launch.desc.block;
  return (block[0] * block[1] * block[2] + launch.kernel->desc.wave_size - 1) / launch.kernel->desc.wave_size;
}

template <int L>
void begin_waves(Workgroup& group) {
  LaunchCheck& launch = launch_check(*group.launch);
  const u32 scratch = scratch_dwords(*group.launch) * L;
  for (u32 n = 0; n < group.wave_count; n++) {
    Wave<L>& w = static_cast<Wave<L>*>(group.waves)[n];
    WaveCheck<L>& c = static_cast<WaveCheck<L>*>(launch.waves)[n];
    w.shadow = &c;
    memset(&c.queue, 0, offsetof(Queue, record));
    Wave<L>& s = c.shadow;
    s.scc = false;
    s.state = State::kRunning;
    s.arch = w.arch, s.mode = w.mode, s.mxcsr_f32 = w.mxcsr_f32, s.mxcsr_f64 = w.mxcsr_f64;
    s.id = w.id, s.lanes_present = w.lanes_present, s.launch = w.launch;
    s.scratch = launch.scratch_shadow + size_t{scratch} * n;
    memset(s.scratch, 0xff, scratch * sizeof(u32));
    init_values(w, group.launch->kernel->desc);
  }
}

template <int L>
void check_barrier_instruction(Wave<L>& w) {
  const Workgroup& g = *w.group;
  if (g.live == g.wave_count) return;
  for (u32 n = 0; n < g.wave_count; n++) {
    if (static_cast<const Wave<L>*>(g.waves)[n].state != State::kDone) continue;
    return trap(w, -1, "a barrier that only part of the workgroup reaches: wave %u has ended", n);
  }
}

// A wave that ends while others wait at a barrier never arrives there.
template <int L>
void check_end(Wave<L>& w) {
  const Workgroup& g = *w.group;
  for (u32 n = 0; n < g.wave_count; n++) {
    const Wave<L>& other = static_cast<const Wave<L>*>(g.waves)[n];
    if (n == w.id || other.state != State::kAtBarrier || g.phase > other.signalled) continue;
    return trap(
        w, -1,
        "a barrier that only part of the workgroup reaches: wave %u waits at assembly line %u, and this wave ends", n,
        other.at->line + 1);
  }
}

template <int L>
void check_memory(Wave<L>& w, const Insn& i, const Plan& p) {
  const Space space = p.memory.space;
  if (space == Space::kLds) return check_lds_access(w, i, p);
  if (space == Space::kGlobal || space == Space::kFlat || space == Space::kBuffer || space == Space::kScalar) {
    check_global_access(w, i, p);
    if (w.state != State::kRunning) return;
  }
  if (p.memory.form == Form::kToLds) return check_direct_load(w, i, p);
  if (p.counters) push_record(w, i, p, nullptr, 0);
}

u8 states_of(const u8* state, const Range* ranges, u32 count) {
  u8 any = 0;
  for (u32 n = 0; n < count; n++) {
    for (u32 r = ranges[n].first; r < ranges[n].first + u32{ranges[n].count}; r++) any |= state[r];
  }
  return any;
}

}  // namespace

template <int L>
void check_before(Wave<L>& w, const Insn& i) {
  const Plan& p = launch_check(*w.launch).plans[w.pc - 1];
  WaveCheck<L>& c = wave_check(w);
  if (p.quick && !(c.state[p.few[0]] | c.state[p.few[1]] | c.state[p.few[2]] | c.state[p.few[3]] | c.scc_undefined))
    return;
  if (p.flow == Flow::kNone && i.waits != ~0ull) return apply_wait(w, i.waits);
  const u8 read = states_of(c.state, p.read, p.reads), written = states_of(c.state, p.write, p.writes);
  if ((read | written) & kPending) {
    report_pending(w, p);
    if (w.state != State::kRunning) return;
  }
  // Clang lets short blocks run with no lane active, stores included, but not this: it would read lane 0, which is not
  // there.
  if (p.first_lane && active(w) == 0) return trap(w, -1, "EXEC is 0: v_readfirstlane_b32 has no lane to read");
  if (((read | written) & kUndefined) || c.scc_undefined || p.memory.space == Space::kScratch) {
    follow_values(w, i, p, read & kUndefined || (c.scc_undefined && p.scc_user));
    if (w.state != State::kRunning) return;
  }
  if constexpr (L == 32) {
    if (p.flow >= Flow::kMatrixFloat && is_gfx11(w.arch)) check_replicas(w, i);
  }
  if (p.counters) check_memory(w, i, p);
  if (p.special == Special::kBarrier) check_barrier_instruction(w);
  if (p.special == Special::kEnd) check_end(w);
}

void check_launch_begin(Launch& launch) {
  auto* c = static_cast<LaunchCheck*>(allocate(sizeof(LaunchCheck)));
  const emu_kernel& k = *launch.kernel;
  c->plans = static_cast<Plan*>(allocate(sizeof(Plan) * k.insn_count));
  for (u32 n = 0; n < k.insn_count; n++) c->plans[n] = make_plan(k.insns[n], k.desc.wave_size, launch.arch);
  const u32 lds = k.desc.static_lds + launch.desc.dynamic_lds, waves = wave_count(launch);
  c->group.lds = make_lds_shadow(lds);
  c->group.shadow.lds = static_cast<u8*>(allocate(lds + 64));
  c->waves = allocate((k.desc.wave_size == 64 ? sizeof(WaveCheck<64>) : sizeof(WaveCheck<32>)) * waves);
  c->scratch_shadow = static_cast<u32*>(allocate(sizeof(u32) * scratch_dwords(launch) * k.desc.wave_size * waves));
  c->global = make_global_shadow();
  launch.checker = c;
}

void check_launch_end(Launch& launch) {
  auto* c = static_cast<LaunchCheck*>(launch.checker);
  free(c->plans);
  free_lds_shadow(c->group.lds);
  free(c->group.shadow.lds);
  free(c->waves);
  free(c->scratch_shadow);
  free_global_shadow(c->global);
  free(c);
  launch.checker = nullptr;
}

void check_group_begin(Workgroup& group) {
  GroupCheck& g = group_check(group);
  u8* lds = g.shadow.lds;
  g.shadow = group;
  g.shadow.lds = lds;
  memset(lds, 0xff, group.lds_bytes);
  clear_lds(group);
  group.launch->kernel->desc.wave_size == 64 ? begin_waves<64>(group) : begin_waves<32>(group);
}

void check_barrier(Workgroup& group) {
  clear_lds(group);
  for (u32 n = 0; n < group.wave_count; n++) {
    if (group.launch->kernel->desc.wave_size == 64) {
      Wave<64>& w = static_cast<Wave<64>*>(group.waves)[n];
      if (w.state != State::kDone) carry_over_barrier(w);
    } else {
      Wave<32>& w = static_cast<Wave<32>*>(group.waves)[n];
      if (w.state != State::kDone) carry_over_barrier(w);
    }
  }
}

template void check_before<32>(Wave<32>&, const Insn&);
template void check_before<64>(Wave<64>&, const Insn&);

}  // namespace emu
