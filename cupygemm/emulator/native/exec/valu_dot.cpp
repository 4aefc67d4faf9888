// Dot products of packed operands with an accumulator.
//
// Float ones: products are exact, summed with the accumulator in double and rounded to the result once; hardware does
// not promise an order.
#include "half.hpp"
#include "lanes.hpp"

namespace emu {

namespace {

constexpr i32 saturate(i64 x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : i32(x); }
constexpr u32 saturate_u(u64 x) { return x > UINT32_MAX ? UINT32_MAX : u32(x); }

template <int kBits, bool kSigned>
constexpr i64 element(u32 x, int n) {
  const u32 raw = (x >> (n * kBits)) & ((1u << kBits) - 1);
  return kSigned ? i64(i32(raw << (32 - kBits)) >> (32 - kBits)) : i64(raw);
}

template <int kBits, bool kSignedA, bool kSignedB>
constexpr i64 dot(u32 a, u32 b) {
  i64 sum = 0;
  for (int n = 0; n < 32 / kBits; n++) sum += element<kBits, kSignedA>(a, n) * element<kBits, kSignedB>(b, n);
  return sum;
}

template <int kBits>
constexpr auto kSigned = [](const Env& e, u32 a, u32 b, i32 c) {
  const i64 r = dot<kBits, true, true>(a, b) + c;
  return e.clamp ? saturate(r) : i32(r);
};
template <int kBits>
constexpr auto kUnsigned = [](const Env& e, u32 a, u32 b, u32 c) {
  const u64 r = u64(dot<kBits, false, false>(a, b)) + c;
  return e.clamp ? saturate_u(r) : u32(r);
};
// neg_lo says which of the operands is signed.
template <int kBits>
constexpr auto kMixed = [](const Env& e, u32 a, u32 b, i32 c) {
  const bool sa = e.insn->neg_lo & 1, sb = e.insn->neg_lo & 2;
  const i64 sum = sa ? (sb ? dot<kBits, true, true>(a, b) : dot<kBits, true, false>(a, b))
                     : (sb ? dot<kBits, false, true>(a, b) : dot<kBits, false, false>(a, b));
  return e.clamp ? saturate(sum + c) : i32(sum + c);
};
// Halfwords in packed operands, whose op_sel has been applied.
constexpr auto dot2_i32_i16 = [](const Env& e, PI16 a, PI16 b, i32 c) {
  const i64 r = dot<16, true, true>(a.bits, b.bits) + c;
  return e.clamp ? saturate(r) : i32(r);
};
constexpr auto dot2_u32_u16 = [](const Env& e, PI16 a, PI16 b, u32 c) {
  const u64 r = u64(dot<16, false, false>(a.bits, b.bits)) + c;
  return e.clamp ? saturate_u(r) : u32(r);
};

constexpr auto dot2_f32_f16 = [](PF16 a, PF16 b, float c) {
  return float(double(a.lo()) * double(b.lo()) + double(a.hi()) * double(b.hi()) + double(c));
};
constexpr auto dot2_f32_bf16 = [](PBF16 a, PBF16 b, float c) {
  return float(double(a.lo()) * double(b.lo()) + double(a.hi()) * double(b.hi()) + double(c));
};
constexpr auto dot2_f16_f16 = [](const Env& e, PF16 a, PF16 b, F16 c) {
  return F16{to_f16(e, to_odd_f32(double(a.lo()) * double(b.lo()) + double(a.hi()) * double(b.hi()) + double(c.f())))};
};
constexpr auto dot2_bf16_bf16 = [](PBF16 a, PBF16 b, BF16 c) {
  return BF16{
      f32_to_bf16(to_odd_f32(double(a.lo()) * double(b.lo()) + double(a.hi()) * double(b.hi()) + double(c.f())))};
};

template <bool kBf8>
constexpr float decode8(u32 code) {
  return kBf8 ? decode<kE5m2>(code) : decode<kE4m3>(code);
}
template <bool kBfA, bool kBfB>
constexpr auto kDot4F8 = [](u32 a, u32 b, float c) {
  double sum = c;
  for (int k = 0; k < 4; k++)
    sum += double(decode8<kBfA>((a >> (8 * k)) & 0xff)) * double(decode8<kBfB>((b >> (8 * k)) & 0xff));
  return float(sum);
};

const OpRow kRows[] = {
    alu<dot2_f32_f16>("v_dot2_f32_f16"),
    alu<dot2_f32_f16>("v_dot2c_f32_f16", 0, "f32=pf16,pf16,f32@dst"),
    alu<dot2_f32_f16>("v_dot2acc_f32_f16", 0, "f32=pf16,pf16,f32@dst"),
    alu<dot2_f32_bf16>("v_dot2_f32_bf16"),
    alu<dot2_f32_bf16>("v_dot2c_f32_bf16", 0, "f32=pbf16,pbf16,f32@dst"),
    alu<dot2_f32_bf16>("v_dot2acc_f32_bf16", 0, "f32=pbf16,pbf16,f32@dst"),
    alu<dot2_f16_f16>("v_dot2_f16_f16", kOpF16),
    alu<dot2_bf16_bf16>("v_dot2_bf16_bf16"),
    alu<dot2_i32_i16>("v_dot2_i32_i16"),
    alu<dot2_u32_u16>("v_dot2_u32_u16"),
    alu<dot2_i32_i16>("v_dot2c_i32_i16", 0, "i32=pi16,pi16,i32@dst"),
    alu<kSigned<8>>("v_dot4_i32_i8"),
    alu<kSigned<8>>("v_dot4c_i32_i8", 0, "i32=u32,u32,i32@dst"),
    alu<kUnsigned<8>>("v_dot4_u32_u8"),
    alu<kSigned<4>>("v_dot8_i32_i4"),
    alu<kSigned<4>>("v_dot8c_i32_i4", 0, "i32=u32,u32,i32@dst"),
    alu<kUnsigned<4>>("v_dot8_u32_u4"),
    alu<kMixed<8>>("v_dot4_i32_iu8"),
    alu<kMixed<4>>("v_dot8_i32_iu4"),
    alu<kDot4F8<false, false>>("v_dot4_f32_fp8_fp8"),
    alu<kDot4F8<false, true>>("v_dot4_f32_fp8_bf8"),
    alu<kDot4F8<true, false>>("v_dot4_f32_bf8_fp8"),
    alu<kDot4F8<true, true>>("v_dot4_f32_bf8_bf8"),
};

}  // namespace

OpTable valu_dot_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
