// Reciprocals, roots, transcendentals, division helpers, exponents and mantissas, byte shuffles and sums of absolute
// differences.
#include "division.hpp"
#include "half.hpp"
#include "lanes.hpp"
#include "trans.hpp"

namespace emu {

namespace {

template <auto F>
constexpr auto kTrans = [](float a) { return trans_f32<F>(a); };
template <auto F>
constexpr auto kTransHalf = [](const Env& e, F16 a) { return F16{to_f16(e, to_odd_f32(F(double(value(e, a)))))}; };
template <auto F>
constexpr auto kTransDouble = [](double a) { return F(a); };

constexpr auto rcp_fn = [](double x) { return rcp_double(x); };
constexpr auto rsq_fn = [](double x) { return rsq_double(x); };
constexpr auto sqrt_fn = [](double x) { return sqrt_double(x); };
constexpr auto exp_fn = [](double x) { return exp_double(x); };
constexpr auto log_fn = [](double x) { return log_double(x); };
constexpr auto sin_fn = [](double x) { return sin_double(x); };
constexpr auto cos_fn = [](double x) { return cos_double(x); };

constexpr auto scale_f32 = [](float a, float d, float n) { return div_scale(a, d, n); };
constexpr auto scale_f64 = [](double a, double d, double n) { return div_scale(a, d, n); };
constexpr auto fmas_f32 = [](float a, float b, float c, bool s) { return div_fmas(a, b, c, s); };
constexpr auto fmas_f64 = [](double a, double b, double c, bool s) { return div_fmas(a, b, c, s); };
constexpr auto fixup_f32 = [](float q, float d, float n) { return div_fixup(q, d, n); };
constexpr auto fixup_f64 = [](double q, double d, double n) { return div_fixup(q, d, n); };
constexpr auto fixup_f16 = [](const Env& e, F16 q, F16 d, F16 n) {
  return F16{to_f16(e, div_fixup(value(e, q), value(e, d), value(e, n)))};
};

constexpr auto ldexp_f32 = [](float a, i32 n) {
  const i32 m = n > 400 ? 400 : n < -400 ? -400 : n;
  return float(double(a) * bits_double(u64(m + 1023) << 52));
};
constexpr auto ldexp_f16 = [](const Env& e, F16 a, i16 n) {
  const i32 m = n > 60 ? 60 : n < -60 ? -60 : n;
  return F16{to_f16(e, value(e, a) * bits_float(u32(m + 127) << 23))};
};
// In steps of which only the last can round.
constexpr auto ldexp_f64 = [](double a, i32 n) {
  if (a != a) return quiet(a);
  if (a == 0 || __builtin_isinf(a)) return a;
  const bool tiny = exponent_field(a) == 0;
  const double x = tiny ? a * 0x1p64 : a;
  const i64 e = i64(exponent_field(x)) - 1023 + (tiny ? -64 : 0) + n;
  const double m = bits_double((double_bits(x) & 0x800fffffffffffffull) | 0x3ff0000000000000ull);
  if (e > 1023) return m * 0x1p1023 * 2.0;
  if (e >= -1022) return m * bits_double(u64(e + 1023) << 52);
  const i64 rest = e + 1022 < -60 ? -60 : e + 1022;
  return m * 0x1p-1022 * bits_double(u64(rest + 1023) << 52);
};

// The mantissa in [1/2, 1) and its exponent; numbers without one come back with exponent 0.
constexpr auto mant_f32 = [](float a) {
  const u32 bits = float_bits(a), field = bits & 0x7f800000u;
  if (field == 0x7f800000u) return a != a ? quiet(a) : a;
  if ((bits & 0x7fffffffu) == 0) return a;
  const double d = a;
  return float(bits_double((double_bits(d) & 0x800fffffffffffffull) | 0x3fe0000000000000ull));
};
constexpr auto exp_f32 = [](float a) {
  const u32 bits = float_bits(a);
  if ((bits & 0x7f800000u) == 0x7f800000u || (bits & 0x7fffffffu) == 0) return 0;
  const u32 m = bits & 0x7fffffu;
  return bits & 0x7f800000u ? i32(bits >> 23 & 0xff) - 126 : -117 - i32(__builtin_clz(m));
};
constexpr auto mant_f64 = [](double a) {
  if (exponent_field(a) == 2047) return a != a ? quiet(a) : a;
  if (a == 0) return a;
  const double x = exponent_field(a) ? a : a * 0x1p64;
  return bits_double((double_bits(x) & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
};
constexpr auto exp_f64 = [](double a) {
  if (exponent_field(a) == 2047 || a == 0) return 0;
  return exponent_field(a) ? exponent_field(a) - 1022 : exponent_field(a * 0x1p64) - 1022 - 64;
};
constexpr auto mant_f16 = [](const Env& e, F16 a) { return F16{to_f16(e, mant_f32(f16_to_f32(a.bits)))}; };
constexpr auto exp_f16 = [](F16 a) { return i16(exp_f32(f16_to_f32(a.bits))); };

// Selector bytes: 0..3 bytes of b, 4..7 of a, 8..11 copies of a sign bit, 12 zero, above 0xff.
constexpr auto perm = [](u32 a, u32 b, u32 select) {
  const u64 bytes = (u64(a) << 32) | b;
  u32 r = 0;
  for (int k = 0; k < 4; k++) {
    const u32 s = (select >> (8 * k)) & 0xff;
    const u32 byte = u32(bytes >> (8 * (s & 7))) & 0xff;
    const u32 sign = (bytes >> (16 * (s & 3) + 15)) & 1 ? 0xff : 0;
    r |= (s < 8 ? byte : s < 12 ? sign : s == 12 ? 0u : 0xffu) << (8 * k);
  }
  return r;
};
constexpr u32 byte_of(u32 x, int k) { return (x >> (8 * k)) & 0xff; }
constexpr u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }
constexpr auto sad_u8 = [](u32 a, u32 b, u32 c) {
  for (int k = 0; k < 4; k++) c += distance(byte_of(a, k), byte_of(b, k));
  return c;
};
constexpr auto sad_hi_u8 = [](u32 a, u32 b, u32 c) { return (sad_u8(a, b, 0) << 16) + c; };
constexpr auto sad_u16 = [](u32 a, u32 b, u32 c) {
  return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16) + c;
};
constexpr auto sad_u32 = [](u32 a, u32 b, u32 c) { return distance(a, b) + c; };
constexpr auto msad_u8 = [](u32 a, u32 b, u32 c) {
  for (int k = 0; k < 4; k++) c += byte_of(b, k) ? distance(byte_of(a, k), byte_of(b, k)) : 0;
  return c;
};
constexpr auto lerp_u8 = [](u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (int k = 0; k < 4; k++) r |= ((byte_of(a, k) + byte_of(b, k) + (byte_of(c, k) & 1)) >> 1) << (8 * k);
  return r;
};
// Bit (4 a + 2 b + c) of the table, for every bit position.
template <class T>
constexpr auto kBitop3 = [](const Env& e, T a, T b, T c) {
  u32 r = 0;
  for (int k = 0; k < 8; k++) {
    const u32 term = (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    r |= (e.insn->bitop3 >> k) & 1 ? term : 0;
  }
  return T(r);
};
constexpr auto prng = [](u32 a) { return (a << 1) ^ (a >> 31 ? 197u : 0u); };

const OpRow kRows[] = {
    alu<kTrans<rcp_fn>>("v_rcp_f32", kOpTrans),
    alu<kTrans<rcp_fn>>("v_rcp_iflag_f32", kOpTrans),
    alu<kTrans<rsq_fn>>("v_rsq_f32", kOpTrans),
    alu<kTrans<sqrt_fn>>("v_sqrt_f32", kOpTrans),
    alu<kTrans<exp_fn>>("v_exp_f32", kOpTrans),
    alu<kTrans<log_fn>>("v_log_f32", kOpTrans),
    alu<kTrans<exp_fn>>("v_exp_legacy_f32", kOpTrans),
    alu<kTrans<log_fn>>("v_log_legacy_f32", kOpTrans),
    alu<kTrans<sin_fn>>("v_sin_f32", kOpTrans),
    alu<kTrans<cos_fn>>("v_cos_f32", kOpTrans),
    alu<kTransHalf<rcp_fn>>("v_rcp_f16", kOpTrans | kOpF16),
    alu<kTransHalf<rsq_fn>>("v_rsq_f16", kOpTrans | kOpF16),
    alu<kTransHalf<sqrt_fn>>("v_sqrt_f16", kOpTrans | kOpF16),
    alu<kTransHalf<exp_fn>>("v_exp_f16", kOpTrans | kOpF16),
    alu<kTransHalf<log_fn>>("v_log_f16", kOpTrans | kOpF16),
    alu<kTransHalf<sin_fn>>("v_sin_f16", kOpTrans | kOpF16),
    alu<kTransHalf<cos_fn>>("v_cos_f16", kOpTrans | kOpF16),
    alu<kTransDouble<rcp_fn>>("v_rcp_f64", kOpTrans),
    alu<kTransDouble<rsq_fn>>("v_rsq_f64", kOpTrans),
    alu<kTransDouble<sqrt_fn>>("v_sqrt_f64", kOpTrans),
    alu<scale_f32>("v_div_scale_f32"),
    alu<scale_f64>("v_div_scale_f64"),
    alu<fmas_f32>("v_div_fmas_f32", 0, "f32=f32,f32,f32,mask@vcc"),
    alu<fmas_f64>("v_div_fmas_f64", 0, "f64=f64,f64,f64,mask@vcc"),
    alu<fixup_f32>("v_div_fixup_f32"),
    alu<fixup_f64>("v_div_fixup_f64"),
    alu<fixup_f16>("v_div_fixup_f16", kOpF16 | kOpKeepHigh),
    alu<ldexp_f32>("v_ldexp_f32"),
    alu<ldexp_f16>("v_ldexp_f16", kOpF16),
    alu<ldexp_f64>("v_ldexp_f64"),
    alu<mant_f32>("v_frexp_mant_f32"),
    alu<exp_f32>("v_frexp_exp_i32_f32"),
    alu<mant_f64>("v_frexp_mant_f64"),
    alu<exp_f64>("v_frexp_exp_i32_f64"),
    alu<mant_f16>("v_frexp_mant_f16", kOpF16),
    alu<exp_f16>("v_frexp_exp_i16_f16"),
    alu<perm>("v_perm_b32"),
    alu<sad_u8>("v_sad_u8"),
    alu<sad_hi_u8>("v_sad_hi_u8"),
    alu<sad_u16>("v_sad_u16"),
    alu<sad_u32>("v_sad_u32"),
    alu<msad_u8>("v_msad_u8"),
    alu<lerp_u8>("v_lerp_u8"),
    alu<kBitop3<u32>>("v_bitop3_b32"),
    alu<kBitop3<u16>>("v_bitop3_b16", kOpKeepHigh),
    alu<prng>("v_prng_b32"),
};

}  // namespace

OpTable valu_misc_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
