// VALU integer instructions on 16 and 32 bits: moves, arithmetic, logic, shifts, bit fields, multiply-adds.
#include "lanes.hpp"

namespace emu {

namespace {

constexpr i32 saturate_i32(i64 x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : i32(x); }
constexpr i16 saturate_i16(i32 x) { return x > INT16_MAX ? INT16_MAX : x < INT16_MIN ? INT16_MIN : i16(x); }

// `clamp` saturates integer results instead of wrapping.
constexpr auto add_u32 = [](const Env& e, u32 a, u32 b) { return e.clamp && a + b < a ? ~0u : a + b; };
constexpr auto sub_u32 = [](const Env& e, u32 a, u32 b) { return e.clamp && b > a ? 0u : a - b; };
constexpr auto subrev_u32 = [](const Env& e, u32 a, u32 b) { return sub_u32(e, b, a); };
constexpr auto add_i32 = [](const Env& e, i32 a, i32 b) {
  return e.clamp ? saturate_i32(i64(a) + b) : i32(u32(a) + u32(b));
};
constexpr auto sub_i32 = [](const Env& e, i32 a, i32 b) {
  return e.clamp ? saturate_i32(i64(a) - b) : i32(u32(a) - u32(b));
};
constexpr auto add_co = [](const Env& e, u32 a, u32 b) {
  const bool carry = a + b < a;
  return WithMask<u32>{e.clamp && carry ? ~0u : a + b, carry};
};
constexpr auto sub_co = [](const Env& e, u32 a, u32 b) { return WithMask<u32>{e.clamp && b > a ? 0u : a - b, b > a}; };
constexpr auto subrev_co = [](const Env& e, u32 a, u32 b) { return sub_co(e, b, a); };
constexpr auto add_ci = [](const Env& e, u32 a, u32 b, bool c) {
  const u64 r = u64(a) + b + c;
  return WithMask<u32>{e.clamp && (r >> 32) ? ~0u : u32(r), (r >> 32) != 0};
};
constexpr auto sub_ci = [](const Env& e, u32 a, u32 b, bool c) {
  const bool borrow = u64(b) + c > a;
  return WithMask<u32>{e.clamp && borrow ? 0u : a - b - c, borrow};
};
constexpr auto subrev_ci = [](const Env& e, u32 a, u32 b, bool c) { return sub_ci(e, b, a, c); };

constexpr auto add_u16 = [](const Env& e, u16 a, u16 b) { return u16(e.clamp && a + b > 0xffff ? 0xffff : a + b); };
constexpr auto sub_u16 = [](const Env& e, u16 a, u16 b) { return u16(e.clamp && b > a ? 0 : a - b); };
constexpr auto subrev_u16 = [](const Env& e, u16 a, u16 b) { return sub_u16(e, b, a); };
constexpr auto add_i16 = [](const Env& e, i16 a, i16 b) { return e.clamp ? saturate_i16(a + b) : i16(a + b); };
constexpr auto sub_i16 = [](const Env& e, i16 a, i16 b) { return e.clamp ? saturate_i16(a - b) : i16(a - b); };
constexpr auto mul_lo_u16 = [](u16 a, u16 b) { return u16(u32(a) * b); };
constexpr auto mad_u16 = [](const Env& e, u16 a, u16 b, u16 c) {
  const u64 r = u64(u32(a) * b) + c;
  return u16(e.clamp && r > 0xffff ? 0xffff : r);
};
constexpr auto mad_i16 = [](const Env& e, i16 a, i16 b, i16 c) {
  const i64 r = i64(i32(a) * b) + c;
  return e.clamp ? i16(r > INT16_MAX ? INT16_MAX : r < INT16_MIN ? INT16_MIN : r) : i16(r);
};
constexpr auto mad_u32_u16 = [](u16 a, u16 b, u32 c) { return u32(a) * b + c; };
constexpr auto mad_i32_i16 = [](i16 a, i16 b, u32 c) { return u32(i32(a) * b) + c; };

constexpr auto mov = [](u32 a) { return a; };
constexpr auto mov_u16 = [](u16 a) { return a; };
constexpr auto not_b32 = [](u32 a) { return ~a; };
constexpr auto not_b16 = [](u16 a) { return u16(~a); };
constexpr auto brev = [](u32 a) { return u32(__builtin_bitreverse32(a)); };
constexpr auto ffbh_u32 = [](u32 a) { return a ? u32(__builtin_clz(a)) : ~0u; };
constexpr auto ffbl_b32 = [](u32 a) { return a ? u32(__builtin_ctz(a)) : ~0u; };
constexpr auto ffbh_i32 = [](i32 a) {
  const u32 x = u32(a < 0 ? ~a : a);
  return x ? u32(__builtin_clz(x)) : ~0u;
};
constexpr auto bcnt = [](u32 a, u32 b) { return u32(__builtin_popcount(a)) + b; };

constexpr auto and_b32 = [](u32 a, u32 b) { return a & b; };
constexpr auto or_b32 = [](u32 a, u32 b) { return a | b; };
constexpr auto xor_b32 = [](u32 a, u32 b) { return a ^ b; };
constexpr auto xnor_b32 = [](u32 a, u32 b) { return ~(a ^ b); };
constexpr auto and_b16 = [](u16 a, u16 b) { return u16(a & b); };
constexpr auto or_b16 = [](u16 a, u16 b) { return u16(a | b); };
constexpr auto xor_b16 = [](u16 a, u16 b) { return u16(a ^ b); };
// Shift counts are taken modulo the width.
constexpr auto lshlrev = [](u32 n, u32 a) { return a << (n & 31); };
constexpr auto lshrrev = [](u32 n, u32 a) { return a >> (n & 31); };
constexpr auto ashrrev = [](u32 n, i32 a) { return a >> (n & 31); };
constexpr auto lshlrev16 = [](u16 n, u16 a) { return u16(a << (n & 15)); };
constexpr auto lshrrev16 = [](u16 n, u16 a) { return u16(a >> (n & 15)); };
constexpr auto ashrrev16 = [](u16 n, i16 a) { return i16(a >> (n & 15)); };

constexpr auto min_i32 = [](i32 a, i32 b) { return a < b ? a : b; };
constexpr auto max_i32 = [](i32 a, i32 b) { return a > b ? a : b; };
constexpr auto min_u32 = [](u32 a, u32 b) { return a < b ? a : b; };
constexpr auto max_u32 = [](u32 a, u32 b) { return a > b ? a : b; };
constexpr auto min_i16 = [](i16 a, i16 b) { return a < b ? a : b; };
constexpr auto max_i16 = [](i16 a, i16 b) { return a > b ? a : b; };
constexpr auto min_u16 = [](u16 a, u16 b) { return a < b ? a : b; };
constexpr auto max_u16 = [](u16 a, u16 b) { return a > b ? a : b; };
template <class T>
constexpr auto kMin3 = [](T a, T b, T c) {
  const T m = a < b ? a : b;
  return m < c ? m : c;
};
template <class T>
constexpr auto kMax3 = [](T a, T b, T c) {
  const T m = a > b ? a : b;
  return m > c ? m : c;
};
template <class T>
constexpr auto kMed3 = [](T a, T b, T c) {
  const T low = a < b ? a : b, high = a < b ? b : a;
  const T h = high < c ? high : c;
  return low > h ? low : h;
};
template <class T>
constexpr auto kMinMax = [](T a, T b, T c) {
  const T m = a < b ? a : b;
  return m > c ? m : c;
};
template <class T>
constexpr auto kMaxMin = [](T a, T b, T c) {
  const T m = a > b ? a : b;
  return m < c ? m : c;
};

constexpr auto mul_lo = [](u32 a, u32 b) { return a * b; };
constexpr auto mul_hi_u32 = [](u32 a, u32 b) { return u32((u64(a) * b) >> 32); };
constexpr auto mul_hi_i32 = [](i32 a, i32 b) { return i32((i64(a) * b) >> 32); };
constexpr u32 low24(u32 a) { return a & 0xffffff; }
constexpr i32 signed24(u32 a) { return i32(a << 8) >> 8; }
constexpr auto mul_u24 = [](u32 a, u32 b) { return low24(a) * low24(b); };
constexpr auto mul_i24 = [](u32 a, u32 b) { return u32(signed24(a)) * u32(signed24(b)); };
constexpr auto mul_hi_u24 = [](u32 a, u32 b) { return u32((u64(low24(a)) * low24(b)) >> 32); };
constexpr auto mul_hi_i24 = [](u32 a, u32 b) { return u32((i64(signed24(a)) * signed24(b)) >> 32); };
constexpr auto mad_u24 = [](u32 a, u32 b, u32 c) { return low24(a) * low24(b) + c; };
constexpr auto mad_i24 = [](u32 a, u32 b, u32 c) { return u32(signed24(a)) * u32(signed24(b)) + c; };

constexpr auto bfe_u32 = [](u32 a, u32 at, u32 n) { return (a >> (at & 31)) & ((1u << (n & 31)) - 1); };
constexpr auto bfe_i32 = [](i32 a, u32 at, u32 n) {
  const u32 width = n & 31;
  const u32 field = u32(a >> (at & 31)) & ((1u << width) - 1);
  const u32 sign = width ? 1u << (width - 1) : 0;
  return (field ^ sign) - sign;
};
constexpr auto bfi = [](u32 mask, u32 a, u32 b) { return (mask & a) | (~mask & b); };
constexpr auto bfm = [](u32 n, u32 at) { return ((1u << (n & 31)) - 1) << (at & 31); };
constexpr auto alignbit = [](u32 high, u32 low, u32 n) { return u32(((u64(high) << 32) | low) >> (n & 31)); };
constexpr auto alignbyte = [](u32 high, u32 low, u32 n) { return u32(((u64(high) << 32) | low) >> (8 * (n & 3))); };
constexpr auto lshl_add = [](u32 a, u32 n, u32 b) { return (a << (n & 31)) + b; };
constexpr auto add_lshl = [](u32 a, u32 b, u32 n) { return (a + b) << (n & 31); };
constexpr auto xor_add = [](u32 a, u32 b, u32 c) { return (a ^ b) + c; };
constexpr auto add3 = [](u32 a, u32 b, u32 c) { return a + b + c; };
constexpr auto lshl_or = [](u32 a, u32 n, u32 b) { return (a << (n & 31)) | b; };
constexpr auto and_or = [](u32 a, u32 b, u32 c) { return (a & b) | c; };
constexpr auto or3 = [](u32 a, u32 b, u32 c) { return a | b | c; };
constexpr auto xor3 = [](u32 a, u32 b, u32 c) { return a ^ b ^ c; };
constexpr auto cndmask = [](u32 a, u32 b, bool c) { return c ? b : a; };
constexpr auto cndmask16 = [](u16 a, u16 b, bool c) { return c ? b : a; };

const OpRow kRows[] = {
    alu<mov>("v_mov_b32"),
    alu<mov>("v_accvgpr_read_b32"),
    alu<mov>("v_accvgpr_write_b32"),
    alu<mov>("v_accvgpr_mov_b32"),
    alu<mov_u16>("v_mov_b16"),
    alu<not_b32>("v_not_b32"),
    alu<not_b16>("v_not_b16"),
    alu<brev>("v_bfrev_b32"),
    alu<ffbh_u32>("v_ffbh_u32"),
    alu<ffbh_u32>("v_clz_i32_u32"),
    alu<ffbl_b32>("v_ffbl_b32"),
    alu<ffbl_b32>("v_ctz_i32_b32"),
    alu<ffbh_i32>("v_ffbh_i32"),
    alu<ffbh_i32>("v_cls_i32"),
    alu<bcnt>("v_bcnt_u32_b32"),
    alu<add_u32>("v_add_u32"),
    alu<add_u32>("v_add_nc_u32"),
    alu<sub_u32>("v_sub_u32"),
    alu<sub_u32>("v_sub_nc_u32"),
    alu<subrev_u32>("v_subrev_u32"),
    alu<subrev_u32>("v_subrev_nc_u32"),
    alu<add_i32>("v_add_i32"),
    alu<add_i32>("v_add_nc_i32"),
    alu<sub_i32>("v_sub_i32"),
    alu<sub_i32>("v_sub_nc_i32"),
    alu<add_co>("v_add_co_u32"),
    alu<sub_co>("v_sub_co_u32"),
    alu<subrev_co>("v_subrev_co_u32"),
    alu<add_ci>("v_addc_co_u32"),
    alu<add_ci>("v_add_co_ci_u32"),
    alu<sub_ci>("v_subb_co_u32"),
    alu<sub_ci>("v_sub_co_ci_u32"),
    alu<subrev_ci>("v_subbrev_co_u32"),
    alu<subrev_ci>("v_subrev_co_ci_u32"),
    alu<add_u16>("v_add_u16"),
    alu<add_u16>("v_add_nc_u16"),
    alu<sub_u16>("v_sub_u16"),
    alu<sub_u16>("v_sub_nc_u16"),
    alu<subrev_u16>("v_subrev_u16"),
    alu<add_i16>("v_add_i16"),
    alu<add_i16>("v_add_nc_i16"),
    alu<sub_i16>("v_sub_i16"),
    alu<sub_i16>("v_sub_nc_i16"),
    alu<mul_lo_u16>("v_mul_lo_u16"),
    alu<mad_u16>("v_mad_u16", kOpKeepHigh),
    alu<mad_i16>("v_mad_i16", kOpKeepHigh),
    alu<mad_u16>("v_mad_legacy_u16"),
    alu<mad_i16>("v_mad_legacy_i16"),
    alu<mad_u32_u16>("v_mad_u32_u16"),
    alu<mad_i32_i16>("v_mad_i32_i16"),
    alu<and_b32>("v_and_b32"),
    alu<or_b32>("v_or_b32"),
    alu<xor_b32>("v_xor_b32"),
    alu<xnor_b32>("v_xnor_b32"),
    alu<and_b16>("v_and_b16"),
    alu<or_b16>("v_or_b16"),
    alu<xor_b16>("v_xor_b16"),
    alu<lshlrev>("v_lshlrev_b32"),
    alu<lshrrev>("v_lshrrev_b32"),
    alu<ashrrev>("v_ashrrev_i32"),
    alu<lshlrev16>("v_lshlrev_b16"),
    alu<lshrrev16>("v_lshrrev_b16"),
    alu<ashrrev16>("v_ashrrev_i16"),
    alu<min_i32>("v_min_i32"),
    alu<max_i32>("v_max_i32"),
    alu<min_u32>("v_min_u32"),
    alu<max_u32>("v_max_u32"),
    alu<min_i16>("v_min_i16"),
    alu<max_i16>("v_max_i16"),
    alu<min_u16>("v_min_u16"),
    alu<max_u16>("v_max_u16"),
    alu<kMin3<i32>>("v_min3_i32"),
    alu<kMax3<i32>>("v_max3_i32"),
    alu<kMed3<i32>>("v_med3_i32"),
    alu<kMin3<u32>>("v_min3_u32"),
    alu<kMax3<u32>>("v_max3_u32"),
    alu<kMed3<u32>>("v_med3_u32"),
    alu<kMin3<i16>>("v_min3_i16", kOpKeepHigh),
    alu<kMax3<i16>>("v_max3_i16", kOpKeepHigh),
    alu<kMed3<i16>>("v_med3_i16", kOpKeepHigh),
    alu<kMin3<u16>>("v_min3_u16", kOpKeepHigh),
    alu<kMax3<u16>>("v_max3_u16", kOpKeepHigh),
    alu<kMed3<u16>>("v_med3_u16", kOpKeepHigh),
    alu<kMinMax<i32>>("v_minmax_i32"),
    alu<kMaxMin<i32>>("v_maxmin_i32"),
    alu<kMinMax<u32>>("v_minmax_u32"),
    alu<kMaxMin<u32>>("v_maxmin_u32"),
    alu<mul_lo>("v_mul_lo_u32"),
    alu<mul_hi_u32>("v_mul_hi_u32"),
    alu<mul_hi_i32>("v_mul_hi_i32"),
    alu<mul_u24>("v_mul_u32_u24"),
    alu<mul_i24>("v_mul_i32_i24"),
    alu<mul_hi_u24>("v_mul_hi_u32_u24"),
    alu<mul_hi_i24>("v_mul_hi_i32_i24"),
    alu<mad_u24>("v_mad_u32_u24"),
    alu<mad_i24>("v_mad_i32_i24"),
    alu<bfe_u32>("v_bfe_u32"),
    alu<bfe_i32>("v_bfe_i32"),
    alu<bfi>("v_bfi_b32"),
    alu<bfm>("v_bfm_b32"),
    alu<alignbit>("v_alignbit_b32"),
    alu<alignbyte>("v_alignbyte_b32"),
    alu<lshl_add>("v_lshl_add_u32"),
    alu<add_lshl>("v_add_lshl_u32"),
    alu<xor_add>("v_xad_u32"),
    alu<add3>("v_add3_u32"),
    alu<lshl_or>("v_lshl_or_b32"),
    alu<and_or>("v_and_or_b32"),
    alu<or3>("v_or3_b32"),
    alu<xor3>("v_xor3_b32"),
    alu<cndmask>("v_cndmask_b32"),
    alu<cndmask>("v_cndmask_b32", 0, "u32=u32,u32,mask@vcc"),
    alu<cndmask16>("v_cndmask_b16"),
};

}  // namespace

OpTable valu_int_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
