// The shadow wave that holds undefined bits: its start, and running an instruction on it that only moves bits.
#include "check.hpp"

namespace emu::check {
namespace {

template <int L>
u64 present(const Wave<L>& w) {
  return w.lanes_present >= L ? Wave<L>::full() : (1ull << w.lanes_present) - 1;
}

// Real values of the sources in `control`, put into the shadow for as long as the instruction runs on it.
template <int L>
struct ControlValues {
  struct Saved {
    u32 reg;
    alignas(64) u32 row[L];
  };
  Wave<L>& w;
  Saved saved[8];
  u32 count = 0;

  ControlValues(Wave<L>& wave, const Insn& i, u32 control) : w(wave) {
    Wave<L>& shadow = wave_check(w).shadow;
    for (int n = 0; n < i.nsrc; n++) {
      const Operand& o = i.src[n];
      if (!(control >> n & 1)) continue;
      for (u32 d = 0; d < o.dwords && count < 8; d++) {
        if (o.kind == Kind::kVgpr) {
          saved[count].reg = o.reg + d;
          memcpy(saved[count++].row, shadow.v[o.reg + d], sizeof saved[0].row);
          memcpy(shadow.v[o.reg + d], w.v[o.reg + d], sizeof saved[0].row);
        } else if (o.kind == Kind::kSgpr) {
          saved[count].reg = kSgpr0 + o.reg + d;
          saved[count++].row[0] = shadow.s[o.reg + d];
          shadow.s[o.reg + d] = w.s[o.reg + d];
        }
      }
    }
  }

  // Registers that the instruction wrote keep what it wrote.
  void restore(const Plan& p) {
    Wave<L>& shadow = wave_check(w).shadow;
    while (count) {
      const Saved& s = saved[--count];
      bool written = false;
      for (u32 n = 0; n < p.writes; n++)
        written |= s.reg >= p.write[n].first && s.reg < p.write[n].first + u32{p.write[n].count};
      if (s.reg >= kSgpr0) {
        if (!written) shadow.s[s.reg - kSgpr0] = s.row[0];
        continue;
      }
      // A VGPR written under EXEC keeps the old bits in the other lanes.
      for (int l = 0; l < L; l++) {
        if (!written || !(w.exec() >> l & 1)) shadow.v[s.reg][l] = s.row[l];
      }
    }
  }
};

}  // namespace

template <int L>
void run_on_shadow(Wave<L>& w, const Insn& i, const Plan& p, u32 control, u32 origin) {
  WaveCheck<L>& c = wave_check(w);
  const u64 exec_bits = c.shadow.exec();
  const u32 m0_bits = c.shadow.s[kM0];
  c.shadow.set_exec(w.exec());
  c.shadow.s[kM0] = w.s[kM0];
  c.shadow.scc = w.scc;
  c.shadow.at = &i;
  c.shadow.group = &group_check(*w.group).shadow;
  ControlValues<L> values(w, i, control);
  reinterpret_cast<Handler<L>>(i.run)(c.shadow, i);
  values.restore(p);
  if (!p.writes_exec) c.shadow.set_exec(exec_bits);
  const bool m0_written =
      p.writes && p.write[0].first <= kSgpr0 + kM0 && p.write[0].first + p.write[0].count > kSgpr0 + kM0;
  if (!m0_written) c.shadow.s[kM0] = m0_bits;
  c.shadow.state = State::kRunning;
  for (u32 n = 0; n < p.writes; n++) refresh_state(w, p.write[n], origin);
}

template <int L>
void refresh_state(Wave<L>& w, Range range, u32 origin) {
  WaveCheck<L>& c = wave_check(w);
  for (u32 r = range.first; r < range.first + u32{range.count}; r++) {
    u32 any = 0;
    if (r < kSgpr0) {
      for (int l = 0; l < L; l++) any |= c.shadow.v[r][l];
    } else {
      any = c.shadow.s[r - kSgpr0];
    }
    if (any) c.origin[r] = origin;
    c.state[r] = any ? c.state[r] | kUndefined : c.state[r] & ~kUndefined;
  }
}

template <int L>
void init_values(Wave<L>& w, const emu_kernel_desc& k) {
  WaveCheck<L>& c = wave_check(w);
  memset(c.state, 0, sizeof c.state);
  memset(c.origin, 0, sizeof c.origin);
  c.scc_undefined = false;
  c.rewritten = false;
  const u64 lanes = present(w);
  const auto undefine = [&](u32 first, u32 count) {
    for (u32 r = first; r < first + count && r < u32{Wave<L>::kVgprs}; r++) {
      c.state[r] = kUndefined;
      for (int l = 0; l < L; l++) c.shadow.v[r][l] = lanes >> l & 1 ? ~0u : 0;
    }
  };
  memset(c.shadow.v[0], 0, sizeof c.shadow.v[0]);
  undefine(1, k.vgprs > 256 ? 255 : k.vgprs ? k.vgprs - 1 : 0);
  if (L == 64) undefine(256, k.agprs);
  memset(c.shadow.s, 0, sizeof c.shadow.s);
  u32 set = k.user_sgprs;
  for (u32 n = 0; n < 3; n++) set += w.arch != Arch::kRdna4 && (k.enable & EMU_WORKGROUP_ID_X << n) ? 1 : 0;
  set += (k.enable & EMU_WORKGROUP_INFO ? 1 : 0) + (k.enable & EMU_PRIVATE_SEGMENT ? 1 : 0);
  for (u32 r = set; r < kTtmp0; r++) {
    if (r >= kFlatScratchLo && r < kVccLo) continue;
    c.state[kSgpr0 + r] = kUndefined;
    c.shadow.s[r] = ~0u;
  }
  c.state[kSgpr0 + kM0] = kUndefined;
  c.shadow.s[kM0] = ~0u;
}

#define INSTANTIATE(L)                                                          \
  template void run_on_shadow<L>(Wave<L>&, const Insn&, const Plan&, u32, u32); \
  template void refresh_state<L>(Wave<L>&, Range, u32);                         \
  template void init_values<L>(Wave<L>&, const emu_kernel_desc&);
INSTANTIATE(32)
INSTANTIATE(64)

}  // namespace emu::check
