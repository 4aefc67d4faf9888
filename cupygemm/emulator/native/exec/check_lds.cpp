// Races in LDS: two waves of a workgroup touch the same byte without a barrier between, and one of them writes. Atomics
// do not race with one another, nor do writes of the byte that is there already. LDS accesses that nobody waited for
// when a barrier is passed belong to both of its sides.
#include <cstdio>
#include <cstdlib>

#include "check.hpp"
#include "lds.hpp"

namespace emu::check {
namespace {

enum class Use : u8 { kRead, kWrite, kAtomic };

template <int L>
struct Touch {
  Wave<L>& w;
  LdsShadow& lds;
  Use use;
  u32 line, bit;      // 1 << wave
  u8 me;              // wave + 1
  u64 undefined = 0;  // bits of what was read

  Touch(Wave<L>& wave, Use u, u32 at)
      : w(wave),
        lds(group_check(*wave.group).lds),
        use(u),
        line(at),
        bit(1u << wave.id),
        me(static_cast<u8>(wave.id + 1)) {}
};

LdsBytes& split(LdsShadow& s, u32 dword) {
  LdsBytes& each = s.bytes[dword];
  if (s.writer[dword] & kSplit) return each;
  for (u32 b = 0; b < 4; b++) {
    each.readers[b] = s.readers[dword];
    each.writer[b] = s.writer[dword] & kAtomics;
  }
  s.writer[dword] |= kSplit;
  return each;
}

template <int L>
void report_race(const Touch<L>& t, int lane, u32 address, bool writer, u32 other) {
  char who[48];
  if (other == kAtomics) {
    snprintf(who, sizeof who, "atomics of several waves");
  } else {
    snprintf(who, sizeof who, "wave %u", other - 1);
  }
  const u32 line = writer ? t.lds.write_line[address / 4] : t.lds.read_line[address / 4];
  trap(t.w, lane,
       "LDS race: %s of offset 0x%x, which %s %s at assembly line %u, with no barrier between (or its wait missing "
       "before it)",
       t.use == Use::kRead    ? "read"
       : t.use == Use::kWrite ? "write"
                              : "atomic",
       address, who, writer ? "wrote" : "read", line + 1);
}

// Some bytes of a dword; `same`: those that already have the value that is written. False: reported.
template <int L>
bool touch_bytes(const Touch<L>& t, int lane, u32 dword, u32 bytes, u32 same) {
  LdsBytes& each = split(t.lds, dword);
  for (u32 b = 0; b < 4; b++) {
    if (!(bytes >> b & 1)) continue;
    const u8 writer = each.writer[b];
    const bool harmless = (t.use == Use::kAtomic && writer == kAtomics) || (t.use == Use::kWrite && (same >> b & 1));
    if (writer && writer != t.me && !harmless) {
      report_race(t, lane, 4 * dword + b, true, writer);
      return false;
    }
    if (t.use == Use::kRead) {
      each.readers[b] |= t.bit;
      continue;
    }
    const u32 others = each.readers[b] & ~t.bit;
    if (others && !harmless) {
      report_race(t, lane, 4 * dword + b, false, static_cast<u32>(__builtin_ctz(others)) + 1);
      return false;
    }
    each.writer[b] = t.use == Use::kAtomic ? kAtomics : t.me;
  }
  (t.use == Use::kRead ? t.lds.read_line : t.lds.write_line)[dword] = t.line;
  return true;
}

// `N` whole dwords with nobody else involved. False: look closer.
template <int N, int L>
EMU_INLINE bool touch_alone(const Touch<L>& t, u32 dword) {
  LdsShadow& s = t.lds;
  u32 others = 0, readers[N];
  memcpy(readers, s.readers + dword, sizeof readers);
  u8 writers[N];
  memcpy(writers, s.writer + dword, sizeof writers);
#pragma unroll
  for (int n = 0; n < N; n++) others |= writers[n] != 0 && writers[n] != t.me;
  if (t.use == Use::kRead) {
    if (others) return false;
#pragma unroll
    for (int n = 0; n < N; n++) {
      s.readers[dword + n] = readers[n] | t.bit;
      s.read_line[dword + n] = t.line;
    }
    return true;
  }
#pragma unroll
  for (int n = 0; n < N; n++) others |= readers[n] & ~t.bit;
  if (others || t.use == Use::kAtomic) return false;
#pragma unroll
  for (int n = 0; n < N; n++) {
    s.writer[dword + n] = t.me;
    s.write_line[dword + n] = t.line;
  }
  return true;
}

// Calls f(lane, address) for lanes of the footprint until it gives false. Lanes with the address of a neighbour are
// left out.
template <class F>
EMU_INLINE bool for_lanes(const Footprint& f, u64 mask, F call) {
  const u64 all = mask;
  u32 previous = ~0u;
  for (; mask; mask &= mask - 1) {
    const int l = __builtin_ctzll(mask);
    const u32 address = f.address[l];
    if (address == previous || (l >= 16 && address == f.address[l - 16] && (all >> (l - 16) & 1))) continue;
    previous = address;
    if (!call(l, address)) return false;
  }
  return true;
}

// Calls f(lane, dword, bytes of it, first byte within the access) for every dword that those lanes touch, until it
// gives false.
template <class F>
EMU_INLINE bool for_dwords(const Footprint& f, u64 mask, F call) {
  return for_lanes(f, mask, [&](int l, u32 address) __attribute__((always_inline)) {
    for (u32 done = 0; done < f.bytes;) {
      const u32 at = address + done, n = 4 - at % 4 < f.bytes - done ? 4 - at % 4 : f.bytes - done;
      if (!call(l, at / 4, ((1u << n) - 1) << at % 4, done)) return false;
      done += n;
    }
    return true;
  });
}

// Where the instruction goes in LDS; false if that is out of bounds, which the instruction itself reports, or
// misaligned, which this does.
template <int L>
bool footprint_of(Wave<L>& w, const Insn& i, const MemoryOp& m, u32 n, Footprint& f) {
  f.mask = active(w);
  f.bytes = m.bytes;
  if (m.form == Form::kToLds) {
    f.bytes = dma_stride(m.bytes);
    for (u32 l = 0; l < L; l++) f.address[l] = dma_base(w, i) + l * f.bytes;
  } else if (m.form == Form::kAddTid) {
    for (u32 l = 0; l < L; l++) f.address[l] = (w.s[kM0] & 0xffffu) + static_cast<u32>(i.offset) + 4 * l;
  } else {
    const i32 unit = m.form == Form::kTwo ? m.bytes : m.form == Form::kTwoSt64 ? 64 * m.bytes : 1;
    lds_addresses(w, i.src[0], (n ? i.offset1 : i.offset) * unit, f.address);
  }
  u32 bits = 0, last = 0;
  for (u32 l = 0; l < L; l++) {
    const u32 a = f.mask >> l & 1 ? f.address[l] : 0;
    bits |= a;
    last = a > last ? a : last;
  }
  if (u64{last} + f.bytes > w.group->lds_bytes) return false;
  const u32 wanted = f.bytes == 12 ? 4 : f.bytes;
  if (bits % wanted == 0) return true;
  for (u64 mask = f.mask; mask; mask &= mask - 1) {
    const int l = __builtin_ctzll(mask);
    if (f.address[l] % wanted == 0) continue;
    trap(w, l, "misaligned LDS access: %u bytes at offset 0x%x", f.bytes, f.address[l]);
    return false;
  }
  return false;
}

// Bytes of the lane's data that LDS already holds: bit n for byte n.
template <int L>
u32 same_bytes(const Wave<L>& w, const Operand& data, int lane, u32 address, u32 first, u32 bytes, bool high) {
  u32 same = 0;
  for (u32 b = address % 4, n = first; b < 4; b++) {
    if (!(bytes >> b & 1)) continue;
    u32 word = data.kind == Kind::kVgpr ? w.v[data.reg + n / 4][lane] : read_s32(w, data, static_cast<int>(n / 4));
    if (high) word >>= 16;
    same |= u32{w.group->lds[address / 4 * 4 + b] == (word >> n % 4 * 8 & 0xff)} << b;
    n++;
  }
  return same;
}

// One lane's access, dword by dword.
template <int L>
bool touch_closely(const Touch<L>& t, const Footprint& f, int lane, const Operand* data, bool high) {
  const u64 mask = 1ull << lane;
  return for_dwords(f, mask, [&](int, u32 dword, u32 bytes, u32 first) __attribute__((always_inline)) {
    if (t.lds.direct[dword] == t.me) {
      trap(t.w, lane, "missing wait: LDS offset 0x%x is touched while this wave's load to LDS into it is in flight",
           f.address[lane]);
      return false;
    }
    if (bytes == 15 && touch_alone<1>(t, dword)) return true;
    const u32 same = data ? same_bytes(t.w, *data, lane, f.address[lane] + first, first, bytes, high) : 0;
    return touch_bytes(t, lane, dword, bytes, same);
  });
}

template <int N, int L>
EMU_INLINE bool touch_dwords(Touch<L>& t, const Footprint& f, const Operand* data, bool high) {
  const u8* shadow = group_check(*t.w.group).shadow.lds;
  const bool read = t.use != Use::kWrite;
  return for_lanes(f, f.mask, [&](int lane, u32 address) __attribute__((always_inline)) {
    if (read) {
      u64 words[2] = {};
      memcpy(words, shadow + address, N ? 4 * N : f.bytes);
      t.undefined |= words[0] | words[1];
    }
    return (N && touch_alone<N ? N : 1>(t, address / 4)) || touch_closely(t, f, lane, data, high);
  });
}

template <int L>
bool touch(Touch<L>& t, const Footprint& f, const Operand* data, bool high) {
  switch (f.bytes) {
    case 4:
      return touch_dwords<1>(t, f, data, high);
    case 8:
      return touch_dwords<2>(t, f, data, high);
    case 16:
      return touch_dwords<4>(t, f, data, high);
    default:
      return touch_dwords<0>(t, f, data, high);
  }
}

void define_bytes(Workgroup& shadow, const Footprint& f) {
  for (u64 mask = f.mask; mask; mask &= mask - 1) memset(shadow.lds + f.address[__builtin_ctzll(mask)], 0, f.bytes);
}

template <int L>
bool data_undefined(const Wave<L>& w, const Plan& p) {
  const WaveCheck<L>& c = wave_check(w);
  for (u32 n = p.memory.form == Form::kAddTid ? 0 : 1; n < p.reads; n++) {
    for (u32 r = p.read[n].first; r < p.read[n].first + u32{p.read[n].count}; r++) {
      if (c.state[r] & kUndefined) return true;
    }
  }
  return false;
}

// The undefined bits that go into LDS, or come out of it.
template <int L>
void follow_lds(Wave<L>& w, const Insn& i, const Plan& p, const Footprint* f, u32 count, bool read_undefined) {
  Workgroup& shadow = group_check(*w.group).shadow;
  if (p.memory.access == Access::kLoad)
    return read_undefined ? run_on_shadow(w, i, p, 1, i.line + 1) : define_results(w, i, p);
  if (p.memory.access == Access::kAtomic) {
    if (read_undefined) return trap(w, -1, "atomic on LDS bytes that were never written");
    return define_results(w, i, p);
  }
  if (data_undefined(w, p)) return run_on_shadow(w, i, p, p.memory.form == Form::kAddTid ? 0 : 1, i.line + 1);
  for (u32 n = 0; n < count; n++) define_bytes(shadow, f[n]);
}

}  // namespace

template <int L>
void stamp(Wave<L>& w, const Record& r) {
  LdsShadow& s = group_check(*w.group).lds;
  for (u32 n = 0; n < r.footprints; n++) {
    for_dwords(r.footprint[n], r.footprint[n].mask, [&](int, u32 dword, u32 bytes, u32) {
      LdsBytes& each = split(s, dword);
      for (u32 b = 0; b < 4; b++) {
        if (!(bytes >> b & 1)) continue;
        if (r.lds == LdsUse::kRead) {
          each.readers[b] |= 1u << w.id;
        } else {
          each.writer[b] = static_cast<u8>(w.id + 1);
        }
      }
      (r.lds == LdsUse::kRead ? s.read_line : s.write_line)[dword] = r.insn->line;
      return true;
    });
  }
}

template <int L>
void end_direct(Wave<L>& w, const Footprint& f) {
  LdsShadow& s = group_check(*w.group).lds;
  for_dwords(f, f.mask, [&](int, u32 dword, u32, u32) {
    if (s.direct[dword] == w.id + 1) s.direct[dword] = 0;
    return true;
  });
}

void clear_lds(Workgroup& group) {
  const LdsShadow& s = group_check(group).lds;
  const u32 dwords = (group.lds_bytes + 3) / 4;
  memset(s.readers, 0, dwords * sizeof *s.readers);
  memset(s.writer, 0, dwords);
}

LdsShadow make_lds_shadow(u32 bytes) {
  const size_t n = bytes / 4 + 8;
  return {static_cast<u32*>(calloc(n, 4)), static_cast<u8*>(calloc(n, 1)),
          static_cast<u8*>(calloc(n, 1)),  static_cast<u32*>(calloc(n, 4)),
          static_cast<u32*>(calloc(n, 4)), static_cast<LdsBytes*>(calloc(n, sizeof(LdsBytes)))};
}

void free_lds_shadow(const LdsShadow& s) {
  free(s.readers);
  free(s.writer);
  free(s.direct);
  free(s.read_line);
  free(s.write_line);
  free(s.bytes);
}

template <int L>
void check_lds_access(Wave<L>& w, const Insn& i, const Plan& p) {
  const MemoryOp& m = p.memory;
  const u32 count = m.form == Form::kTwo || m.form == Form::kTwoSt64 ? 2 : 1;
  Footprint f[2];
  if (!active(w)) return push_record(w, i, p, f, 0);
  const Use use = m.access == Access::kLoad ? Use::kRead : m.access == Access::kStore ? Use::kWrite : Use::kAtomic;
  Touch<L> t(w, use, i.line);
  for (u32 n = 0; n < count; n++) {
    if (!footprint_of(w, i, m, n, f[n])) return;
    const Operand* data = use == Use::kWrite ? &i.src[m.form == Form::kAddTid ? 0 : 1 + n] : nullptr;
    if (!touch(t, f[n], data, p.high_data)) return;
  }
  follow_lds(w, i, p, f, count, t.undefined != 0);
  push_record(w, i, p, f, count);
}

template <int L>
void check_direct_load(Wave<L>& w, const Insn& i, const Plan& p) {
  Footprint f;
  if (!active(w)) return push_record(w, i, p, &f, 0);
  if (!footprint_of(w, i, p.memory, 0, f)) return;
  Touch<L> t(w, Use::kWrite, i.line);
  if (!touch(t, f, nullptr, false)) return;
  GroupCheck& g = group_check(*w.group);
  for_dwords(f, f.mask, [&](int, u32 dword, u32, u32) {
    g.lds.direct[dword] = static_cast<u8>(w.id + 1);
    g.lds.writer[dword] |= kDirect;
    return true;
  });
  define_bytes(g.shadow, f);
  push_record(w, i, p, &f, 1);
}

#define INSTANTIATE(L)                                                   \
  template void stamp<L>(Wave<L>&, const Record&);                       \
  template void end_direct<L>(Wave<L>&, const Footprint&);               \
  template void check_lds_access<L>(Wave<L>&, const Insn&, const Plan&); \
  template void check_direct_load<L>(Wave<L>&, const Insn&, const Plan&);
INSTANTIATE(32)
INSTANTIATE(64)

}  // namespace emu::check
