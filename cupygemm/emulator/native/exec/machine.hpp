// The state of the emulated machine, and the decoded instruction: what every instruction handler sees.
//
// One wave is L lanes (32 on RDNA, 64 on CDNA), and every type here that depends on that is a template on it. A handler
// reads operands, computes all lanes and writes through EXEC (operands.hpp). Nothing here allocates.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace emu {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

enum class Arch : u8 { kCdna3 = 0, kCdna4 = 1, kRdna3 = 2, kRdna4 = 3, kCdna2 = 4, kRdna35 = 5 };

constexpr bool is_cdna(Arch a) { return a == Arch::kCdna2 || a == Arch::kCdna3 || a == Arch::kCdna4; }
constexpr bool is_gfx11(Arch a) { return a == Arch::kRdna3 || a == Arch::kRdna35; }

// Scalar registers share one file, numbered alike on every arch (the decoder renumbers): s0.., then these. EXEC is
// stored nowhere else: s[126:127] is the execution mask (Wave::exec).
enum Sgpr : u32 {
  kFlatScratchLo = 102,
  kVccLo = 106,
  kVccHi = 107,
  kTtmp0 = 108,
  kM0 = 124,
  kExecLo = 126,
  kExecHi = 127,
  kSgprCount = 128
};

// What an operand holds, by the opcode's signature (ops.hpp). Integers of any sign share a type: their constants are
// encoded alike.
enum class Type : u16 {
  kAny,
  kB16,
  kF16,
  kBF16,
  kB32,
  kF32,
  kB64,
  kF64,
  kPackedI16,
  kPackedF16,
  kPackedBF16,
  kPackedF32,
  kMix,  // v_fma_mix: f32, or the half of a dword that op_sel names as f16, by op_sel_hi
  kMask,
  kLabelType,
  kImm,
  kWide,  // more than two dwords
};

// kVgpr: reg 0..255 are VGPRs, 256 + n is AGPR n (wave64), or one of the decoder's temporaries (wave32).
// kNull: the register `null`, or `off`: reads give 0, writes vanish.
enum class Kind : u8 { kNone, kVgpr, kSgpr, kConst, kNull, kScc, kVccz, kExecz, kLabel };

enum OperandMod : u8 { kNeg = 1, kAbs = 2, kSext = 4, kHigh = 8 };  // -x, |x|, sext(x), the high half (v0.h, op_sel)

// `value` of a constant holds the bits as the instruction's operand type wants them (the decoder knows the type):
// 16-bit types in the low half, f64 in full. A label's `value` is an instruction index. `reg` is the first of `dwords`
// registers.
struct Operand {
  Kind kind;
  u8 dwords;
  u8 mods;
  u8 sdwa;  // 0 whole, 1..4 BYTE_0..3, 5 WORD_0, 6 WORD_1 (SDWA's dst_sel, src*_sel)
  u16 reg;
  Type type;  // filled in by emu_kernel_create
  u64 value;
};
static_assert(sizeof(Operand) == 16);

enum class Dpp : u8 {
  kNone,
  kQuadPerm,
  kRowShl,
  kRowShr,
  kRowRor,
  kWaveShl,
  kWaveRol,
  kWaveShr,
  kWaveRor,
  kRowMirror,
  kRowHalfMirror,
  kRowBcast15,
  kRowBcast31,
  kRowShare,  // also CDNA's row_newbcast
  kRowXmask,
  kDpp8
};

enum InsnFlag : u32 {
  kClamp = 1u << 0,
  kGlc = 1u << 1,     // the atomic returns the old value: glc, sc0 on an atomic, th:TH_ATOMIC_RETURN
  kLdsDma = 1u << 2,  // MUBUF `lds`
  kOffen = 1u << 3,
  kIdxen = 1u << 4,
  kGds = 1u << 5,
  kBoundCtrl = 1u << 6,      // DPP: bound_ctrl:0 / bound_ctrl:1
  kFetchInactive = 1u << 7,  // DPP: fi:1
  kDualX = 1u << 8,          // first half of a VOPD pair; kDualY the second. Each is an instruction of its own here.
  kDualY = 1u << 9,
  kSdwaPreserve = 1u << 10,  // dst_unused:UNUSED_PRESERVE; neither bit: UNUSED_PAD
  kSdwaSext = 1u << 11,      // dst_unused:UNUSED_SEXT
  kScaleOffset = 1u << 12,   // gfx12 `scale_offset`
  kOpSelGiven = 1u << 13,    // op_sel or op_sel_hi was written (defaults are filled in all the same)
  kPlain = 1u << 14,  // set by program.cpp: no modifier of any kind, so the operands are read and written as they are
  kSc0 = 1u << 15,
  kSc1 = 1u << 16,
  kNt = 1u << 17,
  kNv = 1u << 18,
  kSlc = 1u << 19,
  kDlc = 1u << 20,
  kHighGiven = 1u << 21,         // some operand is a high half
  kEmittedByDecoder = 1u << 22,  // a helper move of a VOPD pair; not an instruction of the listing
  kFp64 = 1u << 24,              // set by program.cpp from the opcode's row, as are the next three
  kKeepHigh = 1u << 25,
  kHighResult = 1u << 26,
  kCmpx = 1u << 27,
  kInstOffsetIsSgpr = 1u << 23,  // SMEM offset given as a register (offset holds the immediate part)
};

// Wait counters, as bytes of Insn::waits. kNoWait: not waited for. Older archs' vmcnt is kLoad (stores too on gfx9),
// vscnt kStore, lgkmcnt kDs (scalar loads too), gfx12's own names follow.
enum Counter : u8 { kLoadCnt, kStoreCnt, kDsCnt, kKmCnt, kExpCnt, kSampleCnt, kBvhCnt, kDepctr };
constexpr u8 kNoWait = 0xff;

constexpr int kMaxDst = 2, kMaxSrc = 6;

template <int L>
struct Wave;
struct Insn;
struct OpRow;
template <int L>
using Handler = void (*)(Wave<L>&, const Insn&);
struct LaneArgs;
using Core = void (*)(LaneArgs&);

struct alignas(64) Insn {
  u64 run;   // the handler for this kernel's wave size; filled in by emu_kernel_create
  u64 core;  // of VALU instructions: the 32-lane function (lanes.hpp); filled in too
  u16 op;    // row of the opcode table
  u8 ndst, nsrc;
  u8 omod;  // 0, 1: *2, 2: *4, 3: /2
  Dpp dpp;
  u8 row_mask, bank_mask;
  u32 dpp_ctrl;  // the amount, the quad permutation (2 bits a lane) or DPP8's selectors (3 bits)
  u8 op_sel, op_sel_hi, neg_lo, neg_hi;  // one bit a source; bit 3 of op_sel is the destination's
  u8 cbsz, abid, blgp, bitop3;           // MFMA; v_bitop3's truth table
  i32 offset;                            // memory offset, simm16
  i32 offset1;                           // second offset of ds_*2
  u32 flags;
  u32 line;   // index of the assembly line, for reports
  u64 waits;  // wait instructions: one byte a Counter
  Operand dst[kMaxDst];
  Operand src[kMaxSrc];
};
static_assert(sizeof(Insn) == 192);

struct Launch;     // launch.hpp: grid, block, kernel, checker
struct Workgroup;  // launch.hpp: LDS, its waves

// kYielded: the wave sleeps (s_sleep): others run before it goes on.
enum class State : u8 { kRunning, kAtBarrier, kYielded, kDone, kTrapped };

// The floating-point mode bits of the MODE register: 0 nearest even, 1 +inf, 2 -inf, 3 zero; denormals bit 0: inputs
// kept, bit 1: outputs kept.
struct FpMode {
  u8 round_f32, round_f16_64, denorm_f32, denorm_f16_64;
  u8 dx10_clamp, ieee, fp16_ovfl;
};

template <int L>
struct Wave {
  static constexpr int kLanes = L;
  static constexpr int kVgprs = L == 64 ? 512 : 264;

  alignas(64) u32 v[kVgprs][L];
  alignas(8) u32 s[kSgprCount];
  bool scc;
  State state;
  Arch arch;
  FpMode mode;
  u32 mxcsr_f32, mxcsr_f64;  // the host's control word for instructions on f32 and on f64; see operands.hpp, set_mode
  u32 pc;                    // index of the next instruction
  u32 id;                    // wave in its workgroup
  u32 signalled;             // the barrier phase at which this wave has last arrived (launch.hpp, Workgroup::phase)
  u32 lanes_present;         // work-items in this wave: fewer than L in a partial last wave
  Workgroup* group;
  Launch* launch;
  const Insn* at;  // the instruction being executed, for reports
  u32* scratch;    // private segment: dword d of lane l at scratch[d * L + l]
  u64 budget;      // backward branches left before the launch is declared endless
  void* shadow;    // the checkers' own state of this wave

  u64 exec() const {
    u64 x;
    memcpy(&x, &s[kExecLo], 8);
    return x;
  }
  void set_exec(u64 x) { memcpy(&s[kExecLo], &x, 8); }
  static constexpr u64 full() { return L == 64 ? ~0ull : 0xffffffffull; }
};

}  // namespace emu
