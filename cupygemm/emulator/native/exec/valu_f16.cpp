// VALU arithmetic on f16, and the mixed-precision multiply-add.
#include "fp.hpp"
#include "half.hpp"
#include "lanes.hpp"

namespace emu {

namespace {

template <auto F>
constexpr auto kUnary = [](const Env& e, F16 a) { return F16{to_f16(e, F(value(e, a)))}; };
template <auto F>
constexpr auto kBinary = [](const Env& e, F16 a, F16 b) { return F16{to_f16(e, F(e, value(e, a), value(e, b)))}; };
template <auto F>
constexpr auto kTernary =
    [](const Env& e, F16 a, F16 b, F16 c) { return F16{to_f16(e, F(e, value(e, a), value(e, b), value(e, c)))}; };

constexpr auto add = [](const Env&, float a, float b) { return a + b; };
constexpr auto sub = [](const Env&, float a, float b) { return a - b; };
constexpr auto subrev = [](const Env&, float a, float b) { return b - a; };
constexpr auto mul = [](const Env&, float a, float b) { return a * b; };
constexpr auto min2 = [](const Env& e, float a, float b) { return fp_min(e, a, b); };
constexpr auto max2 = [](const Env& e, float a, float b) { return fp_max(e, a, b); };
constexpr auto minimum = [](const Env&, float a, float b) { return fp_minimum(a, b); };
constexpr auto maximum = [](const Env&, float a, float b) { return fp_maximum(a, b); };
constexpr auto min3 = [](const Env& e, float a, float b, float c) { return fp_min(e, fp_min(e, a, b), c); };
constexpr auto max3 = [](const Env& e, float a, float b, float c) { return fp_max(e, fp_max(e, a, b), c); };
constexpr auto med3 = [](const Env& e, float a, float b, float c) { return fp_med3(e, a, b, c); };
constexpr auto minmax = [](const Env& e, float a, float b, float c) { return fp_max(e, fp_min(e, a, b), c); };
constexpr auto maxmin = [](const Env& e, float a, float b, float c) { return fp_min(e, fp_max(e, a, b), c); };
constexpr auto minimum3 = [](const Env&, float a, float b, float c) { return fp_minimum(fp_minimum(a, b), c); };
constexpr auto maximum3 = [](const Env&, float a, float b, float c) { return fp_maximum(fp_maximum(a, b), c); };
constexpr auto minimummaximum = [](const Env&, float a, float b, float c) { return fp_maximum(fp_minimum(a, b), c); };
constexpr auto maximumminimum = [](const Env&, float a, float b, float c) { return fp_minimum(fp_maximum(a, b), c); };

constexpr auto trunc = [](float a) { return __builtin_truncf(a); };
constexpr auto ceil = [](float a) { return __builtin_ceilf(a); };
constexpr auto floor = [](float a) { return __builtin_floorf(a); };
constexpr auto rndne = [](float a) { return __builtin_roundevenf(a); };
// The largest f16 below one bounds the fraction.
constexpr auto fract = [](float a) {
  const float f = a - __builtin_floorf(a), most = bits_float(0x3f7fe000u);
  return f > most ? most : f;
};

constexpr auto fma = [](const Env& e, F16 a, F16 b, F16 c) {
  return F16{fma_f16(e, value(e, a), value(e, b), value(e, c))};
};
// The product rounded to f16 before the addition.
constexpr auto mad = [](const Env& e, F16 a, F16 b, F16 c) {
  return F16{to_f16(e, f16_to_f32(to_f16(e, value(e, a) * value(e, b))) + value(e, c))};
};
constexpr auto mix = [](Mix a, Mix b, Mix c) { return __builtin_fmaf(a.f, b.f, c.f); };
// Rounded to f32 first, as the hardware's f32 multiply-add does, and then to f16.
constexpr auto mix_f16 = [](const Env& e, Mix a, Mix b, Mix c) {
  return F16{to_f16(e, __builtin_fmaf(a.f, b.f, c.f))};
};

constexpr auto pack = [](F16 a, F16 b) { return u32(a.bits) | u32(b.bits) << 16; };

constexpr const char* kAccumulate = "f16=f16,f16,f16@dst";

const OpRow kRows[] = {
    alu<pack>("v_pack_b32_f16"),
    alu<kBinary<add>>("v_add_f16", kOpF16),
    alu<kBinary<sub>>("v_sub_f16", kOpF16),
    alu<kBinary<subrev>>("v_subrev_f16", kOpF16),
    alu<kBinary<mul>>("v_mul_f16", kOpF16),
    alu<kBinary<min2>>("v_min_f16", kOpF16),
    alu<kBinary<max2>>("v_max_f16", kOpF16),
    alu<kBinary<min2>>("v_min_num_f16", kOpF16),
    alu<kBinary<max2>>("v_max_num_f16", kOpF16),
    alu<kBinary<minimum>>("v_minimum_f16", kOpF16),
    alu<kBinary<maximum>>("v_maximum_f16", kOpF16),
    alu<kTernary<min3>>("v_min3_f16", kOpF16 | kOpKeepHigh),
    alu<kTernary<max3>>("v_max3_f16", kOpF16 | kOpKeepHigh),
    alu<kTernary<med3>>("v_med3_f16", kOpF16 | kOpKeepHigh),
    alu<kTernary<min3>>("v_min3_num_f16", kOpF16),
    alu<kTernary<max3>>("v_max3_num_f16", kOpF16),
    alu<kTernary<med3>>("v_med3_num_f16", kOpF16),
    alu<kTernary<minmax>>("v_minmax_f16", kOpF16),
    alu<kTernary<maxmin>>("v_maxmin_f16", kOpF16),
    alu<kTernary<minmax>>("v_minmax_num_f16", kOpF16),
    alu<kTernary<maxmin>>("v_maxmin_num_f16", kOpF16),
    alu<kTernary<minimum3>>("v_minimum3_f16", kOpF16),
    alu<kTernary<maximum3>>("v_maximum3_f16", kOpF16),
    alu<kTernary<minimummaximum>>("v_minimummaximum_f16", kOpF16),
    alu<kTernary<maximumminimum>>("v_maximumminimum_f16", kOpF16),
    alu<kUnary<trunc>>("v_trunc_f16", kOpF16),
    alu<kUnary<ceil>>("v_ceil_f16", kOpF16),
    alu<kUnary<floor>>("v_floor_f16", kOpF16),
    alu<kUnary<rndne>>("v_rndne_f16", kOpF16),
    alu<kUnary<fract>>("v_fract_f16", kOpF16),
    alu<fma>("v_fma_f16", kOpF16 | kOpKeepHigh),
    alu<fma>("v_fmac_f16", kOpF16 | kOpKeepHigh, kAccumulate),
    alu<fma>("v_fmaak_f16", kOpF16 | kOpKeepHigh),
    alu<fma>("v_fmamk_f16", kOpF16 | kOpKeepHigh),
    alu<mad>("v_mad_f16", kOpF16 | kOpKeepHigh),
    alu<mad>("v_mac_f16", kOpF16, kAccumulate),
    alu<mix>("v_fma_mix_f32"),
    alu<mix_f16>("v_fma_mixlo_f16", kOpKeepHigh),
    alu<mix_f16>("v_fma_mixhi_f16", kOpHighResult),
};

}  // namespace

OpTable valu_f16_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
