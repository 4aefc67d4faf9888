// buffer_load_* and buffer_store_* (MUBUF, gfx12's VBUFFER), and buffer_load_* with `lds` (direct to LDS).
//
// Out-of-range loads give 0 and out-of-range stores are dropped, dword by dword, as the resource's num_records says.
// Swizzled resources are refused, except the one through which gfx90a reaches its private segment.
#include "buffer.hpp"

#include "lds.hpp"
#include "memory_op.hpp"
#include "scratch.hpp"

namespace emu {
namespace {

// Bytes of [offset, offset + bytes) below `end`, in whole dwords.
u8 bytes_below(u64 offset, u32 bytes, u64 end) {
  if (offset + bytes <= end) return static_cast<u8>(bytes);
  if (bytes < 4 || offset >= end) return 0;
  return static_cast<u8>((end - offset) & ~u64{3});
}

// Lanes of `mask` whose bytes are not all in range, as zeros and single dwords.
template <int L>
void load_partial(const u64* a, const u8* in_range, u64 mask, u32 bytes, u32 (*raw)[L]) {
  for (; mask; mask &= mask - 1) {
    const int l = __builtin_ctzll(mask);
    for (u32 d = 0; d < dwords_of(bytes); d++) raw[d][l] = 0;
    for (u32 d = 0; d < in_range[l] / 4u; d++) memcpy(&raw[d][l], reinterpret_cast<const void*>(a[l] + 4 * d), 4);
  }
}

// gfx90a's resource of the private segment, as init_wave makes it. Its offsets count bytes of a work-item, except
// soffset, which counts those of a wave.
template <int L>
bool is_scratch(const Wave<L>& w, const Operand& rsrc) {
  return read_s32(w, rsrc, 1) == kPrivateApertureHi;
}

template <int L>
void scratch_offsets(const Wave<L>& w, const Insn& i, const Operand& vaddr, const Operand& soffset, u32* a) {
  alignas(64) u32 tmp[L];
  const u32* v = read_lanes(w, vaddr, 0, tmp);
  const u32 base = read_s32(w, soffset) / L + static_cast<u32>(i.offset);
  for (int l = 0; l < L; l++) a[l] = base + (i.flags & kOffen ? v[l] : 0);
}

template <int L>
bool gather_buffer(Wave<L>& w, const Insn& i, u64 mask, u32 bytes, u32 (*raw)[L]) {
  alignas(64) u64 a[L], filled[L];
  alignas(64) u8 in_range[L];
  u64 whole;
  if (is_scratch(w, i.src[1])) {
    alignas(64) u32 offsets[L];
    scratch_offsets(w, i, i.src[0], i.src[2], offsets);
    if (!check_scratch(w, offsets, mask, bytes, "load")) return false;
    read_scratch(w, offsets, mask, bytes, raw);
    return true;
  }
  if (!buffer_addresses(w, i, i.src[0], i.src[1], i.src[2], bytes, a, in_range)) return false;
  if (!check_buffer(w, a, in_range, mask, bytes, "load", &whole, filled)) return false;
  if (whole) gather<L>(0, filled, raw, bytes);
  if (mask & ~whole) load_partial<L>(a, in_range, mask & ~whole, bytes, raw);
  return true;
}

template <int L>
__attribute__((noinline)) void load_any(Wave<L>& w, const Insn& i, u32 bytes, Fill fill) {
  alignas(64) u32 raw[4][L];
  const u64 mask = active(w);
  if (mask && gather_buffer(w, i, mask, bytes, raw)) write_loaded<L>(w, i.dst[0], raw, mask, bytes, fill);
}

template <int L>
__attribute__((noinline)) void load_to_lds(Wave<L>& w, const Insn& i, u32 bytes) {
  alignas(64) u32 raw[4][L];
  const u64 mask = active(w);
  if (mask && gather_buffer(w, i, mask, bytes, raw)) write_dma<L>(w, i, raw, mask, bytes);
}

template <int L>
__attribute__((noinline)) void store_any(Wave<L>& w, const Insn& i, u32 bytes, bool high) {
  alignas(64) u64 a[L], filled[L];
  alignas(64) u8 in_range[L];
  u64 whole;
  const u64 mask = active(w);
  if (!mask) return;
  const StoreData<L> data(w, i.src[0], bytes);
  if (is_scratch(w, i.src[2])) {
    alignas(64) u32 offsets[L];
    scratch_offsets(w, i, i.src[1], i.src[3], offsets);
    if (check_scratch(w, offsets, mask, bytes, "store")) write_scratch(w, offsets, mask, bytes, data.dword, high);
    return;
  }
  if (!buffer_addresses(w, i, i.src[1], i.src[2], i.src[3], bytes, a, in_range)) return;
  if (!check_buffer(w, a, in_range, mask, bytes, "store", &whole, filled)) return;
  scatter<L>(0, a, data.dword, whole, bytes, high);
  for (u64 m = mask & ~whole; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    for (u32 d = 0; d < in_range[l] / 4u; d++) memcpy(reinterpret_cast<void*>(a[l] + 4 * d), &data.dword[d][l], 4);
  }
}

template <int L, u32 Bytes, Fill F>
void load(Wave<L>& w, const Insn& i) {
  load_any(w, i, Bytes, F);
}
template <int L, u32 Bytes>
void load_lds(Wave<L>& w, const Insn& i) {
  load_to_lds(w, i, Bytes);
}
template <int L, u32 Bytes, bool High>
void store(Wave<L>& w, const Insn& i) {
  store_any(w, i, Bytes, High);
}
template <int L>
void nothing(Wave<L>&, const Insn&) {}

template <u32 Bytes, Fill F = Fill::kZero>
constexpr OpRow load_row(const char* name, const char* sig = "b32=b64,b128,b32") {
  return row(name, sig, &load<32, Bytes, F>, &load<64, Bytes, F>, memory_flags(Space::kBuffer, Access::kLoad, Bytes));
}
template <u32 Bytes>
constexpr OpRow lds_row(const char* name) {
  return row(name, "=b64,b128,b32", nullptr, &load_lds<64, Bytes>,
             memory_flags(Space::kBuffer, Access::kLoad, Bytes, Form::kToLds));
}
template <u32 Bytes, bool High = false>
constexpr OpRow store_row(const char* name, const char* sig = "=b32,b64,b128,b32") {
  return row(name, sig, &store<32, Bytes, High>, &store<64, Bytes, High>,
             memory_flags(Space::kBuffer, Access::kStore, Bytes));
}
constexpr OpRow idle_row(const char* name) { return row(name, "=", &nothing<32>, &nothing<64>); }

const OpRow kRows[] = {
    load_row<4>("buffer_load_dword"),
    load_row<4>("buffer_load_b32"),
    load_row<8>("buffer_load_dwordx2", "b64=b64,b128,b32"),
    load_row<8>("buffer_load_b64", "b64=b64,b128,b32"),
    load_row<12>("buffer_load_dwordx3", "b96=b64,b128,b32"),
    load_row<12>("buffer_load_b96", "b96=b64,b128,b32"),
    load_row<16>("buffer_load_dwordx4", "b128=b64,b128,b32"),
    load_row<16>("buffer_load_b128", "b128=b64,b128,b32"),
    load_row<1>("buffer_load_ubyte"),
    load_row<1>("buffer_load_u8"),
    load_row<1, Fill::kSign>("buffer_load_sbyte"),
    load_row<1, Fill::kSign>("buffer_load_i8"),
    load_row<2>("buffer_load_ushort"),
    load_row<2>("buffer_load_u16"),
    load_row<2, Fill::kSign>("buffer_load_sshort"),
    load_row<2, Fill::kSign>("buffer_load_i16"),
    load_row<1, Fill::kLowZero>("buffer_load_ubyte_d16"),
    load_row<1, Fill::kLowZero>("buffer_load_d16_u8"),
    load_row<1, Fill::kHighZero>("buffer_load_ubyte_d16_hi"),
    load_row<1, Fill::kHighZero>("buffer_load_d16_hi_u8"),
    load_row<1, Fill::kLowSign>("buffer_load_sbyte_d16"),
    load_row<1, Fill::kLowSign>("buffer_load_d16_i8"),
    load_row<1, Fill::kHighSign>("buffer_load_sbyte_d16_hi"),
    load_row<1, Fill::kHighSign>("buffer_load_d16_hi_i8"),
    load_row<2, Fill::kLowZero>("buffer_load_short_d16"),
    load_row<2, Fill::kLowZero>("buffer_load_d16_b16"),
    load_row<2, Fill::kHighZero>("buffer_load_short_d16_hi"),
    load_row<2, Fill::kHighZero>("buffer_load_d16_hi_b16"),
    lds_row<1>("buffer_load_ubyte"),
    lds_row<2>("buffer_load_ushort"),
    lds_row<4>("buffer_load_dword"),
    lds_row<12>("buffer_load_dwordx3"),
    lds_row<16>("buffer_load_dwordx4"),
    store_row<4>("buffer_store_dword"),
    store_row<4>("buffer_store_b32"),
    store_row<8>("buffer_store_dwordx2", "=b64,b64,b128,b32"),
    store_row<8>("buffer_store_b64", "=b64,b64,b128,b32"),
    store_row<12>("buffer_store_dwordx3", "=b96,b64,b128,b32"),
    store_row<12>("buffer_store_b96", "=b96,b64,b128,b32"),
    store_row<16>("buffer_store_dwordx4", "=b128,b64,b128,b32"),
    store_row<16>("buffer_store_b128", "=b128,b64,b128,b32"),
    store_row<1>("buffer_store_byte"),
    store_row<1>("buffer_store_b8"),
    store_row<1, true>("buffer_store_byte_d16_hi"),
    store_row<1, true>("buffer_store_d16_hi_b8"),
    store_row<2>("buffer_store_short"),
    store_row<2>("buffer_store_b16"),
    store_row<2, true>("buffer_store_short_d16_hi"),
    store_row<2, true>("buffer_store_d16_hi_b16"),
    idle_row("buffer_wbl2"),
    idle_row("buffer_inv"),
    idle_row("buffer_invl2"),
    idle_row("buffer_wbinvl1"),
    idle_row("buffer_wbinvl1_vol"),
    idle_row("buffer_gl0_inv"),
    idle_row("buffer_gl1_inv"),
    idle_row("global_inv"),
    idle_row("global_wb"),
    idle_row("global_wbinv"),
};

}  // namespace

template <int L>
bool buffer_addresses(Wave<L>& w, const Insn& i, const Operand& vaddr, const Operand& rsrc, const Operand& soffset,
                      u32 bytes, u64* a, u8* in_range) {
  const Resource r = read_resource(w, rsrc);
  if (r.swizzled) {
    trap(w, -1, "buffer resource with swizzling or add-TID (words 1 and 3: 0x%08x, 0x%08x) is not emulated",
         read_s32(w, rsrc, 1), r.word3);
    return false;
  }
  alignas(64) u32 zeros[L], scratch[L];
  for (int l = 0; l < L; l++) zeros[l] = 0;
  const bool idxen = i.flags & kIdxen, offen = i.flags & kOffen;
  const u32* index = idxen ? read_lanes(w, vaddr, 0, scratch) : zeros;
  const u32* offset = offen ? read_lanes(w, vaddr, idxen ? 1 : 0, scratch) : zeros;
  const u64 scalar = read_s32(w, soffset), immediate = static_cast<u32>(i.offset);
  // gfx11, gfx12: OOB_SELECT. 0 structured, 1 index only, 2 only an empty buffer, 3 raw. gfx9 without swizzling: raw.
  const u32 select = is_cdna(w.arch) ? 3 : r.word3 >> 28 & 3;
  for (int l = 0; l < L; l++) {
    const u64 within = offset[l] + immediate;
    const u64 from_base = u64{index[l]} * r.stride + within + scalar;
    a[l] = r.base + from_base;
    if (select == 3) {
      in_range[l] = bytes_below(from_base, bytes, r.records);
    } else {
      const bool out = select == 2 ? r.records == 0 : index[l] >= r.records;
      in_range[l] = out ? 0 : select == 0 && r.stride ? bytes_below(within, bytes, r.stride) : static_cast<u8>(bytes);
    }
  }
  return true;
}

template <int L>
bool check_buffer(Wave<L>& w, const u64* a, const u8* in_range, u64 mask, u32 bytes, const char* verb, u64* whole,
                  u64* filled) {
  *whole = 0;
  for (int l = 0; l < L; l++) *whole |= u64{in_range[l] == bytes} << l;
  *whole &= mask;
  for (u64 m = mask & ~*whole; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    if (in_range[l] == 0 || find_region(*w.launch, w.at->line, a[l], a[l] + in_range[l])) continue;
    trap_unallocated(w, l, verb, a[l], in_range[l]);
    return false;
  }
  memcpy(filled, a, L * sizeof *a);
  return *whole == 0 || check_global(w, filled, *whole, bytes, verb);
}

#define INSTANTIATE(L)                                                                                                \
  template bool buffer_addresses<L>(Wave<L>&, const Insn&, const Operand&, const Operand&, const Operand&, u32, u64*, \
                                    u8*);                                                                             \
  template bool check_buffer<L>(Wave<L>&, const u64*, const u8*, u64, u32, const char*, u64*, u64*);
INSTANTIATE(32)
INSTANTIATE(64)

OpTable buffer_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
