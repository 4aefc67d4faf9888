// Packed instructions: two 16-bit values in a dword, or two dwords in a register pair.
#include "fp.hpp"
#include "half.hpp"
#include "lanes.hpp"

namespace emu {

namespace {

constexpr PI16 pack(u32 lo, u32 hi) { return {(lo & 0xffff) | (hi << 16)}; }

template <auto F>
constexpr auto kInt2 =
    [](const Env& e, PI16 a, PI16 b) { return pack(u32(F(e, a.lo(), b.lo())), u32(F(e, a.hi(), b.hi()))); };
template <auto F>
constexpr auto kInt3 = [](const Env& e, PI16 a, PI16 b, PI16 c) {
  return pack(u32(F(e, a.lo(), b.lo(), c.lo())), u32(F(e, a.hi(), b.hi(), c.hi())));
};

constexpr i32 clamp_i16(i64 x) { return x > INT16_MAX ? INT16_MAX : x < INT16_MIN ? INT16_MIN : i32(x); }
constexpr auto add_u = [](const Env& e, u16 a, u16 b) { return e.clamp && a + b > 0xffff ? 0xffff : a + b; };
constexpr auto sub_u = [](const Env& e, u16 a, u16 b) { return e.clamp && b > a ? 0 : a - b; };
constexpr auto add_i = [](const Env& e, i16 a, i16 b) { return e.clamp ? clamp_i16(a + b) : a + b; };
constexpr auto sub_i = [](const Env& e, i16 a, i16 b) { return e.clamp ? clamp_i16(a - b) : a - b; };
constexpr auto mul_lo = [](const Env&, u16 a, u16 b) { return u32(a) * b; };
constexpr auto mad_u = [](const Env& e, u16 a, u16 b, u16 c) {
  const u64 r = u64(u32(a) * b) + c;
  return e.clamp && r > 0xffff ? 0xffffu : u32(r);
};
constexpr auto mad_i = [](const Env& e, i16 a, i16 b, i16 c) {
  const i64 r = i64(i32(a) * b) + c;
  return e.clamp ? clamp_i16(r) : i32(r);
};
constexpr auto min_u = [](const Env&, u16 a, u16 b) { return a < b ? a : b; };
constexpr auto max_u = [](const Env&, u16 a, u16 b) { return a > b ? a : b; };
constexpr auto min_i = [](const Env&, i16 a, i16 b) { return a < b ? a : b; };
constexpr auto max_i = [](const Env&, i16 a, i16 b) { return a > b ? a : b; };
constexpr auto shl = [](const Env&, u16 n, u16 a) { return u32(a) << (n & 15); };
constexpr auto shr = [](const Env&, u16 n, u16 a) { return u32(a) >> (n & 15); };
constexpr auto ashr = [](const Env&, u16 n, i16 a) { return i32(a) >> (n & 15); };

template <auto F>
constexpr auto kHalf2 = [](const Env& e, PF16 a, PF16 b) {
  return PF16{to_f16(e, F(e, low(e, a), low(e, b))) | (to_f16(e, F(e, high(e, a), high(e, b))) << 16)};
};
constexpr auto pk_fma_f16 = [](const Env& e, PF16 a, PF16 b, PF16 c) {
  return PF16{fma_f16(e, low(e, a), low(e, b), low(e, c)) | (fma_f16(e, high(e, a), high(e, b), high(e, c)) << 16)};
};
constexpr auto add_f = [](const Env&, float a, float b) { return a + b; };
constexpr auto mul_f = [](const Env&, float a, float b) { return a * b; };
constexpr auto min_f = [](const Env& e, float a, float b) { return fp_min(e, a, b); };
constexpr auto max_f = [](const Env& e, float a, float b) { return fp_max(e, a, b); };
constexpr auto minimum_f = [](const Env&, float a, float b) { return fp_minimum(a, b); };
constexpr auto maximum_f = [](const Env&, float a, float b) { return fp_maximum(a, b); };
constexpr auto minimum3 = [](const Env& e, PF16 a, PF16 b, PF16 c) {
  return PF16{to_f16(e, fp_minimum(fp_minimum(low(e, a), low(e, b)), low(e, c))) |
              (to_f16(e, fp_minimum(fp_minimum(high(e, a), high(e, b)), high(e, c))) << 16)};
};
constexpr auto maximum3 = [](const Env& e, PF16 a, PF16 b, PF16 c) {
  return PF16{to_f16(e, fp_maximum(fp_maximum(low(e, a), low(e, b)), low(e, c))) |
              (to_f16(e, fp_maximum(fp_maximum(high(e, a), high(e, b)), high(e, c))) << 16)};
};

constexpr auto pk_add_f32 = [](PF32 a, PF32 b) { return PF32{a.lo + b.lo, a.hi + b.hi}; };
constexpr auto pk_mul_f32 = [](PF32 a, PF32 b) { return PF32{a.lo * b.lo, a.hi * b.hi}; };
constexpr auto pk_fma_f32 = [](PF32 a, PF32 b, PF32 c) {
  return PF32{__builtin_fmaf(a.lo, b.lo, c.lo), __builtin_fmaf(a.hi, b.hi, c.hi)};
};
// The low dword from source 0, the high one from source 1; op_sel chooses in both, op_sel_hi means nothing here: clang
// copies a pair by op_sel:[0,1] and swaps one by op_sel:[1,0].
constexpr auto pk_mov = [](PI32 a, PI32 b) { return PI32{a.lo, b.lo}; };

const OpRow kRows[] = {
    alu<kInt2<add_u>>("v_pk_add_u16"),
    alu<kInt2<sub_u>>("v_pk_sub_u16"),
    alu<kInt2<add_i>>("v_pk_add_i16"),
    alu<kInt2<sub_i>>("v_pk_sub_i16"),
    alu<kInt2<mul_lo>>("v_pk_mul_lo_u16"),
    alu<kInt3<mad_u>>("v_pk_mad_u16"),
    alu<kInt3<mad_i>>("v_pk_mad_i16"),
    alu<kInt2<min_u>>("v_pk_min_u16"),
    alu<kInt2<max_u>>("v_pk_max_u16"),
    alu<kInt2<min_i>>("v_pk_min_i16"),
    alu<kInt2<max_i>>("v_pk_max_i16"),
    alu<kInt2<shl>>("v_pk_lshlrev_b16"),
    alu<kInt2<shr>>("v_pk_lshrrev_b16"),
    alu<kInt2<ashr>>("v_pk_ashrrev_i16"),
    alu<kHalf2<add_f>>("v_pk_add_f16", kOpF16),
    alu<kHalf2<mul_f>>("v_pk_mul_f16", kOpF16),
    alu<kHalf2<min_f>>("v_pk_min_f16", kOpF16),
    alu<kHalf2<max_f>>("v_pk_max_f16", kOpF16),
    alu<kHalf2<min_f>>("v_pk_min_num_f16", kOpF16),
    alu<kHalf2<max_f>>("v_pk_max_num_f16", kOpF16),
    alu<kHalf2<minimum_f>>("v_pk_minimum_f16", kOpF16),
    alu<kHalf2<maximum_f>>("v_pk_maximum_f16", kOpF16),
    alu<minimum3>("v_pk_minimum3_f16", kOpF16),
    alu<maximum3>("v_pk_maximum3_f16", kOpF16),
    alu<pk_fma_f16>("v_pk_fma_f16", kOpF16),
    alu<pk_fma_f16>("v_pk_fmac_f16", kOpF16, "pf16=pf16,pf16,pf16@dst"),
    alu<pk_add_f32>("v_pk_add_f32"),
    alu<pk_mul_f32>("v_pk_mul_f32"),
    alu<pk_fma_f32>("v_pk_fma_f32"),
    alu<pk_mov>("v_pk_mov_b32"),
};

}  // namespace

OpTable valu_packed_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
