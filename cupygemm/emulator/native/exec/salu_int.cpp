// Scalar integer instructions: moves, arithmetic, logic, shifts, bit fields, compares; and those that combine EXEC with
// a mask.
#include "salu.hpp"

namespace emu {

namespace {

template <class T>
constexpr auto kMov = [](T a) { return a; };
template <class T>
constexpr auto kNot = [](T a) { return WithScc<T>{T(~a), T(~a) != 0}; };
template <class T>
constexpr auto kAnd = [](T a, T b) { return WithScc<T>{T(a & b), (a & b) != 0}; };
template <class T>
constexpr auto kOr = [](T a, T b) { return WithScc<T>{T(a | b), (a | b) != 0}; };
template <class T>
constexpr auto kXor = [](T a, T b) { return WithScc<T>{T(a ^ b), (a ^ b) != 0}; };
template <class T>
constexpr auto kAndNot = [](T a, T b) { return WithScc<T>{T(a & ~b), (a & ~b) != 0}; };
template <class T>
constexpr auto kOrNot = [](T a, T b) { return WithScc<T>{T(a | ~b), (a | ~b) != 0}; };
template <class T>
constexpr auto kNand = [](T a, T b) { return WithScc<T>{T(~(a & b)), T(~(a & b)) != 0}; };
template <class T>
constexpr auto kNor = [](T a, T b) { return WithScc<T>{T(~(a | b)), T(~(a | b)) != 0}; };
template <class T>
constexpr auto kXnor = [](T a, T b) { return WithScc<T>{T(~(a ^ b)), T(~(a ^ b)) != 0}; };
// Shift counts are taken modulo the width.
template <class T>
constexpr auto kShl = [](T a, u32 n) {
  const T r = a << (n & (sizeof(T) * 8 - 1));
  return WithScc<T>{r, r != 0};
};
template <class T>
constexpr auto kShr = [](T a, u32 n) {
  const T r = a >> (n & (sizeof(T) * 8 - 1));
  return WithScc<T>{r, r != 0};
};
template <class T>
constexpr auto kBrev =
    [](T a) { return sizeof(T) == 8 ? T(__builtin_bitreverse64(a)) : T(__builtin_bitreverse32(u32(a))); };
template <class T>
constexpr auto kBfm = [](u32 n, u32 at) {
  constexpr u32 m = sizeof(T) * 8 - 1;
  return T(((T(1) << (n & m)) - 1) << (at & m));
};
// Offset in the low bits, width in 22:16; the field of a signed type is sign-extended.
template <class T>
constexpr auto kBfe = [](T a, u32 field) {
  constexpr u32 bits = sizeof(T) * 8;
  const u32 at = field & (bits - 1), n = (field >> 16) & 0x7f;
  T r = a >> at;
  if (n == 0)
    r = 0;
  else if (n < bits)
    r = T(T(r << (bits - n)) >> (bits - n));
  return WithScc<T>{r, r != 0};
};
template <class T>
constexpr auto kSelect = [](const ScalarEnv& e, T a, T b) { return e.scc ? a : b; };
template <class T>
constexpr auto kCmov = [](const ScalarEnv& e, T a, T old) { return e.scc ? a : old; };
template <class T>
constexpr auto kCountOnes = [](T a) {
  const i32 n = __builtin_popcountll(a);
  return WithScc<i32>{n, n != 0};
};
template <class T>
constexpr auto kCountZeros = [](T a) {
  const i32 n = i32(sizeof(T) * 8) - __builtin_popcountll(a);
  return WithScc<i32>{n, n != 0};
};
template <class T>
constexpr auto kFirstOne = [](T a) { return a ? __builtin_ctzll(a) : -1; };
template <class T>
constexpr auto kFirstZero = [](T a) { return T(~a) ? __builtin_ctzll(T(~a)) : -1; };
template <class T>
constexpr auto kLeadingZeros = [](T a) { return a ? __builtin_clzll(a) - i32(64 - sizeof(T) * 8) : -1; };
// Leading bits equal to the sign bit, the sign bit counted; -1 if all are.
template <class T>
constexpr auto kLeadingSigns = [](T a) {
  const T x = a < 0 ? ~a : a;
  return x ? __builtin_clzll(u64(x)) - i32(64 - sizeof(T) * 8) : -1;
};
template <class T>
constexpr auto kMin = [](T a, T b) { return WithScc<T>{a < b ? a : b, a < b}; };
template <class T>
constexpr auto kMax = [](T a, T b) { return WithScc<T>{a >= b ? a : b, a >= b}; };
template <int N>
constexpr auto kShlAdd = [](u32 a, u32 b) {
  const u64 r = (u64(a) << N) + b;
  return WithScc<u32>{u32(r), (r >> 32) != 0};
};
template <bool kHighA, bool kHighB>
constexpr auto kPack = [](u32 a, u32 b) { return ((kHighA ? a >> 16 : a) & 0xffff) | ((kHighB ? b >> 16 : b) << 16); };

constexpr auto add_u32 = [](u32 a, u32 b) {
  const u64 r = u64(a) + b;
  return WithScc<u32>{u32(r), (r >> 32) != 0};
};
constexpr auto sub_u32 = [](u32 a, u32 b) { return WithScc<u32>{a - b, b > a}; };
constexpr auto add_i32 = [](i32 a, i32 b) {
  i32 r;
  const bool overflow = __builtin_add_overflow(a, b, &r);
  return WithScc<i32>{r, overflow};
};
constexpr auto sub_i32 = [](i32 a, i32 b) {
  i32 r;
  const bool overflow = __builtin_sub_overflow(a, b, &r);
  return WithScc<i32>{r, overflow};
};
constexpr auto addc = [](const ScalarEnv& e, u32 a, u32 b) {
  const u64 r = u64(a) + b + e.scc;
  return WithScc<u32>{u32(r), (r >> 32) != 0};
};
constexpr auto subb = [](const ScalarEnv& e, u32 a, u32 b) { return WithScc<u32>{a - b - e.scc, u64(b) + e.scc > a}; };
constexpr auto add_u64 = [](u64 a, u64 b) { return a + b; };
constexpr auto sub_u64 = [](u64 a, u64 b) { return a - b; };
constexpr auto mul_u64 = [](u64 a, u64 b) { return a * b; };
constexpr auto mul_i32 = [](u32 a, u32 b) { return a * b; };
constexpr auto mul_hi_u32 = [](u32 a, u32 b) { return u32((u64(a) * b) >> 32); };
constexpr auto mul_hi_i32 = [](i32 a, i32 b) { return i32((i64(a) * b) >> 32); };
constexpr auto sext_i8 = [](u32 a) { return i32(i8(a)); };
constexpr auto sext_i16 = [](u32 a) { return i32(i16(a)); };
constexpr auto abs_i32 = [](i32 a) {
  const i32 r = a < 0 ? i32(0u - u32(a)) : a;
  return WithScc<i32>{r, r != 0};
};
constexpr auto absdiff = [](i32 a, i32 b) {
  const u32 d = u32(a) - u32(b);
  const i32 r = i32(i32(d) < 0 ? 0u - d : d);
  return WithScc<i32>{r, r != 0};
};
constexpr auto bitset0_b32 = [](u32 n, u32 old) { return old & ~(1u << (n & 31)); };
constexpr auto bitset1_b32 = [](u32 n, u32 old) { return old | (1u << (n & 31)); };
constexpr auto bitset0_b64 = [](u32 n, u64 old) { return old & ~(u64(1) << (n & 63)); };
constexpr auto bitset1_b64 = [](u32 n, u64 old) { return old | (u64(1) << (n & 63)); };
constexpr auto bitreplicate = [](u32 a) {
  u64 r = 0;
  for (int b = 0; b < 32; b++) r |= u64((a >> b) & 1) * (u64(3) << (2 * b));
  return r;
};
template <class T>
constexpr auto kQuadMask = [](T a) {
  T r = 0;
  for (u32 q = 0; q < sizeof(T) * 2; q++) r |= T(((a >> (4 * q)) & 15) != 0) << q;
  return WithScc<T>{r, r != 0};
};
template <class T>
constexpr auto kWholeQuad = [](T a) {
  T r = 0;
  for (u32 q = 0; q < sizeof(T) * 2; q++) r |= T(((a >> (4 * q)) & 15) ? 15 : 0) << (4 * q);
  return WithScc<T>{r, r != 0};
};
// The 16-bit immediate of these is sign-extended.
constexpr auto movk = [](u32 k) { return i32(i16(k)); };
constexpr auto cmovk = [](const ScalarEnv& e, u32 k, i32 old) { return e.scc ? i32(i16(k)) : old; };
constexpr auto addk = [](u32 k, i32 old) {
  i32 r;
  const bool overflow = __builtin_add_overflow(old, i32(i16(k)), &r);
  return WithScc<i32>{r, overflow};
};
constexpr auto mulk = [](u32 k, i32 old) { return i32(u32(old) * u32(i32(i16(k)))); };

#define EMU_COMPARE(fn, op)                                                    \
  template <class T>                                                           \
  constexpr auto fn = [](T a, T b) { return Scc{a op b}; };                    \
  constexpr auto fn##_ki = [](i32 a, u32 k) { return Scc{a op i32(i16(k))}; }; \
  constexpr auto fn##_ku = [](u32 a, u32 k) { return Scc{a op u32(u16(k))}; };
EMU_COMPARE(kEq, ==)
EMU_COMPARE(kNe, !=)
EMU_COMPARE(kGt, >)
EMU_COMPARE(kGe, >=)
EMU_COMPARE(kLt, <)
EMU_COMPARE(kLe, <=)
template <class T, bool kWant>
constexpr auto kBitCompare = [](T a, u32 n) { return Scc{bool((a >> (n & (sizeof(T) * 8 - 1))) & 1) == kWant}; };

// ---- EXEC combined with a mask: D = EXEC, then EXEC = op(S0, EXEC); the `wrexec` forms also give D the new EXEC.

enum class MaskOp { kAnd, kOr, kXor, kNand, kNor, kXnor, kAndN1, kAndN2, kOrN1, kOrN2 };

// N1 negates the source, N2 negates EXEC.
u64 combine(MaskOp op, u64 s, u64 exec) {
  switch (op) {
    case MaskOp::kAnd:
      return s & exec;
    case MaskOp::kOr:
      return s | exec;
    case MaskOp::kXor:
      return s ^ exec;
    case MaskOp::kNand:
      return ~(s & exec);
    case MaskOp::kNor:
      return ~(s | exec);
    case MaskOp::kXnor:
      return ~(s ^ exec);
    case MaskOp::kAndN1:
      return ~s & exec;
    case MaskOp::kAndN2:
      return s & ~exec;
    case MaskOp::kOrN1:
      return ~s | exec;
    case MaskOp::kOrN2:
      return s | ~exec;
  }
  return 0;
}

template <int L, MaskOp kOp, int kBits, bool kWrite>
void saveexec(Wave<L>& w, const Insn& i) {
  constexpr u64 mask = kBits == 64 ? ~0ull : 0xffffffffull;
  const u64 old = w.exec(), s = kBits == 64 ? read_s64(w, i.src[0]) : read_s32(w, i.src[0]);
  const u64 fresh = (combine(kOp, s, old) & mask) | (old & ~mask);
  w.set_exec(fresh);
  const u64 d = kWrite ? fresh : old;
  if (kBits == 64)
    write_s64(w, i.dst[0], d);
  else
    write_s32(w, i.dst[0], u32(d));
  w.scc = (fresh & mask) != 0;
}

#define EMU_SAVE(text, op)                                                                               \
  row("s_" text "_saveexec_b32", "b32=b32", &saveexec<32, op, 32, false>, &saveexec<64, op, 32, false>), \
      row("s_" text "_saveexec_b64", "b64=b64", &saveexec<32, op, 64, false>, &saveexec<64, op, 64, false>)
#define EMU_WRITE(text, op)                                                                          \
  row("s_" text "_wrexec_b32", "b32=b32", &saveexec<32, op, 32, true>, &saveexec<64, op, 32, true>), \
      row("s_" text "_wrexec_b64", "b64=b64", &saveexec<32, op, 64, true>, &saveexec<64, op, 64, true>)
#define EMU_BOTH(text, f) salu<f<u32>>("s_" text "_b32"), salu<f<u64>>("s_" text "_b64")
#define EMU_CMP(text, f)                                                  \
  salu<f<i32>>("s_cmp_" text "_i32"), salu<f<u32>>("s_cmp_" text "_u32"), \
      salu<f##_ki>("s_cmpk_" text "_i32", "=i32,imm"), salu<f##_ku>("s_cmpk_" text "_u32", "=u32,imm")

const OpRow kRows[] = {
    EMU_BOTH("mov", kMov),
    EMU_BOTH("not", kNot),
    EMU_BOTH("and", kAnd),
    EMU_BOTH("or", kOr),
    EMU_BOTH("xor", kXor),
    EMU_BOTH("andn2", kAndNot),
    EMU_BOTH("and_not1", kAndNot),
    EMU_BOTH("orn2", kOrNot),
    EMU_BOTH("or_not1", kOrNot),
    EMU_BOTH("nand", kNand),
    EMU_BOTH("nor", kNor),
    EMU_BOTH("xnor", kXnor),
    EMU_BOTH("lshl", kShl),
    EMU_BOTH("lshr", kShr),
    EMU_BOTH("brev", kBrev),
    EMU_BOTH("bfm", kBfm),
    EMU_BOTH("cselect", kSelect),
    salu<kCmov<u32>>("s_cmov_b32", "b32=b32,b32@dst"),
    salu<kCmov<u64>>("s_cmov_b64", "b64=b64,b64@dst"),
    EMU_BOTH("quadmask", kQuadMask),
    EMU_BOTH("wqm", kWholeQuad),
    salu<kShr<i32>>("s_ashr_i32"),
    salu<kShr<i64>>("s_ashr_i64"),
    salu<kBfe<u32>>("s_bfe_u32"),
    salu<kBfe<i32>>("s_bfe_i32"),
    salu<kBfe<u64>>("s_bfe_u64"),
    salu<kBfe<i64>>("s_bfe_i64"),
    salu<kCountOnes<u32>>("s_bcnt1_i32_b32"),
    salu<kCountOnes<u64>>("s_bcnt1_i32_b64"),
    salu<kCountZeros<u32>>("s_bcnt0_i32_b32"),
    salu<kCountZeros<u64>>("s_bcnt0_i32_b64"),
    salu<kFirstOne<u32>>("s_ff1_i32_b32"),
    salu<kFirstOne<u64>>("s_ff1_i32_b64"),
    salu<kFirstOne<u32>>("s_ctz_i32_b32"),
    salu<kFirstOne<u64>>("s_ctz_i32_b64"),
    salu<kFirstZero<u32>>("s_ff0_i32_b32"),
    salu<kFirstZero<u64>>("s_ff0_i32_b64"),
    salu<kLeadingZeros<u32>>("s_flbit_i32_b32"),
    salu<kLeadingZeros<u64>>("s_flbit_i32_b64"),
    salu<kLeadingZeros<u32>>("s_clz_i32_u32"),
    salu<kLeadingZeros<u64>>("s_clz_i32_u64"),
    salu<kLeadingSigns<i32>>("s_flbit_i32"),
    salu<kLeadingSigns<i64>>("s_flbit_i32_i64"),
    salu<kLeadingSigns<i32>>("s_cls_i32"),
    salu<kLeadingSigns<i64>>("s_cls_i32_i64"),
    salu<kMin<i32>>("s_min_i32"),
    salu<kMin<u32>>("s_min_u32"),
    salu<kMax<i32>>("s_max_i32"),
    salu<kMax<u32>>("s_max_u32"),
    salu<kShlAdd<1>>("s_lshl1_add_u32"),
    salu<kShlAdd<2>>("s_lshl2_add_u32"),
    salu<kShlAdd<3>>("s_lshl3_add_u32"),
    salu<kShlAdd<4>>("s_lshl4_add_u32"),
    salu<kPack<false, false>>("s_pack_ll_b32_b16"),
    salu<kPack<false, true>>("s_pack_lh_b32_b16"),
    salu<kPack<true, true>>("s_pack_hh_b32_b16"),
    salu<kPack<true, false>>("s_pack_hl_b32_b16"),
    salu<add_u32>("s_add_u32"),
    salu<add_u32>("s_add_co_u32"),
    salu<sub_u32>("s_sub_u32"),
    salu<sub_u32>("s_sub_co_u32"),
    salu<add_i32>("s_add_i32"),
    salu<add_i32>("s_add_co_i32"),
    salu<sub_i32>("s_sub_i32"),
    salu<sub_i32>("s_sub_co_i32"),
    salu<addc>("s_addc_u32"),
    salu<addc>("s_add_co_ci_u32"),
    salu<subb>("s_subb_u32"),
    salu<subb>("s_sub_co_ci_u32"),
    salu<add_u64>("s_add_nc_u64"),
    salu<add_u64>("s_add_u64"),
    salu<sub_u64>("s_sub_nc_u64"),
    salu<sub_u64>("s_sub_u64"),
    salu<mul_u64>("s_mul_u64"),
    salu<mul_i32>("s_mul_i32"),
    salu<mul_hi_u32>("s_mul_hi_u32"),
    salu<mul_hi_i32>("s_mul_hi_i32"),
    salu<sext_i8>("s_sext_i32_i8"),
    salu<sext_i16>("s_sext_i32_i16"),
    salu<abs_i32>("s_abs_i32"),
    salu<absdiff>("s_absdiff_i32"),
    salu<bitset0_b32>("s_bitset0_b32", "b32=b32,b32@dst"),
    salu<bitset1_b32>("s_bitset1_b32", "b32=b32,b32@dst"),
    salu<bitset0_b64>("s_bitset0_b64", "b64=b32,b64@dst"),
    salu<bitset1_b64>("s_bitset1_b64", "b64=b32,b64@dst"),
    salu<bitreplicate>("s_bitreplicate_b64_b32"),
    salu<movk>("s_movk_i32", "i32=imm"),
    salu<cmovk>("s_cmovk_i32", "i32=imm,i32@dst"),
    salu<addk>("s_addk_i32", "i32=imm,i32@dst"),
    salu<addk>("s_addk_co_i32", "i32=imm,i32@dst"),
    salu<mulk>("s_mulk_i32", "i32=imm,i32@dst"),
    EMU_CMP("eq", kEq),
    EMU_CMP("lg", kNe),
    EMU_CMP("gt", kGt),
    EMU_CMP("ge", kGe),
    EMU_CMP("lt", kLt),
    EMU_CMP("le", kLe),
    salu<kEq<u64>>("s_cmp_eq_u64"),
    salu<kNe<u64>>("s_cmp_lg_u64"),
    salu<kBitCompare<u32, false>>("s_bitcmp0_b32"),
    salu<kBitCompare<u32, true>>("s_bitcmp1_b32"),
    salu<kBitCompare<u64, false>>("s_bitcmp0_b64"),
    salu<kBitCompare<u64, true>>("s_bitcmp1_b64"),
    EMU_SAVE("and", MaskOp::kAnd),
    EMU_SAVE("or", MaskOp::kOr),
    EMU_SAVE("xor", MaskOp::kXor),
    EMU_SAVE("nand", MaskOp::kNand),
    EMU_SAVE("nor", MaskOp::kNor),
    EMU_SAVE("xnor", MaskOp::kXnor),
    EMU_SAVE("andn1", MaskOp::kAndN1),
    EMU_SAVE("andn2", MaskOp::kAndN2),
    EMU_SAVE("orn1", MaskOp::kOrN1),
    EMU_SAVE("orn2", MaskOp::kOrN2),
    EMU_SAVE("and_not0", MaskOp::kAndN1),
    EMU_SAVE("and_not1", MaskOp::kAndN2),
    EMU_SAVE("or_not0", MaskOp::kOrN1),
    EMU_SAVE("or_not1", MaskOp::kOrN2),
    EMU_WRITE("andn1", MaskOp::kAndN1),
    EMU_WRITE("andn2", MaskOp::kAndN2),
    EMU_WRITE("and_not0", MaskOp::kAndN1),
    EMU_WRITE("and_not1", MaskOp::kAndN2),
};

}  // namespace

OpTable salu_int_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
