// The atomic instructions of every address space: global_atomic_*, flat_atomic_*, buffer_atomic_* and ds_*.
//
// An atomic returns the old value if it has a destination (buffer: if glc, sc0 or TH_ATOMIC_RETURN is set, into its
// data register).
#include "atomics.hpp"
#include "buffer.hpp"
#include "memory_op.hpp"

namespace emu {
namespace {

template <int L>
void write_old(Wave<L>& w, const Operand& o, const u32 (*old)[L], u32 width, u64 mask) {
  for (u32 d = 0; d < width / 4; d++) write_lanes(w, o, static_cast<int>(d), old[d], mask);
}

// Data of a compare-and-swap outside LDS: the new value, then the value compared with.
template <int L>
struct RmwData {
  StoreData<L> all;
  const u32* const* compare;

  RmwData(const Wave<L>& w, const Operand& o, Rmw op, u32 width)
      : all(w, o, op == Rmw::kCompareSwap ? 2 * width : width), compare(all.dword + width / 4) {}
};

template <int L, bool Flat>
__attribute__((noinline)) void global_any(Wave<L>& w, const Insn& i, Rmw op, u32 width) {
  alignas(64) u64 a[L];
  alignas(64) u32 old[2][L];
  const u64 mask = active(w);
  if (!mask) return;
  global_addresses(w, i.src[0], i.src[2], i.offset, a);
  u64 lds = 0;
  if (Flat) {
    for (int l = 0; l < L; l++) lds |= u64{a[l] >> 32 == kSharedApertureHi} << l;
    lds &= mask;
  }
  if (lds) {
    alignas(64) u32 low[L];
    for (int l = 0; l < L; l++) low[l] = static_cast<u32>(a[l]);
    if (!check_lds(w, low, lds, width, "atomic")) return;
    for (int l = 0; l < L; l++) a[l] = lds >> l & 1 ? reinterpret_cast<u64>(w.group->lds) + low[l] : a[l];
  }
  if (mask & ~lds) {
    alignas(64) u64 global[L];
    memcpy(global, a, sizeof a);
    if (!check_global(w, global, mask & ~lds, width, "atomic")) return;
  }
  const RmwData<L> data(w, i.src[1], op, width);
  if (rmw_lanes<L>(w, op, width, a, mask, data.all.dword, data.compare, old) && i.ndst)
    write_old<L>(w, i.dst[0], old, width, mask);
}

template <int L>
__attribute__((noinline)) void buffer_any(Wave<L>& w, const Insn& i, Rmw op, u32 width) {
  alignas(64) u64 a[L], filled[L];
  alignas(64) u8 in_range[L];
  alignas(64) u32 old[2][L] = {};
  u64 whole;
  const u64 mask = active(w);
  if (!mask || !buffer_addresses(w, i, i.src[1], i.src[2], i.src[3], width, a, in_range)) return;
  if (!check_buffer(w, a, in_range, mask, width, "atomic", &whole, filled)) return;
  const RmwData<L> data(w, i.src[0], op, width);
  if (!rmw_lanes<L>(w, op, width, a, whole, data.all.dword, data.compare, old)) return;
  if (i.flags & kGlc) write_old<L>(w, i.src[0], old, width, mask);
}

// gfx9's ds_cmpst has the value compared with first, gfx11's ds_cmpstore the new value.
template <int L>
__attribute__((noinline)) void ds_any(Wave<L>& w, const Insn& i, Rmw op, u32 width, bool compare_first) {
  alignas(64) u32 low[L], old[2][L];
  alignas(64) u64 a[L];
  const u64 mask = active(w);
  if (!mask) return;
  lds_addresses(w, i.src[0], i.offset, low);
  if (!check_lds(w, low, mask, width, "atomic")) return;
  for (int l = 0; l < L; l++) a[l] = reinterpret_cast<u64>(w.group->lds) + low[l];
  const bool compares = op == Rmw::kCompareSwap;
  const StoreData<L> data(w, i.src[compares && compare_first ? 2 : 1], width);
  const StoreData<L> compare(w, i.src[compares && !compare_first ? 2 : 1], width);
  if (rmw_lanes<L>(w, op, width, a, mask, data.dword, compare.dword, old) && i.ndst)
    write_old<L>(w, i.dst[0], old, width, mask);
}

template <int L, bool Flat, Rmw Op, u32 Width>
void global_op(Wave<L>& w, const Insn& i) {
  global_any<L, Flat>(w, i, Op, Width);
}
template <int L, Rmw Op, u32 Width>
void buffer_op(Wave<L>& w, const Insn& i) {
  buffer_any(w, i, Op, Width);
}
template <int L, Rmw Op, u32 Width, bool CompareFirst>
void ds_op(Wave<L>& w, const Insn& i) {
  ds_any(w, i, Op, Width, CompareFirst);
}

template <bool Flat, Rmw Op, u32 Width>
constexpr OpRow global_row(const char* name, const char* sig) {
  constexpr Space kSpace = Flat ? Space::kFlat : Space::kGlobal;
  return row(name, sig, &global_op<32, Flat, Op, Width>, &global_op<64, Flat, Op, Width>,
             memory_flags(kSpace, Access::kAtomic, Width));
}
template <Rmw Op, u32 Width>
constexpr OpRow buffer_row(const char* name, const char* sig) {
  return row(name, sig, &buffer_op<32, Op, Width>, &buffer_op<64, Op, Width>,
             memory_flags(Space::kBuffer, Access::kAtomic, Width));
}
template <Rmw Op, u32 Width, bool CompareFirst = false>
constexpr OpRow ds_row(const char* name, const char* sig) {
  return row(name, sig, &ds_op<32, Op, Width, CompareFirst>, &ds_op<64, Op, Width, CompareFirst>,
             memory_flags(Space::kLds, Access::kAtomic, Width, CompareFirst ? Form::kCompareFirst : Form::kPlain));
}

// One operation in every address space but LDS; `out` and `in` are the types of the result and of the data.
#define VMEM_ROWS(name, op, width, out, in)                                            \
  global_row<false, Rmw::op, width>("global_atomic_" name, "=b64," in ",b64"),         \
      global_row<false, Rmw::op, width>("global_atomic_" name, out "=b64," in ",b64"), \
      global_row<true, Rmw::op, width>("flat_atomic_" name, "=b64," in),               \
      global_row<true, Rmw::op, width>("flat_atomic_" name, out "=b64," in),           \
      buffer_row<Rmw::op, width>("buffer_atomic_" name, "=" in ",b64,b128,b32")
#define DS_ROWS(plain, returning, op, width, type) \
  ds_row<Rmw::op, width>(plain, "=b32," type), ds_row<Rmw::op, width>(returning, type "=b32," type)
// 32 and 64 bits; names of gfx9, then of gfx11 and gfx12.
#define INTEGER_ROWS(old_name, new_name, prefix, op)                                             \
  VMEM_ROWS(old_name, op, 4, "b32", "b32"), VMEM_ROWS(old_name "_x2", op, 8, "b64", "b64"),      \
      VMEM_ROWS(new_name "_" prefix "32", op, 4, "b32", "b32"),                                  \
      VMEM_ROWS(new_name "_" prefix "64", op, 8, "b64", "b64"),                                  \
      DS_ROWS("ds_" new_name "_" prefix "32", "ds_" new_name "_rtn_" prefix "32", op, 4, "b32"), \
      DS_ROWS("ds_" new_name "_" prefix "64", "ds_" new_name "_rtn_" prefix "64", op, 8, "b64")

const OpRow kRows[] = {
    INTEGER_ROWS("add", "add", "u", kAdd),
    INTEGER_ROWS("sub", "sub", "u", kSub),
    INTEGER_ROWS("smin", "min", "i", kMinSigned),
    INTEGER_ROWS("smax", "max", "i", kMaxSigned),
    INTEGER_ROWS("umin", "min", "u", kMinUnsigned),
    INTEGER_ROWS("umax", "max", "u", kMaxUnsigned),
    INTEGER_ROWS("and", "and", "b", kAnd),
    INTEGER_ROWS("or", "or", "b", kOr),
    INTEGER_ROWS("xor", "xor", "b", kXor),
    INTEGER_ROWS("inc", "inc", "u", kInc),
    INTEGER_ROWS("dec", "dec", "u", kDec),
    VMEM_ROWS("swap", kSwap, 4, "b32", "b32"),
    VMEM_ROWS("swap_x2", kSwap, 8, "b64", "b64"),
    VMEM_ROWS("swap_b32", kSwap, 4, "b32", "b32"),
    VMEM_ROWS("swap_b64", kSwap, 8, "b64", "b64"),
    VMEM_ROWS("cmpswap", kCompareSwap, 4, "b32", "b64"),
    VMEM_ROWS("cmpswap_x2", kCompareSwap, 8, "b64", "b128"),
    VMEM_ROWS("cmpswap_b32", kCompareSwap, 4, "b32", "b64"),
    VMEM_ROWS("cmpswap_b64", kCompareSwap, 8, "b64", "b128"),
    VMEM_ROWS("csub_u32", kSubClamp, 4, "b32", "b32"),
    VMEM_ROWS("sub_clamp_u32", kSubClamp, 4, "b32", "b32"),
    VMEM_ROWS("cond_sub_u32", kCondSub, 4, "b32", "b32"),
    VMEM_ROWS("add_f32", kAddF, 4, "b32", "b32"),
    VMEM_ROWS("add_f64", kAddF, 8, "b64", "b64"),
    VMEM_ROWS("min_f64", kMinF, 8, "b64", "b64"),
    VMEM_ROWS("max_f64", kMaxF, 8, "b64", "b64"),
    VMEM_ROWS("min_f32", kMinF, 4, "b32", "b32"),
    VMEM_ROWS("max_f32", kMaxF, 4, "b32", "b32"),
    VMEM_ROWS("min_num_f32", kMinF, 4, "b32", "b32"),
    VMEM_ROWS("max_num_f32", kMaxF, 4, "b32", "b32"),
    VMEM_ROWS("pk_add_f16", kPackedAddF16, 4, "b32", "b32"),
    VMEM_ROWS("pk_add_bf16", kPackedAddBf16, 4, "b32", "b32"),
    DS_ROWS("ds_rsub_u32", "ds_rsub_rtn_u32", kReverseSub, 4, "b32"),
    DS_ROWS("ds_rsub_u64", "ds_rsub_rtn_u64", kReverseSub, 8, "b64"),
    DS_ROWS("ds_add_f32", "ds_add_rtn_f32", kAddF, 4, "b32"),
    DS_ROWS("ds_add_f64", "ds_add_rtn_f64", kAddF, 8, "b64"),
    DS_ROWS("ds_min_f32", "ds_min_rtn_f32", kMinF, 4, "b32"),
    DS_ROWS("ds_max_f32", "ds_max_rtn_f32", kMaxF, 4, "b32"),
    DS_ROWS("ds_min_f64", "ds_min_rtn_f64", kMinF, 8, "b64"),
    DS_ROWS("ds_max_f64", "ds_max_rtn_f64", kMaxF, 8, "b64"),
    DS_ROWS("ds_min_num_f32", "ds_min_num_rtn_f32", kMinF, 4, "b32"),
    DS_ROWS("ds_max_num_f32", "ds_max_num_rtn_f32", kMaxF, 4, "b32"),
    DS_ROWS("ds_min_num_f64", "ds_min_num_rtn_f64", kMinF, 8, "b64"),
    DS_ROWS("ds_max_num_f64", "ds_max_num_rtn_f64", kMaxF, 8, "b64"),
    DS_ROWS("ds_pk_add_f16", "ds_pk_add_rtn_f16", kPackedAddF16, 4, "b32"),
    DS_ROWS("ds_pk_add_bf16", "ds_pk_add_rtn_bf16", kPackedAddBf16, 4, "b32"),
    DS_ROWS("ds_sub_clamp_u32", "ds_sub_clamp_rtn_u32", kSubClamp, 4, "b32"),
    DS_ROWS("ds_cond_sub_u32", "ds_cond_sub_rtn_u32", kCondSub, 4, "b32"),
    ds_row<Rmw::kSwap, 4>("ds_wrxchg_rtn_b32", "b32=b32,b32"),
    ds_row<Rmw::kSwap, 8>("ds_wrxchg_rtn_b64", "b64=b32,b64"),
    ds_row<Rmw::kSwap, 4>("ds_storexchg_rtn_b32", "b32=b32,b32"),
    ds_row<Rmw::kSwap, 8>("ds_storexchg_rtn_b64", "b64=b32,b64"),
    ds_row<Rmw::kCompareSwap, 4, true>("ds_cmpst_b32", "=b32,b32,b32"),
    ds_row<Rmw::kCompareSwap, 4, true>("ds_cmpst_rtn_b32", "b32=b32,b32,b32"),
    ds_row<Rmw::kCompareSwap, 8, true>("ds_cmpst_b64", "=b32,b64,b64"),
    ds_row<Rmw::kCompareSwap, 8, true>("ds_cmpst_rtn_b64", "b64=b32,b64,b64"),
    ds_row<Rmw::kCompareSwap, 4>("ds_cmpstore_b32", "=b32,b32,b32"),
    ds_row<Rmw::kCompareSwap, 4>("ds_cmpstore_rtn_b32", "b32=b32,b32,b32"),
    ds_row<Rmw::kCompareSwap, 8>("ds_cmpstore_b64", "=b32,b64,b64"),
    ds_row<Rmw::kCompareSwap, 8>("ds_cmpstore_rtn_b64", "b64=b32,b64,b64"),
};

}  // namespace

OpTable atomic_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
