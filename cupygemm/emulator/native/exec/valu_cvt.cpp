// Conversions among f16, bf16, f32, f64, fp8 and integers.
//
// To integers: towards zero, saturating, NaN to 0. FP8 codes are FNUZ on gfx942 and OCP elsewhere; too large a number
// becomes infinity or NaN, or the largest finite one where MODE.FP16_OVFL is set.
#include "fp.hpp"
#include "half.hpp"
#include "lanes.hpp"
#include "numeric.hpp"

namespace emu {

namespace {

constexpr auto f32_i32 = [](i32 a) { return float(a); };
constexpr auto f32_u32 = [](u32 a) { return float(a); };
constexpr auto i32_f32 = [](float a) { return to_i32(a); };
constexpr auto u32_f32 = [](float a) { return to_u32(a); };
constexpr auto nearest_i32 = [](float a) { return to_i32(__builtin_floor(double(a) + 0.5)); };
constexpr auto floor_i32 = [](float a) { return to_i32(__builtin_floorf(a)); };
constexpr auto f64_i32 = [](i32 a) { return double(a); };
constexpr auto f64_u32 = [](u32 a) { return double(a); };
constexpr auto i32_f64 = [](double a) { return to_i32(a); };
constexpr auto u32_f64 = [](double a) { return to_u32(a); };
constexpr auto f32_f64 = [](double a) { return float(a); };
constexpr auto f64_f32 = [](float a) { return double(a); };
constexpr auto f16_f32 = [](const Env& e, float a) { return F16{to_f16(e, a)}; };
constexpr auto f32_f16 = [](const Env& e, F16 a) { return value(e, a); };
constexpr auto f16_u16 = [](const Env& e, u16 a) { return F16{to_f16(e, float(a))}; };
constexpr auto f16_i16 = [](const Env& e, i16 a) { return F16{to_f16(e, float(a))}; };
constexpr auto u16_f16 = [](const Env& e, F16 a) { return u16(to_range(value(e, a), 0, 65535)); };
constexpr auto i16_f16 = [](const Env& e, F16 a) { return i16(to_range(value(e, a), -32768, 32767)); };
constexpr auto i32_i16 = [](i16 a) { return i32(a); };
constexpr auto u32_u16 = [](u16 a) { return u32(a); };
template <int N>
constexpr auto kUbyte = [](u32 a) { return float(i32((a >> (8 * N)) & 0xff)); };
// A signed nibble in sixteenths.
constexpr auto off_f32_i4 = [](u32 a) { return float(i32(a << 28) >> 28) * 0.0625f; };

constexpr u32 pack(u32 lo, u32 hi) { return (lo & 0xffff) | (hi << 16); }
EMU_INLINE u32 to_f16_rtz(float x) {
  const u32 r = f32_to_f16(x);
  const float y = f16_to_f32(r), size = y < 0 ? -y : y, want = x < 0 ? -x : x;
  return size > want ? r - 1 : r;
}
constexpr auto pkrtz = [](float a, float b) { return PF16{pack(to_f16_rtz(a), to_f16_rtz(b))}; };
constexpr auto pk_f16 = [](const Env& e, float a, float b) { return PF16{pack(to_f16(e, a), to_f16(e, b))}; };
constexpr auto pk_bf16 = [](float a, float b) { return PBF16{pack(f32_to_bf16(a), f32_to_bf16(b))}; };
constexpr auto f32_bf16 = [](BF16 a) { return a.f() != a.f() ? quiet(a.f()) : a.f(); };
constexpr auto pk_u8_f32 = [](float a, u32 at, u32 old) {
  const u32 shift = 8 * (at & 3);
  return (old & ~(0xffu << shift)) | (u32(to_range(a, 0, 255)) << shift);
};
EMU_INLINE u32 snorm16(float x) {
  return u32(to_range(__builtin_roundevenf((x > 1 ? 1 : x < -1 ? -1 : x) * 32767), -32767, 32767));
}
EMU_INLINE u32 unorm16(float x) {
  return u32(to_range(__builtin_roundevenf((x > 1 ? 1 : x < 0 ? 0 : x) * 65535), 0, 65535));
}
constexpr auto pknorm_i16_f32 = [](float a, float b) { return PI16{pack(snorm16(a), snorm16(b))}; };
constexpr auto pknorm_u16_f32 = [](float a, float b) { return PI16{pack(unorm16(a), unorm16(b))}; };
constexpr auto pknorm_i16_f16 = [](F16 a, F16 b) { return PI16{pack(snorm16(a.f()), snorm16(b.f()))}; };
constexpr auto pknorm_u16_f16 = [](F16 a, F16 b) { return PI16{pack(unorm16(a.f()), unorm16(b.f()))}; };
constexpr auto norm_i16_f16 = [](F16 a) { return i16(snorm16(a.f())); };
constexpr auto norm_u16_f16 = [](F16 a) { return u16(unorm16(a.f())); };
constexpr auto pk_u16_u32 = [](u32 a, u32 b) { return PI16{pack(a > 65535 ? 65535 : a, b > 65535 ? 65535 : b)}; };
EMU_INLINE u32 clamp16(i32 x) { return u32(x > 32767 ? 32767 : x < -32768 ? -32768 : x); }
constexpr auto pk_i16_i32 = [](i32 a, i32 b) { return PI16{pack(clamp16(a), clamp16(b))}; };
constexpr auto pk_i16_f32 = [](float a, float b) {
  return PI16{pack(u32(to_range(a, -32768, 32767)), u32(to_range(b, -32768, 32767)))};
};
constexpr auto pk_u16_f32 = [](float a, float b) {
  return PI16{pack(u32(to_range(a, 0, 65535)), u32(to_range(b, 0, 65535)))};
};

// ---- FP8
// --------------------------------------------------------------------------------------------------------------

template <bool kBf8>
EMU_INLINE float decode8(const Env& e, u32 code) {
  if (e.arch == Arch::kCdna3) return kBf8 ? decode<kE5m2Fnuz>(code) : decode<kE4m3Fnuz>(code);
  return kBf8 ? decode<kE5m2>(code) : decode<kE4m3>(code);
}
template <bool kBf8>
EMU_INLINE u32 encode8(const Env& e, float x, Round round) {
  const bool saturate = e.mode.fp16_ovfl;
  if (e.arch == Arch::kCdna3)
    return kBf8 ? encode<kE5m2Fnuz>(x, round, saturate) : encode<kE4m3Fnuz>(x, round, saturate);
  return kBf8 ? encode<kE5m2>(x, round, saturate) : encode<kE4m3>(x, round, saturate);
}
// The byte is named by SDWA (gfx9, already applied) or byte_sel (gfx12).
template <bool kBf8>
constexpr auto kFromByte =
    [](const Env& e, u32 a) { return decode8<kBf8>(e, (a >> (8 * (e.insn->offset1 & 3))) & 0xff); };
template <bool kBf8>
constexpr auto kFromPair =
    [](const Env& e, u16 a) { return PF32{decode8<kBf8>(e, a & 0xffu), decode8<kBf8>(e, a >> 8)}; };
template <bool kBf8>
constexpr auto kToPair = [](const Env& e, float a, float b, u32 old) {
  const u32 pair = encode8<kBf8>(e, a, Round::kNearestEven) | (encode8<kBf8>(e, b, Round::kNearestEven) << 8);
  return e.insn->op_sel & 8 ? (old & 0xffff) | (pair << 16) : (old & 0xffff0000) | pair;
};
// Stochastic rounding: bits of the seed are added below the last place that is kept, and the rest is cut off.
template <bool kBf8>
constexpr auto kToByte = [](const Env& e, float a, u32 seed, u32 old) {
  const u32 bits = float_bits(a), dropped = kBf8 ? 21 : 20;
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  const float x = finite ? bits_float(bits + (seed >> (32 - dropped))) : a;
  const u32 byte = encode8<kBf8>(e, x, Round::kZero);
  const u32 at =
      8 * (is_cdna(e.arch) ? ((e.insn->op_sel >> 3) & 1) * 2 + ((e.insn->op_sel >> 2) & 1) : u32(e.insn->offset1 & 3));
  return (old & ~(0xffu << at)) | (byte << at);
};

const OpRow kRows[] = {
    alu<f32_i32>("v_cvt_f32_i32"),
    alu<f32_u32>("v_cvt_f32_u32"),
    alu<i32_f32>("v_cvt_i32_f32"),
    alu<u32_f32>("v_cvt_u32_f32"),
    alu<nearest_i32>("v_cvt_rpi_i32_f32"),
    alu<nearest_i32>("v_cvt_nearest_i32_f32"),
    alu<floor_i32>("v_cvt_flr_i32_f32"),
    alu<floor_i32>("v_cvt_floor_i32_f32"),
    alu<f64_i32>("v_cvt_f64_i32"),
    alu<f64_u32>("v_cvt_f64_u32"),
    alu<i32_f64>("v_cvt_i32_f64"),
    alu<u32_f64>("v_cvt_u32_f64"),
    alu<f32_f64>("v_cvt_f32_f64"),
    alu<f64_f32>("v_cvt_f64_f32"),
    alu<f16_f32>("v_cvt_f16_f32", kOpF16),
    alu<f32_f16>("v_cvt_f32_f16"),
    alu<f16_u16>("v_cvt_f16_u16", kOpF16),
    alu<f16_i16>("v_cvt_f16_i16", kOpF16),
    alu<u16_f16>("v_cvt_u16_f16"),
    alu<i16_f16>("v_cvt_i16_f16"),
    alu<i32_i16>("v_cvt_i32_i16"),
    alu<u32_u16>("v_cvt_u32_u16"),
    alu<kUbyte<0>>("v_cvt_f32_ubyte0"),
    alu<kUbyte<1>>("v_cvt_f32_ubyte1"),
    alu<kUbyte<2>>("v_cvt_f32_ubyte2"),
    alu<kUbyte<3>>("v_cvt_f32_ubyte3"),
    alu<off_f32_i4>("v_cvt_off_f32_i4"),
    alu<pkrtz>("v_cvt_pkrtz_f16_f32"),
    alu<pkrtz>("v_cvt_pk_rtz_f16_f32"),
    alu<pk_f16>("v_cvt_pk_f16_f32", kOpF16),
    alu<pk_bf16>("v_cvt_pk_bf16_f32"),
    alu<f32_bf16>("v_cvt_f32_bf16"),
    alu<pk_u8_f32>("v_cvt_pk_u8_f32"),
    alu<pknorm_i16_f32>("v_cvt_pknorm_i16_f32"),
    alu<pknorm_i16_f32>("v_cvt_pk_norm_i16_f32"),
    alu<pknorm_u16_f32>("v_cvt_pknorm_u16_f32"),
    alu<pknorm_u16_f32>("v_cvt_pk_norm_u16_f32"),
    alu<pknorm_i16_f16>("v_cvt_pknorm_i16_f16"),
    alu<pknorm_i16_f16>("v_cvt_pk_norm_i16_f16"),
    alu<pknorm_u16_f16>("v_cvt_pknorm_u16_f16"),
    alu<pknorm_u16_f16>("v_cvt_pk_norm_u16_f16"),
    alu<norm_i16_f16>("v_cvt_norm_i16_f16"),
    alu<norm_u16_f16>("v_cvt_norm_u16_f16"),
    alu<pk_u16_u32>("v_cvt_pk_u16_u32"),
    alu<pk_i16_i32>("v_cvt_pk_i16_i32"),
    alu<pk_i16_f32>("v_cvt_pk_i16_f32"),
    alu<pk_u16_f32>("v_cvt_pk_u16_f32"),
    alu<kFromByte<false>>("v_cvt_f32_fp8"),
    alu<kFromByte<true>>("v_cvt_f32_bf8"),
    alu<kFromPair<false>>("v_cvt_pk_f32_fp8"),
    alu<kFromPair<true>>("v_cvt_pk_f32_bf8"),
    alu<kToPair<false>>("v_cvt_pk_fp8_f32", 0, "u32=f32,f32,u32@dst"),
    alu<kToPair<true>>("v_cvt_pk_bf8_f32", 0, "u32=f32,f32,u32@dst"),
    alu<kToByte<false>>("v_cvt_sr_fp8_f32", 0, "u32=f32,u32,u32@dst"),
    alu<kToByte<true>>("v_cvt_sr_bf8_f32", 0, "u32=f32,u32,u32@dst"),
};

}  // namespace

OpTable valu_cvt_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
