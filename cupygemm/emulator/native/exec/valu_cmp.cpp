// Vector compares: a lane mask into an SGPR (pair), or into EXEC.
#include "lanes.hpp"

namespace emu {

namespace {

template <class T>
constexpr auto kLt = [](T a, T b) { return bool(a < b); };
template <class T>
constexpr auto kEq = [](T a, T b) { return bool(a == b); };
template <class T>
constexpr auto kLe = [](T a, T b) { return bool(a <= b); };
template <class T>
constexpr auto kGt = [](T a, T b) { return bool(a > b); };
template <class T>
constexpr auto kNe = [](T a, T b) { return bool(a != b); };
template <class T>
constexpr auto kGe = [](T a, T b) { return bool(a >= b); };
// Less or greater: unlike !=, false for NaN.
template <class T>
constexpr auto kLg = [](T a, T b) { return bool(a < b || a > b); };
template <class T>
constexpr auto kOrdered = [](T a, T b) { return a == a && b == b; };
template <class T>
constexpr auto kUnordered = [](T a, T b) { return !(a == a && b == b); };
template <class T>
constexpr auto kNge = [](T a, T b) { return !(a >= b); };
template <class T>
constexpr auto kNlg = [](T a, T b) { return !(a < b || a > b); };
template <class T>
constexpr auto kNgt = [](T a, T b) { return !(a > b); };
template <class T>
constexpr auto kNle = [](T a, T b) { return !(a <= b); };
template <class T>
constexpr auto kNlt = [](T a, T b) { return !(a < b); };
template <class T>
constexpr auto kFalse = [](T, T) { return false; };
template <class T>
constexpr auto kTrue = [](T, T) { return true; };

// f16 compares are those of the values in f32.
template <auto F>
constexpr auto kHalf = [](F16 a, F16 b) { return F(a.f(), b.f()); };

// v_cmp_class: one bit of the mask a class of number.
constexpr bool in_class(u32 wanted, bool negative, bool exponent_all, bool exponent_none, bool mantissa, bool quiet) {
  u32 n;
  if (exponent_all)
    n = mantissa ? (quiet ? 1 : 0) : (negative ? 2 : 9);
  else if (!exponent_none)
    n = negative ? 3 : 8;
  else
    n = mantissa ? (negative ? 4 : 7) : (negative ? 5 : 6);
  return (wanted >> n) & 1;
}
constexpr auto class_f32 = [](float a, u32 wanted) {
  const u32 x = float_bits(a), e = x & 0x7f800000u, m = x & 0x7fffffu;
  return in_class(wanted, x >> 31, e == 0x7f800000u, e == 0, m != 0, m & 0x400000u);
};
constexpr auto class_f16 = [](F16 a, u32 wanted) {
  const u32 x = a.bits, e = x & 0x7c00, m = x & 0x3ff;
  return in_class(wanted, x >> 15, e == 0x7c00, e == 0, m != 0, m & 0x200);
};
constexpr auto class_f64 = [](double a, u32 wanted) {
  const u64 x = __builtin_bit_cast(u64, a), e = x & 0x7ff0000000000000ull, m = x & 0xfffffffffffffull;
  return in_class(wanted, x >> 63, e == 0x7ff0000000000000ull, e == 0, m != 0, m & 0x8000000000000ull);
};

// v_cmp, and v_cmpx in both spellings: gfx9 names VCC (which is written too), later archs only write EXEC.
#define EMU_CMP(name, sig, f)                                                          \
  alu<f>("v_cmp_" name, 0, "mask=" sig), alu<f>("v_cmpx_" name, kOpCmpx, "mask=" sig), \
      alu<f>("v_cmpx_" name, kOpCmpx, "=" sig)
#define EMU_INT(type, T)                                                                      \
  EMU_CMP("lt_" type, type "," type, kLt<T>), EMU_CMP("eq_" type, type "," type, kEq<T>),     \
      EMU_CMP("le_" type, type "," type, kLe<T>), EMU_CMP("gt_" type, type "," type, kGt<T>), \
      EMU_CMP("ne_" type, type "," type, kNe<T>), EMU_CMP("ge_" type, type "," type, kGe<T>), \
      EMU_CMP("t_" type, type "," type, kTrue<T>), EMU_CMP("f_" type, type "," type, kFalse<T>)
#define EMU_FLOAT(type, T, W)                                                                               \
  EMU_CMP("f_" type, type "," type, W(kFalse<T>)), EMU_CMP("lt_" type, type "," type, W(kLt<T>)),           \
      EMU_CMP("eq_" type, type "," type, W(kEq<T>)), EMU_CMP("le_" type, type "," type, W(kLe<T>)),         \
      EMU_CMP("gt_" type, type "," type, W(kGt<T>)), EMU_CMP("lg_" type, type "," type, W(kLg<T>)),         \
      EMU_CMP("ge_" type, type "," type, W(kGe<T>)), EMU_CMP("o_" type, type "," type, W(kOrdered<T>)),     \
      EMU_CMP("u_" type, type "," type, W(kUnordered<T>)), EMU_CMP("nge_" type, type "," type, W(kNge<T>)), \
      EMU_CMP("nlg_" type, type "," type, W(kNlg<T>)), EMU_CMP("ngt_" type, type "," type, W(kNgt<T>)),     \
      EMU_CMP("nle_" type, type "," type, W(kNle<T>)), EMU_CMP("neq_" type, type "," type, W(kNe<T>)),      \
      EMU_CMP("nlt_" type, type "," type, W(kNlt<T>)), EMU_CMP("tru_" type, type "," type, W(kTrue<T>)),    \
      EMU_CMP("t_" type, type "," type, W(kTrue<T>))
#define EMU_PLAIN(f) f
#define EMU_HALF(f) kHalf<f>

const OpRow kRows[] = {
    EMU_INT("i16", i16),
    EMU_INT("u16", u16),
    EMU_INT("i32", i32),
    EMU_INT("u32", u32),
    EMU_INT("i64", i64),
    EMU_INT("u64", u64),
    EMU_FLOAT("f16", float, EMU_HALF),
    EMU_FLOAT("f32", float, EMU_PLAIN),
    EMU_FLOAT("f64", double, EMU_PLAIN),
    EMU_CMP("class_f16", "f16,u32", class_f16),
    EMU_CMP("class_f32", "f32,u32", class_f32),
    EMU_CMP("class_f64", "f64,u32", class_f64),
};

}  // namespace

OpTable valu_cmp_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
