// Launches: workgroups are dealt out to host threads; each runs its waves in turn, each until a barrier or its end.
//
// State exists for resident workgroups only, one a thread. The waves of a workgroup never run at the same time.
#include "launch.hpp"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "operands.hpp"
#include "ops.hpp"
#include "report.hpp"
#include "wave_init.hpp"

namespace emu {

namespace {

// A launch smaller than this is not worth a second thread.
constexpr u64 kMinWavesPerThread = 32;
constexpr u8 kLdsGarbage = 0xa5;

// kWatched: counters or checkers look at each instruction before it runs; they may stop the wave.
template <int L, bool kWatched>
void run_wave(Wave<L>& w) {
  const Insn* code = w.launch->kernel->insns;
  const u32 count = w.launch->kernel->insn_count;
  _mm_setcsr(w.mxcsr_f32);
  do {
    if (w.pc >= count) return trap(w, -1, "execution ran past the end of the code");
    const Insn& i = code[w.pc++];
    w.at = &i;
    if constexpr (kWatched) {
      if (w.launch->count) count_before<L>(w, i);
      if (w.launch->check && w.state == State::kRunning) check_before<L>(w, i);
      if (w.state != State::kRunning) return;
    }
    reinterpret_cast<Handler<L>>(i.run)(w, i);
  } while (w.state == State::kRunning);
}

// What one host thread needs for a resident workgroup.
template <int L>
struct Arena {
  Wave<L>* waves = nullptr;
  u8* lds = nullptr;
  u32* scratch = nullptr;

  Arena(u32 wave_count, u32 lds_bytes, u32 private_bytes) {
    waves = static_cast<Wave<L>*>(allocate(sizeof(Wave<L>) * wave_count));
    lds = static_cast<u8*>(allocate(lds_bytes + 64));
    if (private_bytes) scratch = static_cast<u32*>(allocate(size_t(private_bytes + 3) / 4 * 4 * L * wave_count));
  }
  ~Arena() {
    free(waves);
    free(lds);
    free(scratch);
  }
  static void* allocate(size_t bytes) {
    void* p = nullptr;
    return posix_memalign(&p, 64, bytes ? bytes : 64) ? nullptr : p;
  }
};

void end_wave(Workgroup& group) {
  group.live--;
  if (group.live && group.arrived == group.live) {
    group.arrived = 0;
    group.phase++;
  }
}

template <int L>
void trap_deadlock(Workgroup& group, Wave<L>* waves) {
  for (u32 n = 0; n < group.wave_count; n++) {
    if (waves[n].state == State::kDone) continue;
    return trap(waves[n], -1, "waits at a barrier that never completes: %u of %u live waves have arrived",
                group.arrived, group.live);
  }
}

template <int L>
bool runnable(const Wave<L>& w) {
  if (w.state == State::kAtBarrier) return w.group->phase > w.signalled;
  return w.state == State::kRunning || w.state == State::kYielded;
}

template <int L>
void run_group(Workgroup& group, Arena<L>& arena) {
  Launch& launch = *group.launch;
  const u32 private_dwords = (launch.kernel->desc.private_bytes + 3) / 4;
  for (u32 n = 0; n < group.wave_count; n++) {
    init_wave(arena.waves[n], group, n);
    if (arena.scratch) arena.waves[n].scratch = arena.scratch + size_t(private_dwords) * L * n;
  }
  memset(group.lds, kLdsGarbage, group.lds_bytes);
  group.live = group.wave_count;
  group.arrived = group.phase = 0;
  if (launch.check && check_group_begin) check_group_begin(group);
  while (group.live) {
    bool progress = false;
    for (u32 n = 0; n < group.wave_count; n++) {
      Wave<L>& w = arena.waves[n];
      if (!runnable(w)) continue;
      progress = true;
      w.state = State::kRunning;
      launch.check || launch.count ? run_wave<L, true>(w) : run_wave<L, false>(w);
      if (w.state == State::kDone) end_wave(group);
      if (launch.stop.load(std::memory_order_relaxed)) return;
    }
    if (!progress) return trap_deadlock(group, arena.waves);
  }
  if (launch.check && check_group_end) check_group_end(group);
}

template <int L>
void run_groups(Launch& launch) {
  const u32* grid = launch.desc.grid;
  const u32* block = launch.desc.block;
  const u32 lds_bytes = launch.kernel->desc.static_lds + launch.desc.dynamic_lds;
  const u32 wave_count = (block[0] * block[1] * block[2] + L - 1) / L;
  Arena<L> arena(wave_count, lds_bytes, launch.kernel->desc.private_bytes);
  if (!arena.waves || !arena.lds || (launch.kernel->desc.private_bytes && !arena.scratch)) {
    if (!launch.stop.exchange(1))
      snprintf(launch.report, sizeof launch.report, "kernel %s: no host memory for a workgroup of %u waves",
               launch.kernel->name, wave_count);
    return;
  }
  void* tally = launch.count ? count_thread_begin(launch) : nullptr;
  const u32 saved = _mm_getcsr();
  const u64 total = u64(grid[0]) * grid[1] * grid[2];
  for (;;) {
    const u64 n = launch.next.fetch_add(1, std::memory_order_relaxed);
    if (n >= total || launch.stop.load(std::memory_order_relaxed)) break;
    Workgroup group{};
    group.launch = &launch;
    group.id[0] = u32(n % grid[0]), group.id[1] = u32(n / grid[0] % grid[1]), group.id[2] = u32(n / grid[0] / grid[1]);
    group.linear = n;
    group.lds = arena.lds, group.lds_bytes = lds_bytes;
    group.wave_count = wave_count;
    group.waves = arena.waves;
    group.tally = tally;
    run_group<L>(group, arena);
  }
  _mm_setcsr(saved);
  if (launch.count) count_thread_end(launch, tally);
}

void* thread_main(void* launch_pointer) {
  Launch& launch = *static_cast<Launch*>(launch_pointer);
  launch.kernel->desc.wave_size == 64 ? run_groups<64>(launch) : run_groups<32>(launch);
  return nullptr;
}

u32 thread_count(const Launch& launch) {
  if (launch.check) return 1;
  const u64 groups = u64(launch.desc.grid[0]) * launch.desc.grid[1] * launch.desc.grid[2];
  const u64 items = u64(launch.desc.block[0]) * launch.desc.block[1] * launch.desc.block[2];
  const u64 waves = groups * ((items + launch.kernel->desc.wave_size - 1) / launch.kernel->desc.wave_size);
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  u64 n = launch.desc.threads ? launch.desc.threads : u64(cpus > 0 ? cpus : 1);
  if (n > groups) n = groups;
  if (n > 1 + waves / kMinWavesPerThread) n = 1 + waves / kMinWavesPerThread;
  return u32(n < 1 ? 1 : n > 256 ? 256 : n);
}

void run_threads(Launch& launch) {
  pthread_t threads[256];
  const u32 wanted = thread_count(launch);
  u32 started = 0;
  for (; started + 1 < wanted; started++)
    if (pthread_create(&threads[started], nullptr, thread_main, &launch)) break;
  thread_main(&launch);
  for (u32 n = 0; n < started; n++) pthread_join(threads[n], nullptr);
}

// The packet that a kernel may read through the dispatch pointer: hsa_kernel_dispatch_packet_t.
void fill_packet(u8* p, const Launch& launch) {
  const emu_launch_desc& d = launch.desc;
  memset(p, 0, 64);
  auto put = [p](u32 at, auto x) { memcpy(p + at, &x, sizeof x); };
  put(2, u16(3));
  for (u32 dim = 0; dim < 3; dim++) {
    put(4 + 2 * dim, u16(d.block[dim]));
    put(12 + 4 * dim, u32(d.grid[dim] * d.block[dim]));
  }
  put(24, launch.kernel->desc.private_bytes);
  put(28, u32(launch.kernel->desc.static_lds + d.dynamic_lds));
  put(40, launch.kernarg);
}

// Kernel arguments and dispatch packet in device-visible memory of their own, for as long as the launch.
struct Arguments {
  u8* memory = nullptr;
  bool mapped = false;
  Arguments(Launch& launch) {
    const size_t bytes = (launch.desc.kernarg_bytes + 63) / 64 * 64 + 64;
    void* p = nullptr;
    if (posix_memalign(&p, 64, bytes + 64)) return;
    memory = static_cast<u8*>(p);
    memset(memory, 0, bytes + 64);
    launch.dispatch_packet = reinterpret_cast<u64>(memory);
    launch.kernarg = launch.dispatch_packet + 64;
    if (launch.desc.kernarg_bytes) memcpy(memory + 64, launch.desc.kernargs, launch.desc.kernarg_bytes);
    fill_packet(memory, launch);
    mapped = memory_add(launch.dispatch_packet, bytes + 64, -1);
  }
  ~Arguments() {
    if (mapped) memory_remove(reinterpret_cast<u64>(memory));
    free(memory);
  }
};

bool valid(const emu_kernel_desc& k, const emu_launch_desc& d) {
  const u64 items = u64(d.block[0]) * d.block[1] * d.block[2];
  if (items == 0 || items > 1024) {
    set_report("kernel %s: a workgroup of %u x %u x %u work-items; 1 to 1024 are possible", k.name, d.block[0],
               d.block[1], d.block[2]);
    return false;
  }
  if (d.kernarg_bytes < k.kernarg_bytes) {
    set_report("kernel %s: %zu bytes of kernel arguments given, %u wanted", k.name, d.kernarg_bytes, k.kernarg_bytes);
    return false;
  }
  return true;
}

}  // namespace

template <int L>
bool barrier_arrive(Wave<L>& w) {
  Workgroup& group = *w.group;
  w.signalled = group.phase;
  if (++group.arrived < group.live) return false;
  if (w.launch->check && check_barrier) check_barrier(group);
  group.arrived = 0;
  group.phase++;
  return true;
}
template bool barrier_arrive<32>(Wave<32>&);
template bool barrier_arrive<64>(Wave<64>&);

}  // namespace emu

extern "C" int emu_launch(const emu_kernel* kernel, const emu_launch_desc* desc) {
  using namespace emu;
  set_report("%s", "");
  if (!valid(kernel->desc, *desc)) return 1;
  Launch launch{};
  launch.kernel = kernel;
  launch.desc = *desc;
  launch.arch = static_cast<Arch>(kernel->desc.arch);
  launch.check = (desc->flags & EMU_CHECK) && check_before<32>;
  launch.count = desc->counters && count_before<32>;
  launch.code_base = kernel->desc.code_base;
  Arguments arguments(launch);
  if (!arguments.mapped) {
    set_report("kernel %s: no memory for the kernel arguments", kernel->name);
    return 1;
  }
  launch.memory = memory_acquire();
  if (launch.check && check_launch_begin) check_launch_begin(launch);
  if (launch.count) count_launch_begin(launch);
  run_threads(launch);
  if (launch.count) count_launch_end(launch);
  if (launch.check && check_launch_end) check_launch_end(launch);
  memory_release(launch.memory);
  if (!launch.stop.load()) return 0;
  set_report("%s", launch.report);
  return 1;
}

extern "C" int emu_memory_add(uint64_t address, uint64_t bytes, int device) {
  return emu::memory_add(address, bytes, device) ? 0 : 1;
}
extern "C" int emu_memory_remove(uint64_t address) { return emu::memory_remove(address) ? 0 : 1; }
