// VALU arithmetic on f32.
#include "fp.hpp"
#include "lanes.hpp"

namespace emu {

namespace {

constexpr auto add = [](float a, float b) { return a + b; };
constexpr auto sub = [](float a, float b) { return a - b; };
constexpr auto subrev = [](float a, float b) { return b - a; };
constexpr auto mul = [](float a, float b) { return a * b; };
// The DX9 multiply: zero times anything is +0.
constexpr auto mul_legacy = [](float a, float b) { return a == 0.0f || b == 0.0f ? 0.0f : a * b; };
constexpr auto fma = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };
constexpr auto fma_legacy = [](float a, float b, float c) {
  return a == 0.0f || b == 0.0f ? (c != c ? quiet(c) : c) : __builtin_fmaf(a, b, c);
};
constexpr auto mad = [](float a, float b, float c) { return a * b + c; };
constexpr const char* kAccumulate = "f32=f32,f32,f32@dst";

constexpr auto min2 = [](const Env& e, float a, float b) { return fp_min(e, a, b); };
constexpr auto max2 = [](const Env& e, float a, float b) { return fp_max(e, a, b); };
constexpr auto minimum = [](float a, float b) { return fp_minimum(a, b); };
constexpr auto maximum = [](float a, float b) { return fp_maximum(a, b); };
constexpr auto min3 = [](const Env& e, float a, float b, float c) { return fp_min(e, fp_min(e, a, b), c); };
constexpr auto max3 = [](const Env& e, float a, float b, float c) { return fp_max(e, fp_max(e, a, b), c); };
constexpr auto med3 = [](const Env& e, float a, float b, float c) { return fp_med3(e, a, b, c); };
constexpr auto minmax = [](const Env& e, float a, float b, float c) { return fp_max(e, fp_min(e, a, b), c); };
constexpr auto maxmin = [](const Env& e, float a, float b, float c) { return fp_min(e, fp_max(e, a, b), c); };
constexpr auto minimum3 = [](float a, float b, float c) { return fp_minimum(fp_minimum(a, b), c); };
constexpr auto maximum3 = [](float a, float b, float c) { return fp_maximum(fp_maximum(a, b), c); };
constexpr auto minimummaximum = [](float a, float b, float c) { return fp_maximum(fp_minimum(a, b), c); };
constexpr auto maximumminimum = [](float a, float b, float c) { return fp_minimum(fp_maximum(a, b), c); };

constexpr auto trunc = [](float a) { return __builtin_truncf(a); };
constexpr auto ceil = [](float a) { return __builtin_ceilf(a); };
constexpr auto floor = [](float a) { return __builtin_floorf(a); };
constexpr auto rndne = [](float a) { return __builtin_roundevenf(a); };
// The largest f32 below one bounds the fraction, as for -2^-30.
constexpr auto fract = [](float a) {
  const float f = a - __builtin_floorf(a);
  return f >= 1.0f ? bits_float(0x3f7fffffu) : f;
};

const OpRow kRows[] = {
    alu<add>("v_add_f32"),
    alu<sub>("v_sub_f32"),
    alu<subrev>("v_subrev_f32"),
    alu<mul>("v_mul_f32"),
    alu<mul_legacy>("v_mul_legacy_f32"),
    alu<mul_legacy>("v_mul_dx9_zero_f32"),
    alu<fma>("v_fma_f32"),
    alu<fma>("v_fmac_f32", 0, kAccumulate),
    alu<fma>("v_fmaak_f32"),
    alu<fma>("v_fmamk_f32"),
    alu<fma_legacy>("v_fma_legacy_f32"),
    alu<fma_legacy>("v_fma_dx9_zero_f32"),
    alu<fma_legacy>("v_fmac_legacy_f32", 0, kAccumulate),
    alu<fma_legacy>("v_fmac_dx9_zero_f32", 0, kAccumulate),
    alu<mad>("v_mad_f32"),
    alu<mad>("v_mac_f32", 0, kAccumulate),
    alu<mad>("v_madak_f32"),
    alu<mad>("v_madmk_f32"),
    alu<min2>("v_min_f32"),
    alu<max2>("v_max_f32"),
    alu<min2>("v_min_num_f32"),
    alu<max2>("v_max_num_f32"),
    alu<minimum>("v_minimum_f32"),
    alu<maximum>("v_maximum_f32"),
    alu<min3>("v_min3_f32"),
    alu<max3>("v_max3_f32"),
    alu<med3>("v_med3_f32"),
    alu<min3>("v_min3_num_f32"),
    alu<max3>("v_max3_num_f32"),
    alu<med3>("v_med3_num_f32"),
    alu<minmax>("v_minmax_f32"),
    alu<maxmin>("v_maxmin_f32"),
    alu<minmax>("v_minmax_num_f32"),
    alu<maxmin>("v_maxmin_num_f32"),
    alu<minimum3>("v_minimum3_f32"),
    alu<maximum3>("v_maximum3_f32"),
    alu<minimummaximum>("v_minimummaximum_f32"),
    alu<maximumminimum>("v_maximumminimum_f32"),
    alu<trunc>("v_trunc_f32"),
    alu<ceil>("v_ceil_f32"),
    alu<floor>("v_floor_f32"),
    alu<rndne>("v_rndne_f32"),
    alu<fract>("v_fract_f32"),
};

}  // namespace

OpTable valu_f32_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
