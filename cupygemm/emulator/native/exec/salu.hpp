// From a C++ function on scalars to a SALU opcode: `salu<f>("s_add_u32")`. Parameter types give the signature.
#pragma once
#include <utility>

#include "operands.hpp"
#include "ops.hpp"
#include "types.hpp"

namespace emu {

// A result and the new SCC.
template <class T>
struct WithScc {
  T value;
  bool scc;
};
// No result but SCC.
struct Scc {
  bool scc;
};
struct ScalarEnv {
  bool scc;
  FpMode mode;
  const Insn* insn;
};

template <class T>
struct ScalarResult {
  using Type = T;
};
template <>
struct ScalarResult<Scc> {
  using Type = u32;
};
template <class T>
struct ScalarResult<WithScc<T>> {
  using Type = T;
};

template <class R, class... A>
constexpr SigText make_scalar_signature() {
  SigText s;
  if (!__is_same(R, Scc)) s.add(TypeTraits<typename ScalarResult<R>::Type>::name);
  s.add("=");
  bool first = true;
  ((s.add(first ? "" : ","), s.add(TypeTraits<A>::name), first = false), ...);
  return s;
}
template <class R, class... A>
inline constexpr SigText kScalarSignature = make_scalar_signature<R, A...>();

template <class A, int L>
EMU_INLINE A read_scalar(const Wave<L>& w, const Operand& o) {
  if constexpr (__is_same(A, F16)) {
    const u32 x = read_s32(w, o);
    return F16{((o.mods & kHigh) ? x >> 16 : x) & 0xffff};
  } else if constexpr (sizeof(A) == 8) {
    return __builtin_bit_cast(A, read_s64(w, o));
  } else if constexpr (sizeof(A) == 2) {
    return A(read_s32(w, o));
  } else {
    return __builtin_bit_cast(A, read_s32(w, o));
  }
}

template <class T, int L>
EMU_INLINE void write_scalar(Wave<L>& w, const Operand& o, T x) {
  if constexpr (sizeof(T) == 8)
    write_s64(w, o, __builtin_bit_cast(u64, x));
  else if constexpr (sizeof(T) == 2)
    write_s32(w, o, u16(x));
  else
    write_s32(w, o, __builtin_bit_cast(u32, x));
}

template <int L, auto F, bool kEnv, class R, class... A>
void run_salu(Wave<L>& w, const Insn& i) {
  const R r = [&]<size_t... N>(std::index_sequence<N...>) __attribute__((always_inline)) {
    if constexpr (kEnv)
      return F(ScalarEnv{w.scc, w.mode, &i}, read_scalar<A>(w, i.src[N])...);
    else
      return F(read_scalar<A>(w, i.src[N])...);
  }(std::index_sequence_for<A...>{});
  if constexpr (__is_same(R, Scc)) {
    w.scc = r.scc;
  } else if constexpr (!__is_same(R, typename ScalarResult<R>::Type)) {
    write_scalar(w, i.dst[0], r.value);
    w.scc = r.scc;
  } else {
    write_scalar(w, i.dst[0], r);
  }
}

template <class F>
struct ScalarTraits : ScalarTraits<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct ScalarTraits<R (C::*)(A...) const> {
  template <int L, auto F>
  static constexpr Handler<L> run = &run_salu<L, F, false, R, A...>;
  static constexpr const char* signature = kScalarSignature<R, A...>.text;
};
template <class C, class R, class... A>
struct ScalarTraits<R (C::*)(const ScalarEnv&, A...) const> {
  template <int L, auto F>
  static constexpr Handler<L> run = &run_salu<L, F, true, R, A...>;
  static constexpr const char* signature = kScalarSignature<R, A...>.text;
};

template <auto F>
constexpr OpRow salu(const char* name, const char* signature = nullptr) {
  using T = ScalarTraits<decltype(F)>;
  return OpRow{name, signature ? signature : T::signature, T::template run<32, F>, T::template run<64, F>, nullptr, 0};
}

}  // namespace emu
