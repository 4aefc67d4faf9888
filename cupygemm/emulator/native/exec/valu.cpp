// The handler that all lane functions share: operands in, modifiers, 32-lane cores, results out.
#include "dpp.hpp"
#include "lanes.hpp"
#include "launch.hpp"
#include "modifiers.hpp"

namespace emu {

namespace {

// Scalars become L equal lanes here; registers are used where they lie.
template <int L>
struct Sources {
  alignas(64) u32 buffer[kMaxAluSrc][2][L];
  const u32* at[kMaxAluSrc][2];
};

struct CsrScope {
  u32 restore;
  bool changed;
  CsrScope(u32 want, u32 now) : restore(now), changed(want != now) {
    if (changed) _mm_setcsr(want);
  }
  ~CsrScope() {
    if (changed) _mm_setcsr(restore);
  }
};

Half half_of(const Insn& i, Arch arch) {
  if ((i.dst[0].mods & kHigh) || (i.flags & kHighResult)) return Half::kHigh;
  return is_cdna(arch) && !(i.flags & kKeepHigh) ? Half::kZeroHigh : Half::kLow;
}

constexpr bool is_16bit(Type type) { return type == Type::kB16 || type == Type::kF16 || type == Type::kBF16; }

template <int L>
void write_mask_results(Wave<L>& w, const Insn& i, u64 mask_out, u64 exec) {
  mask_out &= exec;
  if (i.ndst) write_mask(w, i.dst[i.dst[0].type == Type::kMask ? 0 : 1], mask_out);
  if (i.flags & kCmpx) w.set_exec(mask_out);
}

template <int L>
EMU_INLINE void run_cores(Wave<L>& w, const Insn& i, LaneArgs& x, u32* const (&d)[2], const Sources<L>& sources,
                          int nsrc, u64 mask_in, u64 lanes) {
  u64 mask_out = 0;
  const Core core = reinterpret_cast<Core>(i.core);
  for (int h = 0; h < L; h += 32) {
    x.d[0] = d[0] + h, x.d[1] = d[1] + h;
    for (int k = 0; k < nsrc; k++) x.s[k][0] = sources.at[k][0] + h, x.s[k][1] = sources.at[k][1] + h;
    x.exec = u32(lanes >> h), x.mask_in = u32(mask_in >> h);
    core(x);
    mask_out |= u64(x.mask_out) << h;
  }
  if (i.dst[0].type == Type::kMask || i.ndst != 1) write_mask_results(w, i, mask_out, lanes);
}

// Everything but the plain case: sources are copied through their modifiers, the result is computed for all lanes
// beside the register, then clamped, placed and written.
template <int L>
__attribute__((noinline)) void run_modified(Wave<L>& w, const Insn& i) {
  Sources<L> sources;
  alignas(64) u32 result[2][L];
  // 16-bit results come out in the low half here; placement is done below.
  LaneArgs x({&i, w.mode, w.arch, bool(i.flags & kClamp)}, Half::kZeroHigh);
  x.mask_out = 0;
  u64 mask_in = 0, lanes = w.exec();
  int n = 0;
  for (int k = 0; k < i.nsrc; k++) {
    const Operand& o = i.src[k];
    if (o.type == Type::kMask) {
      mask_in = read_mask(w, o);
      continue;
    }
    for (int d = 0; d < 2; d++) {
      sources.at[n][d] = sources.buffer[n][d];
      if (d >= type_dwords(o.type)) continue;
      const u32* p = read_lanes(w, o, d, sources.buffer[n][d]);
      if (p != sources.buffer[n][d]) memcpy(sources.buffer[n][d], p, 4 * L);
    }
    if (k == 0 && i.dpp != Dpp::kNone) {
      for (int d = 0; d < type_dwords(o.type); d++) lanes = apply_dpp<L>(w.exec(), i, sources.buffer[n][d]);
    }
    apply_source_modifiers<L>(i, k, sources.buffer[n]);
    n++;
  }
  const bool to_vgpr = i.dst[0].kind == Kind::kVgpr && i.dst[0].type != Type::kMask;
  const int dwords = to_vgpr ? type_dwords(i.dst[0].type) : 0;
  for (int d = 0; d < dwords; d++) memcpy(result[d], w.v[i.dst[0].reg + d], 4 * L);
  u32* const d[2] = {result[0], result[1]};
  CsrScope csr((i.flags & kFp64) ? w.mxcsr_f64 : w.mxcsr_f32, w.mxcsr_f32);
  run_cores<L>(w, i, x, d, sources, n, mask_in, lanes);
  if (!to_vgpr) return;
  apply_result_modifiers<L>(i, w.mode, result);
  if (i.dst[0].sdwa || (i.flags & (kSdwaPreserve | kSdwaSext)))
    place_sdwa<L>(i, result[0], w.v[i.dst[0].reg]);
  else if (is_16bit(i.dst[0].type))
    place_half<L>(half_of(i, w.arch), result[0], w.v[i.dst[0].reg]);
  for (int k = 0; k < dwords; k++) write_lanes(w, i.dst[0], k, result[k], lanes);
}

}  // namespace

template <int L>
void run_valu(Wave<L>& w, const Insn& i) {
  if (!(i.flags & kPlain)) return run_modified<L>(w, i);
  Sources<L> sources;
  LaneArgs x({&i, w.mode, w.arch, false}, half_of(i, w.arch));
  x.mask_out = 0;
  u64 mask_in = 0;
  int n = 0;
  for (int k = 0; k < i.nsrc; k++) {
    const Operand& o = i.src[k];
    if (o.kind == Kind::kVgpr) {
      sources.at[n][0] = w.v[o.reg], sources.at[n][1] = w.v[o.reg + 1];
    } else if (o.type == Type::kMask) {
      mask_in = read_mask(w, o);
      continue;
    } else {
      sources.at[n][0] = read_lanes(w, o, 0, sources.buffer[n][0]);
      sources.at[n][1] = type_dwords(o.type) == 2 ? read_lanes(w, o, 1, sources.buffer[n][1]) : sources.buffer[n][0];
    }
    n++;
  }
  const Operand& o = i.dst[0];
  u32* const d[2] = {w.v[o.reg], w.v[o.reg + 1]};
  CsrScope csr((i.flags & kFp64) ? w.mxcsr_f64 : w.mxcsr_f32, w.mxcsr_f32);
  run_cores<L>(w, i, x, d, sources, n, mask_in, w.exec());
}

namespace {

// One dword in each of N sources and in the result, no masks, no modifiers, f32 mode bits: what most instructions are.
template <int L, int N>
void run_plain(Wave<L>& w, const Insn& i) {
  alignas(64) u32 buffer[N][L];
  LaneArgs x({&i, w.mode, w.arch, false}, half_of(i, w.arch));
  const u32* sources[N];
#pragma unroll
  for (int k = 0; k < N; k++) sources[k] = read_lanes(w, i.src[k], 0, buffer[k]);
  u32* d = w.v[i.dst[0].reg];
  const u64 exec = w.exec();
  const Core core = reinterpret_cast<Core>(i.core);
#pragma unroll
  for (int h = 0; h < L; h += 32) {
    x.d[0] = d + h;
#pragma unroll
    for (int k = 0; k < N; k++) x.s[k][0] = sources[k] + h;
    x.exec = u32(exec >> h);
    core(x);
  }
}

bool is_plainest(const Insn& i) {
  if (!(i.flags & kPlain) || (i.flags & (kFp64 | kCmpx)) || i.ndst != 1 || i.nsrc < 1 || i.nsrc > 3) return false;
  if (i.dst[0].kind != Kind::kVgpr || type_dwords(i.dst[0].type) != 1) return false;
  for (int k = 0; k < i.nsrc; k++)
    if (type_dwords(i.src[k].type) != 1) return false;
  return true;
}

template <int L>
Handler<L> plain_handler(int nsrc) {
  return nsrc == 1 ? &run_plain<L, 1> : nsrc == 2 ? &run_plain<L, 2> : &run_plain<L, 3>;
}

}  // namespace

u64 valu_handler(const Insn& i, u32 wave_size) {
  const bool plain = is_plainest(i);
  if (wave_size == 64) return reinterpret_cast<u64>(plain ? plain_handler<64>(i.nsrc) : &run_valu<64>);
  return reinterpret_cast<u64>(plain ? plain_handler<32>(i.nsrc) : &run_valu<32>);
}

template void run_valu<32>(Wave<32>&, const Insn&);
template void run_valu<64>(Wave<64>&, const Insn&);

}  // namespace emu
