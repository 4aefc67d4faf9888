// LDS loads and stores: ds_read/ds_load, ds_write/ds_store, their two-address, half-register and add-TID forms.
//
// Every access is checked against the workgroup's LDS size. Alignment is the checkers' concern.
#include "lds.hpp"
#include "memory_op.hpp"

namespace emu {
namespace {

template <int L>
u64 lds_base(const Wave<L>& w) {
  return reinterpret_cast<u64>(w.group->lds);
}

template <int L>
__attribute__((noinline)) void load_any(Wave<L>& w, const Insn& i, u32 bytes, Fill fill) {
  alignas(64) u32 a[L], raw[4][L];
  const u64 mask = active(w);
  if (!mask) return;
  lds_addresses(w, i.src[0], i.offset, a);
  if (!check_lds(w, a, mask, bytes, "load")) return;
  gather<L>(lds_base(w), a, raw, bytes);
  write_loaded<L>(w, i.dst[0], raw, mask, bytes, fill);
}

template <int L>
__attribute__((noinline)) void store_any(Wave<L>& w, const Insn& i, u32 bytes, bool high) {
  alignas(64) u32 a[L];
  const u64 mask = active(w);
  if (!mask) return;
  lds_addresses(w, i.src[0], i.offset, a);
  if (!check_lds(w, a, mask, bytes, "store")) return;
  const StoreData<L> data(w, i.src[1], bytes);
  scatter<L>(lds_base(w), a, data.dword, mask, bytes, high);
}

// Two addresses, one base: the offsets count `unit` bytes.
template <int L>
__attribute__((noinline)) void load_two(Wave<L>& w, const Insn& i, u32 bytes, u32 unit) {
  alignas(64) u32 a[L], raw[4][L];
  const u64 mask = active(w);
  if (!mask) return;
  for (u32 n = 0; n < 2; n++) {
    lds_addresses(w, i.src[0], (n ? i.offset1 : i.offset) * static_cast<i32>(unit), a);
    if (!check_lds(w, a, mask, bytes, "load")) return;
    gather<L>(lds_base(w), a, raw + n * bytes / 4, bytes);
  }
  write_loaded<L>(w, i.dst[0], raw, mask, 2 * bytes);
}

template <int L>
__attribute__((noinline)) void store_two(Wave<L>& w, const Insn& i, u32 bytes, u32 unit) {
  alignas(64) u32 a[L];
  const u64 mask = active(w);
  if (!mask) return;
  for (int n = 0; n < 2; n++) {
    lds_addresses(w, i.src[0], (n ? i.offset1 : i.offset) * static_cast<i32>(unit), a);
    if (!check_lds(w, a, mask, bytes, "store")) return;
    const StoreData<L> data(w, i.src[1 + n], bytes);
    scatter<L>(lds_base(w), a, data.dword, mask, bytes);
  }
}

template <int L, u32 Bytes, Fill F>
void load(Wave<L>& w, const Insn& i) {
  load_any(w, i, Bytes, F);
}
template <int L, u32 Bytes, bool High>
void store(Wave<L>& w, const Insn& i) {
  store_any(w, i, Bytes, High);
}
template <int L, u32 Bytes, u32 Stride>
void load2(Wave<L>& w, const Insn& i) {
  load_two(w, i, Bytes, Bytes * Stride);
}
template <int L, u32 Bytes, u32 Stride>
void store2(Wave<L>& w, const Insn& i) {
  store_two(w, i, Bytes, Bytes * Stride);
}

// The address is M0 + offset + 4 * lane; there is no address operand.
template <int L>
void addtid_addresses(const Wave<L>& w, const Insn& i, u32* a) {
  const u32 base = (w.s[kM0] & 0xffffu) + static_cast<u32>(i.offset);
  for (int l = 0; l < L; l++) a[l] = base + 4 * static_cast<u32>(l);
}

template <int L>
void load_addtid(Wave<L>& w, const Insn& i) {
  alignas(64) u32 a[L], raw[4][L];
  const u64 mask = active(w);
  if (!mask) return;
  addtid_addresses(w, i, a);
  if (!check_lds(w, a, mask, 4, "load")) return;
  gather<L>(lds_base(w), a, raw, 4);
  write_loaded<L>(w, i.dst[0], raw, mask, 4);
}

template <int L>
void store_addtid(Wave<L>& w, const Insn& i) {
  alignas(64) u32 a[L];
  const u64 mask = active(w);
  if (!mask) return;
  addtid_addresses(w, i, a);
  if (!check_lds(w, a, mask, 4, "store")) return;
  const StoreData<L> data(w, i.src[0], 4);
  scatter<L>(lds_base(w), a, data.dword, mask, 4);
}

template <u32 Bytes, Fill F = Fill::kZero>
constexpr OpRow load_row(const char* name, const char* sig = "b32=b32") {
  return row(name, sig, &load<32, Bytes, F>, &load<64, Bytes, F>, memory_flags(Space::kLds, Access::kLoad, Bytes));
}
template <u32 Bytes, bool High = false>
constexpr OpRow store_row(const char* name, const char* sig = "=b32,b32") {
  return row(name, sig, &store<32, Bytes, High>, &store<64, Bytes, High>,
             memory_flags(Space::kLds, Access::kStore, Bytes));
}
constexpr Form two(u32 stride) { return stride == 64 ? Form::kTwoSt64 : Form::kTwo; }

template <u32 Bytes, u32 Stride>
constexpr OpRow load2_row(const char* name, const char* sig) {
  return row(name, sig, &load2<32, Bytes, Stride>, &load2<64, Bytes, Stride>,
             memory_flags(Space::kLds, Access::kLoad, Bytes, two(Stride)));
}
template <u32 Bytes, u32 Stride>
constexpr OpRow store2_row(const char* name, const char* sig) {
  return row(name, sig, &store2<32, Bytes, Stride>, &store2<64, Bytes, Stride>,
             memory_flags(Space::kLds, Access::kStore, Bytes, two(Stride)));
}

const OpRow kRows[] = {
    load_row<4>("ds_read_b32"),
    load_row<4>("ds_load_b32"),
    load_row<8>("ds_read_b64", "b64=b32"),
    load_row<8>("ds_load_b64", "b64=b32"),
    load_row<12>("ds_read_b96", "b96=b32"),
    load_row<12>("ds_load_b96", "b96=b32"),
    load_row<16>("ds_read_b128", "b128=b32"),
    load_row<16>("ds_load_b128", "b128=b32"),
    load_row<1>("ds_read_u8"),
    load_row<1>("ds_load_u8"),
    load_row<1, Fill::kSign>("ds_read_i8"),
    load_row<1, Fill::kSign>("ds_load_i8"),
    load_row<2>("ds_read_u16"),
    load_row<2>("ds_load_u16"),
    load_row<2, Fill::kSign>("ds_read_i16"),
    load_row<2, Fill::kSign>("ds_load_i16"),
    load_row<1, Fill::kLowZero>("ds_read_u8_d16"),
    load_row<1, Fill::kLowZero>("ds_load_u8_d16"),
    load_row<1, Fill::kHighZero>("ds_read_u8_d16_hi"),
    load_row<1, Fill::kHighZero>("ds_load_u8_d16_hi"),
    load_row<1, Fill::kLowSign>("ds_read_i8_d16"),
    load_row<1, Fill::kLowSign>("ds_load_i8_d16"),
    load_row<1, Fill::kHighSign>("ds_read_i8_d16_hi"),
    load_row<1, Fill::kHighSign>("ds_load_i8_d16_hi"),
    load_row<2, Fill::kLowZero>("ds_read_u16_d16"),
    load_row<2, Fill::kLowZero>("ds_load_u16_d16"),
    load_row<2, Fill::kHighZero>("ds_read_u16_d16_hi"),
    load_row<2, Fill::kHighZero>("ds_load_u16_d16_hi"),
    store_row<4>("ds_write_b32"),
    store_row<4>("ds_store_b32"),
    store_row<8>("ds_write_b64", "=b32,b64"),
    store_row<8>("ds_store_b64", "=b32,b64"),
    store_row<12>("ds_write_b96", "=b32,b96"),
    store_row<12>("ds_store_b96", "=b32,b96"),
    store_row<16>("ds_write_b128", "=b32,b128"),
    store_row<16>("ds_store_b128", "=b32,b128"),
    store_row<1>("ds_write_b8"),
    store_row<1>("ds_store_b8"),
    store_row<1, true>("ds_write_b8_d16_hi"),
    store_row<1, true>("ds_store_b8_d16_hi"),
    store_row<2>("ds_write_b16"),
    store_row<2>("ds_store_b16"),
    store_row<2, true>("ds_write_b16_d16_hi"),
    store_row<2, true>("ds_store_b16_d16_hi"),
    load2_row<4, 1>("ds_read2_b32", "b64=b32"),
    load2_row<4, 1>("ds_load_2addr_b32", "b64=b32"),
    load2_row<8, 1>("ds_read2_b64", "b128=b32"),
    load2_row<8, 1>("ds_load_2addr_b64", "b128=b32"),
    load2_row<4, 64>("ds_read2st64_b32", "b64=b32"),
    load2_row<4, 64>("ds_load_2addr_stride64_b32", "b64=b32"),
    load2_row<8, 64>("ds_read2st64_b64", "b128=b32"),
    load2_row<8, 64>("ds_load_2addr_stride64_b64", "b128=b32"),
    store2_row<4, 1>("ds_write2_b32", "=b32,b32,b32"),
    store2_row<4, 1>("ds_store_2addr_b32", "=b32,b32,b32"),
    store2_row<8, 1>("ds_write2_b64", "=b32,b64,b64"),
    store2_row<8, 1>("ds_store_2addr_b64", "=b32,b64,b64"),
    store2_row<4, 64>("ds_write2st64_b32", "=b32,b32,b32"),
    store2_row<4, 64>("ds_store_2addr_stride64_b32", "=b32,b32,b32"),
    store2_row<8, 64>("ds_write2st64_b64", "=b32,b64,b64"),
    store2_row<8, 64>("ds_store_2addr_stride64_b64", "=b32,b64,b64"),
    row("ds_read_addtid_b32", "b32=", &load_addtid<32>, &load_addtid<64>,
        memory_flags(Space::kLds, Access::kLoad, 4, Form::kAddTid)),
    row("ds_load_addtid_b32", "b32=", &load_addtid<32>, &load_addtid<64>,
        memory_flags(Space::kLds, Access::kLoad, 4, Form::kAddTid)),
    row("ds_write_addtid_b32", "=b32", &store_addtid<32>, &store_addtid<64>,
        memory_flags(Space::kLds, Access::kStore, 4, Form::kAddTid)),
    row("ds_store_addtid_b32", "=b32", &store_addtid<32>, &store_addtid<64>,
        memory_flags(Space::kLds, Access::kStore, 4, Form::kAddTid)),
};

}  // namespace

OpTable ds_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
