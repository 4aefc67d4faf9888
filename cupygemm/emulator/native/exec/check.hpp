// The checkers: what they keep for a launch, a workgroup and a wave, and which file checks what.
//
//   check_plan.cpp    what each instruction reads, writes and counts, worked out once a launch
//   check_waits.cpp   a register used, or LDS relied on, before the wait that makes it safe
//   check_shadow.cpp  the undefined bits of a wave's registers, and instructions that move them
//   check_values.cpp  uninitialised registers and LDS bytes, followed through all instructions
//   check_decisions.cpp  ... and reported where they matter
//   check_matrix.cpp  the same through matrix instructions
//   check_lds.cpp     races between the waves of a workgroup, within a barrier epoch
//   check_global.cpp  conflicts between workgroups of one launch
//   check_hooks.cpp   the entry points, and the checks of one line
//
// A launch with checks runs on one host thread. The first finding stops it, as an out-of-bounds access does.
#pragma once
#include "access.hpp"
#include "launch.hpp"
#include "machine.hpp"
#include "memory_op.hpp"
#include "operands.hpp"

namespace emu::check {

// Registers in one numbering: VGPRs, AGPRs from 256, SGPRs from 512.
constexpr u32 kSgpr0 = 512, kRegisters = kSgpr0 + kSgprCount;

struct Range {
  u16 first, count;
};

// How undefined bits of the sources become undefined bits of the results.
enum class Flow : u8 {
  kNone,  // no result, or results that are always defined
  kAny,   // one undefined bit in a lane makes that lane's result undefined
  kMove,  // bits keep their identity: the instruction itself is run on the undefined bits
  kAnd,   // bit by bit, and so on
  kOr,
  kXor,
  kAndNot,
  kOrNot,
  kSum,       // integer sums and products: an undefined bit reaches the bits above it
  kSaveExec,  // s_*_saveexec, s_*_wrexec
  kMemory,
  kMatrixFloat,
  kMatrixInteger,
};

// Instructions with a check of their own.
enum class Special : u8 { kNone, kBarrier, kEnd };

struct Plan {
  MemoryOp memory;
  Flow flow;
  u8 control;      // kMove: sources that choose what is moved (bit n: source n); they keep their values
  u8 counters;     // wait counters that it occupies until done (bit n: Counter n)
  bool unordered;  // completes in any order: only a wait for 0 helps
  bool scalar;     // SALU
  bool writes_exec;
  bool high_data;   // d16_hi stores: data in bits 31:16
  bool first_lane;  // v_readfirstlane_b32
  bool scc_user;    // reads SCC
  bool vccz_user;
  bool one_lane;    // v_writelane_b32
  bool d16;         // a load that fills half of its register
  bool masks_exec;  // s_and_saveexec and its like: bits of the source that EXEC lacks do not matter
  Special special;
  bool quick;  // nothing to check but its registers, of which there are at most four: `few`
  u16 few[4];
  u8 reads, writes;
  Range read[kMaxSrc + 2], write[kMaxDst + 2];
};

// LDS bytes of one address operand.
struct Footprint {
  u64 mask;
  u32 bytes;
  u32 address[64];
};

enum class LdsUse : u8 { kNone, kRead, kWrite, kDirect };

// An instruction whose completion has not been waited for.
struct Record {
  const Insn* insn;
  const Plan* plan;
  u8 counters;  // those still to be waited for
  LdsUse lds;
  u8 footprints;
  Footprint footprint[2];
};

// In the order of issue. A counter that is full stalls the wave on hardware, so the oldest record then counts as done.
struct Queue {
  static constexpr u32 kCapacity = 128, kCounterMax = 63;
  u32 first, count;
  u32 outstanding[8], unordered[8];  // a counter
  Record record[kCapacity];

  Record& at(u32 n) { return record[(first + n) % kCapacity]; }
};

enum RegisterState : u8 { kUndefined = 1, kPending = 2 };

template <int L>
struct WaveCheck {
  // Its VGPRs, SGPRs and private segment hold the undefined bits of the real ones; all zero in registers that are not
  // kUndefined.
  Wave<L> shadow;
  u8 state[kRegisters + 1];  // the last is none's, and always 0
  u32 origin[kRegisters];    // where undefined bits came from: assembly line + 1, or 0 for a register never written
  bool scc_undefined;
  bool rewritten;  // a register has been the destination of several loads in flight
  Queue queue;
};

// What the waves of a workgroup did to LDS since the last barrier, dword by dword. `writer` holds wave + 1 (kAtomics:
// atomics of any wave), kDirect if a load to LDS is in flight there, and kSplit once the bytes of the dword have to be
// told apart: then `bytes` counts.
struct LdsBytes {
  u32 readers[4];  // bit n for wave n
  u8 writer[4];
};
struct LdsShadow {
  u32* readers;  // bit n for wave n
  u8* writer;
  u8* direct;  // wave + 1 of the load to LDS in flight
  u32 *read_line, *write_line;
  LdsBytes* bytes;
};
constexpr u8 kAtomics = 0x3f, kDirect = 0x40, kSplit = 0x80;

struct GroupCheck {
  Workgroup shadow;  // its LDS holds the undefined bits
  LdsShadow lds;
};

struct GlobalShadow;

struct LaunchCheck {
  Plan* plans;
  GroupCheck group;
  void* waves;  // WaveCheck<L>[wave_count], reused by every workgroup
  u32* scratch_shadow;
  GlobalShadow* global;
};

inline LaunchCheck& launch_check(const Launch& launch) { return *static_cast<LaunchCheck*>(launch.checker); }
inline GroupCheck& group_check(const Workgroup& group) { return launch_check(*group.launch).group; }
template <int L>
WaveCheck<L>& wave_check(const Wave<L>& w) {
  return *static_cast<WaveCheck<L>*>(w.shadow);
}

// ---- check_plan.cpp
Plan make_plan(const Insn& i, u32 wave_size, Arch arch);

// ---- check_waits.cpp
template <int L>
void apply_wait(Wave<L>& w, u64 waits);
template <int L>
void push_record(Wave<L>& w, const Insn& i, const Plan& p, const Footprint* footprints, u32 count);
template <int L>
void report_pending(Wave<L>& w, const Plan& p);
// LDS accesses not waited for at a barrier belong to the next epoch too.
template <int L>
void carry_over_barrier(Wave<L>& w);

// ---- check_shadow.cpp
template <int L>
void init_values(Wave<L>& w, const emu_kernel_desc& k);
// Runs the instruction on the undefined bits: what it moves are those bits, the sources in `control` (bit n: source n)
// keep their values.
template <int L>
void run_on_shadow(Wave<L>& w, const Insn& i, const Plan& p, u32 control, u32 origin);
// Whether registers of the shadow hold undefined bits, after they were written.
template <int L>
void refresh_state(Wave<L>& w, Range range, u32 origin);

// ---- check_decisions.cpp
// Which sources of a memory instruction are addresses (bit n: source n).
u32 address_sources(const Plan& p);
// Reports undefined addresses, and undefined data that other workgroups or the host can see.
template <int L>
void follow_memory(Wave<L>& w, const Insn& i, const Plan& p);
// Reports a branch on undefined bits; true if it did.
template <int L>
bool branch_is_undefined(Wave<L>& w, const Plan& p);

// Lanes of `mask` in which dword `dword` of the operand has an undefined bit of `bits`. Scalars count for every lane.
template <int L>
inline u64 undefined_lanes(Wave<L>& w, const Operand& o, u32 dword, u32 bits, u64 mask) {
  const WaveCheck<L>& c = wave_check(w);
  if (o.kind == Kind::kSgpr) return c.shadow.s[o.reg + dword] & bits ? mask : 0;
  if (o.kind != Kind::kVgpr || !(c.state[o.reg + dword] & kUndefined)) return 0;
  const u32* row = c.shadow.v[o.reg + dword];
  u64 lanes = 0;
  for (int l = 0; l < L; l++) lanes |= u64{(row[l] & bits) != 0} << l;
  return lanes & mask;
}

// ---- check_values.cpp
// Undefined sources: reports where they decide anything, else computes the undefined bits of the results.
template <int L>
void follow_values(Wave<L>& w, const Insn& i, const Plan& p, bool sources_undefined);
template <int L>
void define_results(Wave<L>& w, const Insn& i, const Plan& p);

// ---- check_matrix.cpp
template <int L>
void follow_matrix(Wave<L>& w, const Insn& i, const Plan& p);
void check_replicas(Wave<32>& w, const Insn& i);

// ---- check_lds.cpp
template <int L>
void check_lds_access(Wave<L>& w, const Insn& i, const Plan& p);
template <int L>
void check_direct_load(Wave<L>& w, const Insn& i, const Plan& p);
// Marks the footprint as read or written by the wave, without looking for conflicts.
template <int L>
void stamp(Wave<L>& w, const Record& r);
// A barrier, or the start of a workgroup: nothing has been touched yet.
void clear_lds(Workgroup& group);
LdsShadow make_lds_shadow(u32 bytes);
void free_lds_shadow(const LdsShadow& shadow);
template <int L>
void end_direct(Wave<L>& w, const Footprint& f);

// ---- check_global.cpp
GlobalShadow* make_global_shadow();
void free_global_shadow(GlobalShadow* shadow);
template <int L>
void check_global_access(Wave<L>& w, const Insn& i, const Plan& p);

// "v5", "a0", "s[4]", for reports.
struct RegisterName {
  char text[12];
  explicit RegisterName(u32 reg);
};

}  // namespace emu::check
