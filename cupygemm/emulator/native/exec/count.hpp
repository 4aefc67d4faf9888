// The counters: what they keep for a launch and for each of its host threads, and which file counts what.
//
//   count_plan.cpp    the unit that issues an instruction and the arithmetic it does, worked out once a launch
//   count_lds.cpp     cycles and bank conflicts of LDS accesses
//   count_global.cpp  bytes asked for and cache lines touched
//   count.cpp         the entry points
//
// Nothing is timed: a count follows from the instructions, EXEC and the addresses alone, and is the same in every run.
#pragma once
#include <pthread.h>

#include "launch.hpp"
#include "memory_op.hpp"

namespace emu::count {

// Who issues an instruction. Program control (waits, s_nop, s_endpgm, hints) is nobody's.
enum class Unit : u8 { kNone, kValu, kSalu, kBranch, kSmem, kLds, kVmemRead, kVmemWrite, kBarrier };
constexpr u32 kUnits = 9;

struct Plan {
  Unit unit;
  bool vopd;        // the first of a pair; the second has no unit
  bool matrix;      // also counted as VALU
  bool integer;     // a matrix instruction on integers
  u8 lane_flops;    // floating-point operations of one active lane
  u32 matrix_ops;   // operations of the wave, whatever EXEC
  MemoryOp memory;  // space kNone: no memory instruction, or one that only concerns caches
  u8 addresses;     // LDS: one, or two in ds_*2
};

struct LaunchCount {
  Plan* plans;
  pthread_mutex_t lock;  // of `total`
  emu_counters total;
};

// One host thread's.
struct Tally {
  u64* issued;  // by instruction
  u64* lanes;   // active lanes, summed, by instruction
  emu_counters memory;
};

inline LaunchCount& launch_count(const Launch& launch) { return *static_cast<LaunchCount*>(launch.counting); }

// ---- count_plan.cpp
Plan make_plan(const Insn& i);

// ---- count_lds.cpp
template <int L>
void count_lds(const Wave<L>& w, const Insn& i, const Plan& p, emu_counters& c);

// ---- count_global.cpp
template <int L>
void count_global(Wave<L>& w, const Insn& i, const Plan& p, emu_counters& c);

}  // namespace emu::count
