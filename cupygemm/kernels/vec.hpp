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

// The same where only single elements are aligned. Global memory on AMD takes any address (ROCm sets the unaligned
// access mode, on which the compiler counts), and reads 16 bytes in one instruction all the same.
template <class T, int N>
CG_DEVICE Vec<T, N> load_unaligned(GlobalBytes p) {
  using W = typename Words<sizeof(T) * N>::type;
  typedef W Loose __attribute__((aligned(sizeof(T))));
  return bit_cast<Vec<T, N>>(*(const __attribute__((address_space(1))) Loose*)p);
}
template <class T, int N>
CG_DEVICE void store_unaligned(void* p, const Vec<T, N>& x) {
  using W = typename Words<sizeof(T) * N>::type;
  typedef W Loose __attribute__((aligned(sizeof(T))));
  *(__attribute__((address_space(1))) Loose*)p = bit_cast<W>(x);
}

// A select: between two variables `?:` would be one between their addresses, and keep both in memory.
CG_DEVICE u32 choose(bool first, u32 x, u32 y) { return first ? x : y; }

// x without its first `n` elements, 0 <= n <= N; zeros follow. Word by word: a shift of 128 bits would become two
// of 64, and x would be loaded for each.
template <class T, int N>
CG_DEVICE Vec<T, N> without_first(const Vec<T, N>& x, int n) {
  static_assert(sizeof(T) * N == 16, "vectors of four words");
  using W = Words<16>::type;
  const W words = bit_cast<W>(x);
  u32 a = words[0], b = words[1], c = words[2], d = words[3];
  const u32 bytes = n * sizeof(T);
  if constexpr (sizeof(T) < 4) {
    a = __builtin_amdgcn_alignbyte(b, a, bytes);
    b = __builtin_amdgcn_alignbyte(c, b, bytes);
    c = __builtin_amdgcn_alignbyte(d, c, bytes);
    d = __builtin_amdgcn_alignbyte(0, d, bytes);
  }
  const bool one = bytes & 4, two = bytes & 8, all = bytes & 16;
  a = choose(one, b, a), b = choose(one, c, b), c = choose(one, d, c), d = choose(one, 0, d);
  a = choose(two, c, a), b = choose(two, d, b), c = choose(two, 0, c), d = choose(two, 0, d);
  const W rest = {a, b, c, d}, none = {0, 0, 0, 0};
  return bit_cast<Vec<T, N>>(all ? none : rest);
}
#else
template <class T, int N>
CG_DEVICE Vec<T, N> load_unaligned(GlobalBytes) {
  static_assert(sizeof(T) == 0, "only AMD GPUs load vectors from any address");
}
template <class T, int N>
CG_DEVICE void store_unaligned(void*, const Vec<T, N>&) {
  static_assert(sizeof(T) == 0, "only AMD GPUs store vectors to any address");
}
template <class T, int N>
CG_DEVICE Vec<T, N> without_first(const Vec<T, N>&, int) {
  static_assert(sizeof(T) == 0, "only what loads vectors from any address moves them down");
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

// The same vector, which the compiler must not take apart before. Where loads cross the border of a loop, as in the
// kernels of CDNA, it would keep their elements apart, and put them together and take them apart again with one
// instruction each; and it would take bytes apart as soon as they are loaded, which ends the prefetch.
template <class T, int N>
CG_DEVICE Vec<T, N> in_one_piece(const Vec<T, N>& x) {
#if CG_AMD
  constexpr bool kNeeded = kWave == 64 || sizeof(T) == 1;
  if constexpr (kNeeded && sizeof(x) == sizeof(u32)) {
    u32 word = bit_cast<u32>(x);
    pin(word);
    return bit_cast<Vec<T, N>>(word);
  } else if constexpr (kNeeded && sizeof(x) % sizeof(u32) == 0) {
    typedef u32 Words __attribute__((ext_vector_type(sizeof(x) / sizeof(u32))));
    Words words = bit_cast<Words>(x);
    pin(words);
    return bit_cast<Vec<T, N>>(words);
  }
#endif
  return x;
}

}  // namespace cg
