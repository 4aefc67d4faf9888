// VALU arithmetic on f64.
#include "fp.hpp"
#include "lanes.hpp"

namespace emu {

namespace {

constexpr auto add = [](double a, double b) { return a + b; };
constexpr auto mul = [](double a, double b) { return a * b; };
constexpr auto fma = [](double a, double b, double c) { return __builtin_fma(a, b, c); };
constexpr auto min2 = [](const Env& e, double a, double b) { return fp_min(e, a, b); };
constexpr auto max2 = [](const Env& e, double a, double b) { return fp_max(e, a, b); };
constexpr auto minimum = [](double a, double b) { return fp_minimum(a, b); };
constexpr auto maximum = [](double a, double b) { return fp_maximum(a, b); };
constexpr auto trunc = [](double a) { return __builtin_trunc(a); };
constexpr auto ceil = [](double a) { return __builtin_ceil(a); };
constexpr auto floor = [](double a) { return __builtin_floor(a); };
constexpr auto rndne = [](double a) { return __builtin_roundeven(a); };
// The largest f64 below one bounds the fraction.
constexpr auto fract = [](double a) {
  const double f = a - __builtin_floor(a);
  return f >= 1.0 ? 0x1.fffffffffffffp-1 : f;
};

const OpRow kRows[] = {
    alu<add>("v_add_f64"),         alu<mul>("v_mul_f64"),
    alu<fma>("v_fma_f64"),         alu<fma>("v_fmac_f64", 0, "f64=f64,f64,f64@dst"),
    alu<min2>("v_min_f64"),        alu<max2>("v_max_f64"),
    alu<min2>("v_min_num_f64"),    alu<max2>("v_max_num_f64"),
    alu<minimum>("v_minimum_f64"), alu<maximum>("v_maximum_f64"),
    alu<trunc>("v_trunc_f64"),     alu<ceil>("v_ceil_f64"),
    alu<floor>("v_floor_f64"),     alu<rndne>("v_rndne_f64"),
    alu<fract>("v_fract_f64"),
};

}  // namespace

OpTable valu_f64_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
