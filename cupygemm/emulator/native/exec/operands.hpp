// Reading and writing operands for handlers that do not go through lanes.hpp: memory, LDS, matrix and scalar
// instructions.
#pragma once
#include <immintrin.h>

#include "machine.hpp"

namespace emu {

#define EMU_INLINE inline __attribute__((always_inline))

// ---- Scalars --------------------------------------------------------------------------------------------------------

template <int L>
EMU_INLINE u32 read_s32(const Wave<L>& w, const Operand& o, int dword = 0) {
  switch (o.kind) {
    case Kind::kSgpr:
      return w.s[o.reg + dword];
    case Kind::kConst:
      return u32(o.value >> (32 * dword));
    case Kind::kScc:
      return dword == 0 ? w.scc : 0;
    case Kind::kVgpr:
      return w.v[o.reg + dword][0];
    case Kind::kVccz: {
      u64 vcc;
      memcpy(&vcc, &w.s[kVccLo], 8);
      return dword == 0 && (vcc & Wave<L>::full()) == 0;
    }
    case Kind::kExecz:
      return dword == 0 && (w.exec() & Wave<L>::full()) == 0;
    default:
      return 0;
  }
}

template <int L>
EMU_INLINE u64 read_s64(const Wave<L>& w, const Operand& o) {
  if (o.kind == Kind::kConst) return o.value;
  return read_s32(w, o, 0) | (u64(read_s32(w, o, 1)) << 32);
}

// A lane mask operand: one SGPR on wave32, a pair on wave64.
template <int L>
EMU_INLINE u64 read_mask(const Wave<L>& w, const Operand& o) {
  return L == 64 ? read_s64(w, o) : read_s32(w, o);
}

template <int L>
EMU_INLINE void write_s32(Wave<L>& w, const Operand& o, u32 x, int dword = 0) {
  if (o.kind == Kind::kSgpr) w.s[o.reg + dword] = x;
}

template <int L>
EMU_INLINE void write_s64(Wave<L>& w, const Operand& o, u64 x) {
  write_s32(w, o, u32(x), 0);
  write_s32(w, o, u32(x >> 32), 1);
}

template <int L>
EMU_INLINE void write_mask(Wave<L>& w, const Operand& o, u64 x) {
  if (L == 64)
    write_s64(w, o, x);
  else
    write_s32(w, o, u32(x));
}

// ---- Lanes ----------------------------------------------------------------------------------------------------------

// Dword `dword` of a source operand as L lanes, whatever it is. `tmp` (L dwords, 64-byte aligned) is used for scalars.
// The pointer may be the register itself: read all before writing.
template <int L>
EMU_INLINE const u32* read_lanes(const Wave<L>& w, const Operand& o, int dword, u32* tmp) {
  if (o.kind == Kind::kVgpr) return w.v[o.reg + dword];
  u32 x = read_s32(w, o, dword);
  for (int l = 0; l < L; l++) tmp[l] = x;
  return tmp;
}

using U32x32 = u32 __attribute__((ext_vector_type(32), aligned(64)));
using I32x32 = i32 __attribute__((ext_vector_type(32), aligned(64)));
using Bool32 = bool __attribute__((ext_vector_type(32)));

// d[l] = x[l] for the 32 lanes whose bit is set; both 64-byte aligned.
EMU_INLINE void blend32(u32* d, const u32* x, u32 mask) {
  const I32x32 lanes = __builtin_convertvector(__builtin_bit_cast(Bool32, mask), I32x32);
  U32x32 fresh, old;
  memcpy(&fresh, x, sizeof fresh);
  memcpy(&old, d, sizeof old);
  const U32x32 out = lanes != 0 ? fresh : old;
  memcpy(d, &out, sizeof out);
}

// Bit l is x[l] != 0.
EMU_INLINE u32 pack32(const u32* x) {
  U32x32 v;
  memcpy(&v, x, sizeof v);
  return __builtin_bit_cast(u32, __builtin_convertvector(v != 0, Bool32));
}

// Writes L lanes into dword `dword` of a VGPR operand where EXEC (or `mask`) says so. `x` is 64-byte aligned.
template <int L>
EMU_INLINE void write_lanes(Wave<L>& w, const Operand& o, int dword, const u32* x, u64 mask) {
  if (o.kind != Kind::kVgpr) return;
  for (int h = 0; h < L; h += 32) blend32(w.v[o.reg + dword] + h, x + h, u32(mask >> h));
}
template <int L>
EMU_INLINE void write_lanes(Wave<L>& w, const Operand& o, int dword, const u32* x) {
  write_lanes(w, o, dword, x, w.exec());
}

// ---- Floating-point mode --------------------------------------------------------------------------------------------

// The host's MXCSR for a rounding mode and a denormal mode of the emulated MODE register; all exceptions masked. The
// waves run under that of their f32 mode, so f32 arithmetic in a handler rounds and flushes as the kernel asks.
inline u32 mxcsr_of(u32 round, u32 denorm) {
  constexpr u32 kRound[4] = {0, 2, 1, 3};  // nearest, +inf, -inf, zero -> RC field
  return 0x1f80 | (kRound[round & 3] << 13) | (denorm & 1 ? 0 : 0x0040) | (denorm & 2 ? 0 : 0x8000);
}

template <int L>
inline void set_mode(Wave<L>& w, FpMode m) {
  w.mode = m;
  w.mxcsr_f32 = mxcsr_of(m.round_f32, m.denorm_f32);
  w.mxcsr_f64 = mxcsr_of(m.round_f16_64, m.denorm_f16_64);
  _mm_setcsr(w.mxcsr_f32);
}

// For a handler whose arithmetic ignores MODE (matrix instructions): nearest even, denormals kept, until the end of
// scope.
struct IeeeScope {
  u32 saved;
  IeeeScope() : saved(_mm_getcsr()) {
    if (saved & 0xe040) _mm_setcsr(0x1f80);
  }
  ~IeeeScope() {
    if (saved & 0xe040) _mm_setcsr(saved);
  }
};

// ---- Errors ---------------------------------------------------------------------------------------------------------

// Stops the launch: the report gets kernel, line, workgroup and wave from the wave, then the formatted reason. `lane` <
// 0: no particular lane. The handler returns at once afterwards.
void report_trap(Launch* launch, const Workgroup* group, u32 wave, const Insn* at, int lane, const char* format, ...)
    __attribute__((format(printf, 6, 7)));

template <int L, class... A>
__attribute__((noinline, cold)) void trap(Wave<L>& w, int lane, const char* format, A... args) {
  w.state = State::kTrapped;
  if constexpr (sizeof...(A) == 0)
    report_trap(w.launch, w.group, w.id, w.at, lane, "%s", format);
  else
    report_trap(w.launch, w.group, w.id, w.at, lane, format, args...);
}

}  // namespace emu
