// The epilogue of scaled products: scales, bias, activation, conversion.
#pragma once
#include "epilogue.hpp"

namespace cg {

// Steps count elements: 0 applies one number to all rows (columns).
struct ScaledArgs : GemmArgs {
  const float* scale_a;  // of row m at m * scale_a_step
  const float* scale_b;  // of column n at n * scale_b_step
  const float* bias;     // of column n at n
  i64 scale_a_step, scale_b_step;
  const u32* blocks_a;  // block scales (block_scaled.hpp)
  const u32* blocks_b;
};

enum class Activation { kNone, kRelu, kGelu, kSilu };

CG_DEVICE float exp2_of(float x) { return __builtin_amdgcn_exp2f(x); }
CG_DEVICE float sigmoid(float x) { return __builtin_amdgcn_rcpf(1.0f + exp2_of(-1.442695041f * x)); }

// gelu by its tanh form, x / 2 (1 + tanh(u)) = x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks and
// Gimpel, "Gaussian Error Linear Units").
template <Activation kActivation>
CG_DEVICE float activate(float x) {
  if constexpr (kActivation == Activation::kRelu) return x > 0.0f || x != x ? x : 0.0f;
  if constexpr (kActivation == Activation::kGelu) return x * sigmoid(1.595769122f * (x + 0.044715f * x * x * x));
  if constexpr (kActivation == Activation::kSilu) return x * sigmoid(x);
  return x;
}

// Scales, bias and activation on the way.
template <class Stores, bool kScaled, bool kBias, Activation kActivation>
struct ScaledStore {
  using Out = typename Stores::Out;
  template <class Inside, class Compute, class Storage>
  CG_DEVICE void run(const Compute& compute, const typename Compute::Accumulator& acc, const GemmArgs& base,
                     i64 c_offset, int row0, int col0, Storage& lds) {
    const ScaledArgs& args = static_cast<const ScaledArgs&>(base);
    store_result<Stores, Inside>(compute, acc, base, c_offset, row0, col0, lds,
                                 [&](auto sum, int m, int n) { return finish(args, sum, m, n); });
  }

 private:
  template <class Sum>
  CG_DEVICE Out finish(const ScaledArgs& args, Sum sum, int m, int n) {
    if constexpr (__is_same(Out, int)) return sum;  // int32 results of int8 operands, which are not scaled
    float x = static_cast<float>(sum);
    if constexpr (kScaled) x *= args.scale_a[m * args.scale_a_step] * args.scale_b[n * args.scale_b_step];
    if constexpr (kBias) x += args.bias[n];
    return convert<Out>(activate<kActivation>(x));
  }
};

}  // namespace cg
