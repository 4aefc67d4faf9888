// global_*, flat_* and scratch_* loads and stores, and gfx942's global_load_lds_*.
//
// Names come in two generations (global_load_dword, global_load_b32); both are rows. Cache-policy bits have no effect
// here.
#include "access.hpp"
#include "lds.hpp"
#include "memory_op.hpp"
#include "scratch.hpp"

namespace emu {
namespace {

// scratch_*: VGPR or nothing, plus SGPR or nothing, plus the offset.
template <int L>
void scratch_addresses(const Wave<L>& w, const Operand& vaddr, const Operand& saddr, i32 offset, u32* a) {
  alignas(64) u32 tmp[L];
  const u32* v = read_lanes(w, vaddr, 0, tmp);
  const u32 base = read_s32(w, saddr) + static_cast<u32>(offset);
  for (int l = 0; l < L; l++) a[l] = v[l] + base;
}

// The lanes of `mask` whose flat address lies in `aperture`.
template <int L>
u64 lanes_in(const u64* a, u64 mask, u32 aperture) {
  u64 in = 0;
  for (int l = 0; l < L; l++) in |= u64{a[l] >> 32 == aperture} << l;
  return in & mask;
}

template <int L>
void narrow(const u64* a, u32* low) {
  for (int l = 0; l < L; l++) low[l] = static_cast<u32>(a[l]);
}

// The lanes of a flat access that mean LDS or the private segment; what is left of `mask` is global.
template <int L>
u64 load_apertures(Wave<L>& w, const Insn& i, const u64* a, u64 mask, u32 bytes, Fill fill) {
  alignas(64) u32 raw[4][L];
  alignas(64) u32 low[L];
  if (const u64 lds = lanes_in<L>(a, mask, kSharedApertureHi)) {
    narrow<L>(a, low);
    if (!check_lds(w, low, lds, bytes, "load")) return 0;
    gather<L>(reinterpret_cast<u64>(w.group->lds), low, raw, bytes);
    write_loaded<L>(w, i.dst[0], raw, lds, bytes, fill);
    mask &= ~lds;
  }
  if (const u64 own = lanes_in<L>(a, mask, kPrivateApertureHi)) {
    narrow<L>(a, low);
    if (!check_scratch(w, low, own, bytes, "load")) return 0;
    read_scratch(w, low, own, bytes, raw);
    write_loaded<L>(w, i.dst[0], raw, own, bytes, fill);
    mask &= ~own;
  }
  return mask;
}

template <int L>
u64 store_apertures(Wave<L>& w, const u64* a, u64 mask, const u32* const* data, u32 bytes, bool high) {
  alignas(64) u32 low[L];
  if (const u64 lds = lanes_in<L>(a, mask, kSharedApertureHi)) {
    narrow<L>(a, low);
    if (!check_lds(w, low, lds, bytes, "store")) return 0;
    scatter<L>(reinterpret_cast<u64>(w.group->lds), low, data, lds, bytes, high);
    mask &= ~lds;
  }
  if (const u64 own = lanes_in<L>(a, mask, kPrivateApertureHi)) {
    narrow<L>(a, low);
    if (!check_scratch(w, low, own, bytes, "store")) return 0;
    write_scratch(w, low, own, bytes, data, high);
    mask &= ~own;
  }
  return mask;
}

// One body a space and wave size; the handlers below only fix the size, so that they cost little to compile.
template <int L, Space S>
__attribute__((noinline)) void load_any(Wave<L>& w, const Insn& i, u32 bytes, Fill fill) {
  alignas(64) u32 raw[4][L];
  u64 mask = active(w);
  if (!mask) return;
  if constexpr (S == Space::kScratch) {
    alignas(64) u32 low[L];
    scratch_addresses(w, i.src[0], i.src[1], i.offset, low);
    if (!check_scratch(w, low, mask, bytes, "load")) return;
    read_scratch(w, low, mask, bytes, raw);
  } else {
    alignas(64) u64 a[L];
    global_addresses(w, i.src[0], i.src[1], i.offset, a);
    if (S == Space::kFlat) mask = load_apertures(w, i, a, mask, bytes, fill);
    if (!mask || !check_global(w, a, mask, bytes, "load")) return;
    gather<L>(0, a, raw, bytes);
  }
  write_loaded<L>(w, i.dst[0], raw, mask, bytes, fill);
}

template <int L, Space S>
__attribute__((noinline)) void store_any(Wave<L>& w, const Insn& i, u32 bytes, bool high) {
  u64 mask = active(w);
  if (!mask) return;
  const StoreData<L> data(w, i.src[1], bytes);
  if constexpr (S == Space::kScratch) {
    alignas(64) u32 low[L];
    scratch_addresses(w, i.src[0], i.src[2], i.offset, low);
    if (check_scratch(w, low, mask, bytes, "store")) write_scratch(w, low, mask, bytes, data.dword, high);
  } else {
    alignas(64) u64 a[L];
    global_addresses(w, i.src[0], i.src[2], i.offset, a);
    if (S == Space::kFlat) mask = store_apertures(w, a, mask, data.dword, bytes, high);
    if (mask && check_global(w, a, mask, bytes, "store")) scatter<L>(0, a, data.dword, mask, bytes, high);
  }
}

template <int L, Space S, u32 Bytes, Fill F>
void load(Wave<L>& w, const Insn& i) {
  load_any<L, S>(w, i, Bytes, F);
}

template <int L, Space S, u32 Bytes, bool High>
void store(Wave<L>& w, const Insn& i) {
  store_any<L, S>(w, i, Bytes, High);
}

// LDS-DMA: lane l's bytes go to LDS at M0 + offset + l * Bytes, without passing through a register.
template <int L, u32 Bytes>
void load_to_lds(Wave<L>& w, const Insn& i) {
  alignas(64) u32 raw[4][L];
  alignas(64) u64 a[L];
  const u64 mask = active(w);
  if (!mask) return;
  global_addresses(w, i.src[0], i.src[1], i.offset, a);
  if (!check_global(w, a, mask, Bytes, "load to LDS")) return;
  gather<L>(0, a, raw, Bytes);
  write_dma<L>(w, i, raw, mask, Bytes);
}

template <Space S, u32 Bytes, Fill F = Fill::kZero>
constexpr OpRow load_row(const char* name, const char* sig) {
  return row(name, sig, &load<32, S, Bytes, F>, &load<64, S, Bytes, F>, memory_flags(S, Access::kLoad, Bytes));
}

template <Space S, u32 Bytes, bool High = false>
constexpr OpRow store_row(const char* name, const char* sig) {
  return row(name, sig, &store<32, S, Bytes, High>, &store<64, S, Bytes, High>, memory_flags(S, Access::kStore, Bytes));
}

// `tail`: the operand after address and data, if there is one.
#define SPACE_ROWS(prefix, S, tail)                                                                                   \
  load_row<S, 4>(prefix "load_dword", "b32=b64" tail), load_row<S, 4>(prefix "load_b32", "b32=b64" tail),             \
      load_row<S, 8>(prefix "load_dwordx2", "b64=b64" tail), load_row<S, 8>(prefix "load_b64", "b64=b64" tail),       \
      load_row<S, 12>(prefix "load_dwordx3", "b96=b64" tail), load_row<S, 12>(prefix "load_b96", "b96=b64" tail),     \
      load_row<S, 16>(prefix "load_dwordx4", "b128=b64" tail), load_row<S, 16>(prefix "load_b128", "b128=b64" tail),  \
      load_row<S, 1>(prefix "load_ubyte", "b32=b64" tail), load_row<S, 1>(prefix "load_u8", "b32=b64" tail),          \
      load_row<S, 1, Fill::kSign>(prefix "load_sbyte", "b32=b64" tail),                                               \
      load_row<S, 1, Fill::kSign>(prefix "load_i8", "b32=b64" tail),                                                  \
      load_row<S, 2>(prefix "load_ushort", "b32=b64" tail), load_row<S, 2>(prefix "load_u16", "b32=b64" tail),        \
      load_row<S, 2, Fill::kSign>(prefix "load_sshort", "b32=b64" tail),                                              \
      load_row<S, 2, Fill::kSign>(prefix "load_i16", "b32=b64" tail),                                                 \
      load_row<S, 1, Fill::kLowZero>(prefix "load_ubyte_d16", "b32=b64" tail),                                        \
      load_row<S, 1, Fill::kLowZero>(prefix "load_d16_u8", "b32=b64" tail),                                           \
      load_row<S, 1, Fill::kHighZero>(prefix "load_ubyte_d16_hi", "b32=b64" tail),                                    \
      load_row<S, 1, Fill::kHighZero>(prefix "load_d16_hi_u8", "b32=b64" tail),                                       \
      load_row<S, 1, Fill::kLowSign>(prefix "load_sbyte_d16", "b32=b64" tail),                                        \
      load_row<S, 1, Fill::kLowSign>(prefix "load_d16_i8", "b32=b64" tail),                                           \
      load_row<S, 1, Fill::kHighSign>(prefix "load_sbyte_d16_hi", "b32=b64" tail),                                    \
      load_row<S, 1, Fill::kHighSign>(prefix "load_d16_hi_i8", "b32=b64" tail),                                       \
      load_row<S, 2, Fill::kLowZero>(prefix "load_short_d16", "b32=b64" tail),                                        \
      load_row<S, 2, Fill::kLowZero>(prefix "load_d16_b16", "b32=b64" tail),                                          \
      load_row<S, 2, Fill::kHighZero>(prefix "load_short_d16_hi", "b32=b64" tail),                                    \
      load_row<S, 2, Fill::kHighZero>(prefix "load_d16_hi_b16", "b32=b64" tail),                                      \
      store_row<S, 4>(prefix "store_dword", "=b64,b32" tail), store_row<S, 4>(prefix "store_b32", "=b64,b32" tail),   \
      store_row<S, 8>(prefix "store_dwordx2", "=b64,b64" tail), store_row<S, 8>(prefix "store_b64", "=b64,b64" tail), \
      store_row<S, 12>(prefix "store_dwordx3", "=b64,b96" tail),                                                      \
      store_row<S, 12>(prefix "store_b96", "=b64,b96" tail),                                                          \
      store_row<S, 16>(prefix "store_dwordx4", "=b64,b128" tail),                                                     \
      store_row<S, 16>(prefix "store_b128", "=b64,b128" tail), store_row<S, 1>(prefix "store_byte", "=b64,b32" tail), \
      store_row<S, 1>(prefix "store_b8", "=b64,b32" tail),                                                            \
      store_row<S, 1, true>(prefix "store_byte_d16_hi", "=b64,b32" tail),                                             \
      store_row<S, 1, true>(prefix "store_d16_hi_b8", "=b64,b32" tail),                                               \
      store_row<S, 2>(prefix "store_short", "=b64,b32" tail), store_row<S, 2>(prefix "store_b16", "=b64,b32" tail),   \
      store_row<S, 2, true>(prefix "store_short_d16_hi", "=b64,b32" tail),                                            \
      store_row<S, 2, true>(prefix "store_d16_hi_b16", "=b64,b32" tail)

template <u32 Bytes>
constexpr OpRow to_lds_row(const char* name) {
  return row(name, "=b64,b64", nullptr, &load_to_lds<64, Bytes>,
             memory_flags(Space::kGlobal, Access::kLoad, Bytes, Form::kToLds));
}

const OpRow kRows[] = {
    SPACE_ROWS("global_", Space::kGlobal, ",b64"),   SPACE_ROWS("flat_", Space::kFlat, ""),
    SPACE_ROWS("scratch_", Space::kScratch, ",b32"), to_lds_row<1>("global_load_lds_ubyte"),
    to_lds_row<2>("global_load_lds_ushort"),         to_lds_row<4>("global_load_lds_dword"),
    to_lds_row<12>("global_load_lds_dwordx3"),       to_lds_row<16>("global_load_lds_dwordx4"),
};

}  // namespace

OpTable vmem_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
