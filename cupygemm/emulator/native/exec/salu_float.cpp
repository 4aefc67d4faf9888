// Scalar floating point (gfx11.5, gfx12), and the pseudo-scalar transcendentals of gfx12.
#include "fp.hpp"
#include "half.hpp"
#include "numeric.hpp"
#include "salu.hpp"
#include "trans.hpp"

namespace emu {

namespace {

Env lane_env(const ScalarEnv& e) { return {e.insn, e.mode, Arch::kRdna4, false}; }

constexpr auto add = [](float a, float b) { return a + b; };
constexpr auto sub = [](float a, float b) { return a - b; };
constexpr auto mul = [](float a, float b) { return a * b; };
constexpr auto fma = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };
constexpr auto min_num = [](const ScalarEnv& e, float a, float b) { return fp_min(lane_env(e), a, b); };
constexpr auto max_num = [](const ScalarEnv& e, float a, float b) { return fp_max(lane_env(e), a, b); };
constexpr auto minimum = [](float a, float b) { return fp_minimum(a, b); };
constexpr auto maximum = [](float a, float b) { return fp_maximum(a, b); };
constexpr auto trunc = [](float a) { return __builtin_truncf(a); };
constexpr auto ceil = [](float a) { return __builtin_ceilf(a); };
constexpr auto floor = [](float a) { return __builtin_floorf(a); };
constexpr auto rndne = [](float a) { return __builtin_roundevenf(a); };

// The f32 operation on f16 numbers, rounded to f16.
template <auto F>
constexpr auto kHalf1 = [](const ScalarEnv& e, F16 a) {
  const Env env = lane_env(e);
  return F16{to_f16(env, F(value(env, a)))};
};
template <auto F>
constexpr auto kHalf2 = [](const ScalarEnv& e, F16 a, F16 b) {
  const Env env = lane_env(e);
  return F16{to_f16(env, F(value(env, a), value(env, b)))};
};
constexpr auto half_min = [](const ScalarEnv& e, F16 a, F16 b) {
  const Env env = lane_env(e);
  return F16{to_f16(env, fp_min(env, value(env, a), value(env, b)))};
};
constexpr auto half_max = [](const ScalarEnv& e, F16 a, F16 b) {
  const Env env = lane_env(e);
  return F16{to_f16(env, fp_max(env, value(env, a), value(env, b)))};
};
constexpr auto half_fma = [](const ScalarEnv& e, F16 a, F16 b, F16 c) {
  const Env env = lane_env(e);
  return F16{fma_f16(env, value(env, a), value(env, b), value(env, c))};
};

constexpr auto f32_i32 = [](i32 a) { return float(a); };
constexpr auto f32_u32 = [](u32 a) { return float(a); };
constexpr auto i32_f32 = [](float a) { return to_i32(a); };
constexpr auto u32_f32 = [](float a) { return to_u32(a); };
constexpr auto f16_f32 = [](const ScalarEnv& e, float a) { return F16{to_f16(lane_env(e), a)}; };
constexpr auto f32_f16 = [](const ScalarEnv& e, F16 a) { return value(lane_env(e), a); };
constexpr auto hi_f32_f16 = [](const ScalarEnv& e, u32 a) { return f16_value(lane_env(e), a >> 16); };
u32 truncate_f16(float x) {
  const u32 r = f32_to_f16(x);
  const float y = f16_to_f32(r);
  return (y < 0 ? -y : y) > (x < 0 ? -x : x) ? r - 1 : r;
}
constexpr auto pk_rtz = [](float a, float b) { return truncate_f16(a) | (truncate_f16(b) << 16); };

constexpr auto lt = [](float a, float b) { return a < b; };
constexpr auto eq = [](float a, float b) { return a == b; };
constexpr auto le = [](float a, float b) { return a <= b; };
constexpr auto gt = [](float a, float b) { return a > b; };
constexpr auto lg = [](float a, float b) { return a < b || a > b; };
constexpr auto ge = [](float a, float b) { return a >= b; };
constexpr auto ordered = [](float a, float b) { return a == a && b == b; };
constexpr auto unordered = [](float a, float b) { return a != a || b != b; };
constexpr auto nge = [](float a, float b) { return !(a >= b); };
constexpr auto nlg = [](float a, float b) { return !(a < b || a > b); };
constexpr auto ngt = [](float a, float b) { return !(a > b); };
constexpr auto nle = [](float a, float b) { return !(a <= b); };
constexpr auto neq = [](float a, float b) { return a != b; };
constexpr auto nlt = [](float a, float b) { return !(a < b); };
template <auto F>
constexpr auto kCompare = [](float a, float b) { return Scc{F(a, b)}; };
template <auto F>
constexpr auto kCompareHalf = [](F16 a, F16 b) { return Scc{F(a.f(), b.f())}; };

constexpr auto rcp_fn = [](double x) { return rcp_double(x); };
constexpr auto rsq_fn = [](double x) { return rsq_double(x); };
constexpr auto sqrt_fn = [](double x) { return sqrt_double(x); };
constexpr auto exp_fn = [](double x) { return exp_double(x); };
constexpr auto log_fn = [](double x) { return log_double(x); };
template <auto F>
constexpr auto kTrans = [](float a) { return trans_f32<F>(a); };
template <auto F>
constexpr auto kTransHalf = [](const ScalarEnv& e, F16 a) {
  const Env env = lane_env(e);
  return F16{to_f16(env, to_odd_f32(F(double(value(env, a)))))};
};

#define EMU_CMP(name, f) salu<kCompare<f>>("s_cmp_" name "_f32"), salu<kCompareHalf<f>>("s_cmp_" name "_f16")

const OpRow kRows[] = {
    salu<add>("s_add_f32"),
    salu<sub>("s_sub_f32"),
    salu<mul>("s_mul_f32"),
    salu<fma>("s_fmac_f32", "f32=f32,f32,f32@dst"),
    salu<fma>("s_fmaak_f32"),
    salu<fma>("s_fmamk_f32"),
    salu<min_num>("s_min_f32"),
    salu<max_num>("s_max_f32"),
    salu<min_num>("s_min_num_f32"),
    salu<max_num>("s_max_num_f32"),
    salu<minimum>("s_minimum_f32"),
    salu<maximum>("s_maximum_f32"),
    salu<trunc>("s_trunc_f32"),
    salu<ceil>("s_ceil_f32"),
    salu<floor>("s_floor_f32"),
    salu<rndne>("s_rndne_f32"),
    salu<kHalf2<add>>("s_add_f16"),
    salu<kHalf2<sub>>("s_sub_f16"),
    salu<kHalf2<mul>>("s_mul_f16"),
    salu<half_fma>("s_fmac_f16", "f16=f16,f16,f16@dst"),
    salu<half_min>("s_min_f16"),
    salu<half_max>("s_max_f16"),
    salu<half_min>("s_min_num_f16"),
    salu<half_max>("s_max_num_f16"),
    salu<kHalf2<minimum>>("s_minimum_f16"),
    salu<kHalf2<maximum>>("s_maximum_f16"),
    salu<kHalf1<trunc>>("s_trunc_f16"),
    salu<kHalf1<ceil>>("s_ceil_f16"),
    salu<kHalf1<floor>>("s_floor_f16"),
    salu<kHalf1<rndne>>("s_rndne_f16"),
    salu<f32_i32>("s_cvt_f32_i32"),
    salu<f32_u32>("s_cvt_f32_u32"),
    salu<i32_f32>("s_cvt_i32_f32"),
    salu<u32_f32>("s_cvt_u32_f32"),
    salu<f16_f32>("s_cvt_f16_f32"),
    salu<f32_f16>("s_cvt_f32_f16"),
    salu<hi_f32_f16>("s_cvt_hi_f32_f16"),
    salu<pk_rtz>("s_cvt_pk_rtz_f16_f32"),
    EMU_CMP("lt", lt),
    EMU_CMP("eq", eq),
    EMU_CMP("le", le),
    EMU_CMP("gt", gt),
    EMU_CMP("lg", lg),
    EMU_CMP("ge", ge),
    EMU_CMP("o", ordered),
    EMU_CMP("u", unordered),
    EMU_CMP("nge", nge),
    EMU_CMP("nlg", nlg),
    EMU_CMP("ngt", ngt),
    EMU_CMP("nle", nle),
    EMU_CMP("neq", neq),
    EMU_CMP("nlt", nlt),
    salu<kTrans<rcp_fn>>("v_s_rcp_f32"),
    salu<kTrans<rsq_fn>>("v_s_rsq_f32"),
    salu<kTrans<sqrt_fn>>("v_s_sqrt_f32"),
    salu<kTrans<exp_fn>>("v_s_exp_f32"),
    salu<kTrans<log_fn>>("v_s_log_f32"),
    salu<kTransHalf<rcp_fn>>("v_s_rcp_f16"),
    salu<kTransHalf<rsq_fn>>("v_s_rsq_f16"),
    salu<kTransHalf<sqrt_fn>>("v_s_sqrt_f16"),
    salu<kTransHalf<exp_fn>>("v_s_exp_f16"),
    salu<kTransHalf<log_fn>>("v_s_log_f16"),
};

}  // namespace

OpTable salu_float_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
