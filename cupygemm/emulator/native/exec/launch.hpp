// A launch in progress: what is the same for all its waves, and a workgroup that is resident.
#pragma once
#include <atomic>

#include "api.h"
#include "machine.hpp"
#include "memory.hpp"

struct emu_kernel {
  char* name;
  emu::Insn* insns;
  emu::u32 insn_count;
  emu_kernel_desc desc;  // pointers inside refer to copies owned here
  char** lines;
};

namespace emu {

struct Launch {
  const emu_kernel* kernel;
  emu_launch_desc desc;
  Arch arch;
  bool check, count;
  const Snapshot* memory;  // what may be touched; kernel arguments and dispatch packet are in it
  u64 kernarg;             // address of the kernel arguments
  u64 dispatch_packet;     // address of the 64-byte hsa_kernel_dispatch_packet_t
  u64 code_base;
  std::atomic<u32> stop;  // nonzero: some workgroup trapped, all others end
  std::atomic<u64> next;  // first workgroup that no thread has taken
  char report[4096];      // of the first trap
  void* checker;          // the checkers' own state of this launch
  void* counting;         // the counters' own
};

struct Workgroup {
  Launch* launch;
  u32 id[3];
  u64 linear;  // x + grid.x * (y + grid.y * z)
  u8* lds;
  u32 lds_bytes;  // static + dynamic: accesses past it are reported
  u32 wave_count;
  u32 live;      // waves that have not ended
  u32 arrived;   // of those, how many have signalled the barrier of this phase
  u32 phase;     // barriers completed
  void* waves;   // Wave<L>[wave_count]
  void* shadow;  // the checkers' own state of this workgroup
  void* tally;   // what the counters keep for the host thread that runs it
};

// Wave `w` arrives at the workgroup's barrier; true if that completed it.
template <int L>
bool barrier_arrive(Wave<L>& w);

// Hooks of the checkers, called only when Launch::check; defined in check_*.cpp, absent ones are skipped. An
// instruction is shown after Wave::pc has moved past it.
template <int L>
__attribute__((weak)) void check_before(Wave<L>& w, const Insn& i);
__attribute__((weak)) void check_launch_begin(Launch& launch);
__attribute__((weak)) void check_launch_end(Launch& launch);
__attribute__((weak)) void check_group_begin(Workgroup& group);
__attribute__((weak)) void check_group_end(Workgroup& group);
__attribute__((weak)) void check_barrier(Workgroup& group);  // all waves have arrived

// Hooks of the counters, called only when Launch::count; defined in count.cpp. A host thread's tally is added to the
// launch's counters when it ends.
template <int L>
__attribute__((weak)) void count_before(Wave<L>& w, const Insn& i);
__attribute__((weak)) void count_launch_begin(Launch& launch);
__attribute__((weak)) void count_launch_end(Launch& launch);
__attribute__((weak)) void* count_thread_begin(Launch& launch);
__attribute__((weak)) void count_thread_end(Launch& launch, void* tally);

}  // namespace emu
