// From a scalar C++ function to a VALU opcode.
//
// `alu<f>("v_add_f32")` makes a table row of a function on one lane's values; its parameter types give the signature.
// The row's core runs the function over 32 lanes in a loop that the compiler vectorises; the shared handler (valu.cpp)
// resolves operands, source and result modifiers, DPP, SDWA and EXEC, once for all opcodes and in 32-lane halves for
// both wave sizes.
//
// A function may take `const Env&` first, for MODE and modifiers. bool parameters and results are lane-mask bits.
#pragma once
#include <utility>

#include "operands.hpp"
#include "ops.hpp"
#include "types.hpp"

namespace emu {

// What a lane function may ask besides its operands.
struct Env {
  const Insn* insn;
  const FpMode& mode;
  Arch arch;
  bool clamp;
};

constexpr int kMaxAluSrc = 4;

// How a 16-bit result enters its register.
enum class Half : u8 { kZeroHigh, kLow, kHigh };

struct LaneArgs {
  Env env;
  Half half;
  u32* d[2];
  const u32* s[kMaxAluSrc][2];
  u32 exec;
  u32 mask_in;
  u32 mask_out;  // not yet restricted to EXEC

  LaneArgs(const Env& e, Half h) : env(e), half(h) {}  // the rest is set a half wave at a time
};

template <class T>
EMU_INLINE T load_lane(const u32* const* p, int l) {
  if constexpr (sizeof(T) == 8) {
    u64 x = p[0][l] | (u64(p[1][l]) << 32);
    return __builtin_bit_cast(T, x);
  } else if constexpr (sizeof(T) == 2) {
    return T(p[0][l]);
  } else {
    return __builtin_bit_cast(T, p[0][l]);
  }
}
template <>
EMU_INLINE F16 load_lane<F16>(const u32* const* p, int l) {
  return F16{p[0][l] & 0xffff};
}
template <>
EMU_INLINE BF16 load_lane<BF16>(const u32* const* p, int l) {
  return BF16{p[0][l] & 0xffff};
}

template <class T>
constexpr bool kIs16 = __is_same(T, u16) || __is_same(T, i16) || __is_same(T, F16) || __is_same(T, BF16);

template <class T>
EMU_INLINE void store_lane(u32* r0, u32* r1, int l, T x) {
  if constexpr (sizeof(T) == 8) {
    u64 bits = __builtin_bit_cast(u64, x);
    r0[l] = u32(bits);
    r1[l] = u32(bits >> 32);
  } else if constexpr (sizeof(T) == 2) {
    r0[l] = u16(x);
  } else {
    r0[l] = __builtin_bit_cast(u32, x);
  }
}

template <class T>
EMU_INLINE void finish(LaneArgs& x, u32* r0, const u32* r1) {
  if constexpr (kIs16<T>) {
    if (x.half == Half::kLow)
      for (int l = 0; l < 32; l++) r0[l] = (r0[l] & 0xffff) | (x.d[0][l] & 0xffff0000);
    else if (x.half == Half::kHigh)
      for (int l = 0; l < 32; l++) r0[l] = (r0[l] << 16) | (x.d[0][l] & 0xffff);
  }
  blend32(x.d[0], r0, x.exec);
  if constexpr (sizeof(T) == 8) blend32(x.d[1], r1, x.exec);
}

template <class T>
struct Unmasked {
  using Type = T;
  static constexpr bool kMasked = false;
};
template <class T>
struct Unmasked<WithMask<T>> {
  using Type = T;
  static constexpr bool kMasked = true;
};

template <class A>
EMU_INLINE A lane_argument(const LaneArgs& x, int n, int l) {
  if constexpr (__is_same(A, bool))
    return (x.mask_in >> l) & 1;
  else
    return load_lane<A>(x.s[n], l);
}

// Place of parameter n among those that are not masks, as LaneArgs::s numbers them.
template <class... A>
constexpr int place(int n) {
  const bool mask[] = {__is_same(A, bool)...};
  int at = 0;
  for (int k = 0; k < n; k++) at += !mask[k];
  return at;
}

template <auto F, bool kEnv, class R, class... A>
EMU_INLINE R call_lane(const LaneArgs& x, const Env& env, int l) {
  return [&]<size_t... N>(std::index_sequence<N...>) __attribute__((always_inline)) {
    if constexpr (kEnv)
      return F(env, lane_argument<A>(x, place<A...>(N), l)...);
    else
      return F(lane_argument<A>(x, place<A...>(N), l)...);
  }(std::index_sequence_for<A...>{});
}

template <auto F, bool kEnv, class R, class... A>
void run_core(LaneArgs& x) {
  alignas(64) u32 r0[32];
  [[maybe_unused]] alignas(64) u32 r1[32], flag[32];
  using T = typename Unmasked<R>::Type;
  // Copies, which the stores below cannot change: the loop vectorises.
  const FpMode mode = x.env.mode;
  const Env env{x.env.insn, mode, x.env.arch, x.env.clamp};
  for (int l = 0; l < 32; l++) {
    const R r = call_lane<F, kEnv, R, A...>(x, env, l);
    if constexpr (__is_same(R, bool)) {
      flag[l] = r;
    } else if constexpr (Unmasked<R>::kMasked) {
      store_lane<T>(r0, r1, l, r.value);
      flag[l] = r.mask;
    } else {
      store_lane<T>(r0, r1, l, r);
    }
  }
  if constexpr (__is_same(R, bool) || Unmasked<R>::kMasked) x.mask_out = pack32(flag);
  if constexpr (!__is_same(R, bool)) finish<T>(x, r0, r1);
}

template <class R, class... A>
constexpr SigText make_signature() {
  SigText s;
  s.add(TypeTraits<typename Unmasked<R>::Type>::name);
  if (Unmasked<R>::kMasked) s.add(",mask");
  s.add("=");
  bool first = true;
  ((s.add(first ? "" : ","), s.add(TypeTraits<A>::name), first = false), ...);
  return s;
}
template <class R, class... A>
inline constexpr SigText kSignature = make_signature<R, A...>();

template <class F>
struct FunctionTraits : FunctionTraits<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct FunctionTraits<R (C::*)(A...) const> {
  template <auto F>
  static constexpr Core core = &run_core<F, false, R, A...>;
  static constexpr const char* signature = kSignature<R, A...>.text;
  static constexpr bool f64 = (__is_same(A, double) || ... || __is_same(typename Unmasked<R>::Type, double));
};
template <class C, class R, class... A>
struct FunctionTraits<R (C::*)(const Env&, A...) const> {
  template <auto F>
  static constexpr Core core = &run_core<F, true, R, A...>;
  static constexpr const char* signature = kSignature<R, A...>.text;
  static constexpr bool f64 = (__is_same(A, double) || ... || __is_same(typename Unmasked<R>::Type, double));
};
template <int L>
void run_valu(Wave<L>& w, const Insn& i);

// The handler of this instruction: run_valu, or a shorter one for the plainest operands. To be called once the
// instruction is linked.
u64 valu_handler(const Insn& i, u32 wave_size);

// `signature` overrides the one from the types (an operand that the text leaves out, VCC of v_cndmask in VOPD).
template <auto F>
constexpr OpRow alu(const char* name, u32 flags = 0, const char* signature = nullptr) {
  using T = FunctionTraits<decltype(F)>;
  return OpRow{name,
               signature ? signature : T::signature,
               &run_valu<32>,
               &run_valu<64>,
               T::template core<F>,
               flags | (T::f64 ? u32(kOpF64) : 0u)};
}

}  // namespace emu
