// The counters' entry points, called by the executor of a counted launch.
#include "count.hpp"

#include <cstdlib>

#include "access.hpp"

namespace emu {

using namespace count;

namespace {

void* zeroed(size_t bytes) {
  void* p = calloc(1, bytes ? bytes : 1);
  if (!p) abort();
  return p;
}

void add(emu_counters& to, const emu_counters& from) {
  static_assert(sizeof(emu_counters) % sizeof(u64) == 0);
  u64 a[sizeof(emu_counters) / sizeof(u64)], b[sizeof(emu_counters) / sizeof(u64)];
  memcpy(a, &to, sizeof to);
  memcpy(b, &from, sizeof from);
  for (size_t n = 0; n < sizeof a / sizeof *a; n++) a[n] += b[n];
  memcpy(&to, a, sizeof to);
}

void add_instruction(emu_counters& c, const Plan& p, u64 issued, u64 lanes) {
  u64 unused = 0;
  u64* const units[kUnits] = {&unused, &c.valu,      &c.salu,       &c.branch, &c.smem,
                              &c.lds,  &c.vmem_read, &c.vmem_write, &c.barrier};
  *units[static_cast<u32>(p.unit)] += issued;
  if (p.vopd) c.vopd += issued;
  if (p.matrix) c.matrix += issued;
  (p.integer ? c.matrix_iops : c.matrix_flops) += issued * p.matrix_ops;
  c.valu_flops += lanes * p.lane_flops;
}

}  // namespace

void count_launch_begin(Launch& launch) {
  const emu_kernel& k = *launch.kernel;
  auto* c = static_cast<LaunchCount*>(zeroed(sizeof(LaunchCount)));
  pthread_mutex_init(&c->lock, nullptr);
  c->plans = static_cast<Plan*>(zeroed(sizeof(Plan) * k.insn_count));
  for (u32 n = 0; n < k.insn_count; n++) c->plans[n] = make_plan(k.insns[n]);
  const u32 *grid = launch.desc.grid, *block = launch.desc.block;
  const u64 waves = (u64{block[0]} * block[1] * block[2] + k.desc.wave_size - 1) / k.desc.wave_size;
  c->total.waves = waves * grid[0] * grid[1] * grid[2];
  launch.counting = c;
}

void count_launch_end(Launch& launch) {
  LaunchCount& c = launch_count(launch);
  *launch.desc.counters = c.total;
  pthread_mutex_destroy(&c.lock);
  free(c.plans);
  free(&c);
  launch.counting = nullptr;
}

void* count_thread_begin(Launch& launch) {
  const u32 count = launch.kernel->insn_count;
  auto* t = static_cast<Tally*>(zeroed(sizeof(Tally)));
  t->issued = static_cast<u64*>(zeroed(sizeof(u64) * count));
  t->lanes = static_cast<u64*>(zeroed(sizeof(u64) * count));
  return t;
}

void count_thread_end(Launch& launch, void* tally) {
  Tally& t = *static_cast<Tally*>(tally);
  LaunchCount& c = launch_count(launch);
  emu_counters sum = t.memory;
  for (u32 n = 0; n < launch.kernel->insn_count; n++) add_instruction(sum, c.plans[n], t.issued[n], t.lanes[n]);
  pthread_mutex_lock(&c.lock);
  add(c.total, sum);
  pthread_mutex_unlock(&c.lock);
  free(t.issued);
  free(t.lanes);
  free(&t);
}

template <int L>
void count_before(Wave<L>& w, const Insn& i) {
  const u32 n = w.pc - 1;
  const Plan& p = launch_count(*w.launch).plans[n];
  Tally& t = *static_cast<Tally*>(w.group->tally);
  t.issued[n]++;
  if (p.lane_flops) t.lanes[n] += static_cast<u64>(__builtin_popcountll(active(w)));
  if (p.memory.space == Space::kLds) return count_lds(w, i, p, t.memory);
  if (p.memory.space != Space::kNone) count_global(w, i, p, t.memory);
}

template void count_before<32>(Wave<32>&, const Insn&);
template void count_before<64>(Wave<64>&, const Insn&);

}  // namespace emu
