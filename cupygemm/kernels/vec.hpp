// N elements that move in one memory instruction, and the loads and stores that do so.
#pragma once
#include "prelude.hpp"

namespace cg {

// Aligned to its size: the host picks N so that every address a kernel forms is a multiple of that (problem.py).
template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  static_assert(N == 1 || N == 2 || N == 4 || N == 8 || N == 16,
                "a memory instruction moves 1, 2, 4, 8 or 16 elements");
  static_assert(sizeof(T) * N <= 16, "a memory instruction moves at most 16 bytes a lane");
  T v[N];
  CG_MEMBER T& operator[](int i) { return v[i]; }
  CG_MEMBER const T& operator[](int i) const { return v[i]; }
};

// The compiler splits a struct into its members and need not join them again; a vector of 32-bit words stays one
// instruction.
template <int Bytes>
struct Words;
#if CG_AMD
template <>
struct Words<16> {
  typedef u32 type __attribute__((ext_vector_type(4)));
};
template <>
struct Words<8> {
  typedef u32 type __attribute__((ext_vector_type(2)));
};
#else
template <>
struct Words<16> {
  using type = uint4;
};
template <>
struct Words<8> {
  using type = uint2;
};
#endif
template <>
struct Words<4> {
  using type = u32;
};
template <>
struct Words<2> {
  using type = u16;
};
template <>
struct Words<1> {
  using type = u8;
};

template <class To, class From>
CG_DEVICE To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  To to;
#if CG_AMD
  __builtin_memcpy(&to, &from, sizeof(To));
#else
  // NVIDIA's compilers would copy byte by byte, from global memory too.
  reinterpret_cast<From&>(to) = from;
#endif
  return to;
}

template <class T, int N>
CG_DEVICE Vec<T, N> load(const void* p) {
  using W = typename Words<sizeof(T) * N>::type;
  return bit_cast<Vec<T, N>>(*static_cast<const W*>(p));
}

#if CG_AMD
template <class T, int N>
CG_DEVICE Vec<T, N> load(GlobalBytes p) {
  using W = typename Words<sizeof(T) * N>::type;
  return bit_cast<Vec<T, N>>(*(const __attribute__((address_space(1))) W*)p);
}
#endif

template <class T, int N>
CG_DEVICE void store(void* p, const Vec<T, N>& x) {
  using W = typename Words<sizeof(T) * N>::type;
  *static_cast<W*>(p) = bit_cast<W>(x);
}

template <class T, int N>
CG_DEVICE Vec<T, N> zeros() {
  Vec<T, N> x;
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = T(0);
  return x;
}

}  // namespace cg
