// Element types of the BLAS stand-in: f16 and bf16 as bits, complex numbers, and what the loops ask of every type.
#pragma once
#include <cstdint>

#include "exec/convert.hpp"

namespace blas {

struct Half {
  uint16_t bits;
};

struct Bfloat {
  uint16_t bits;
};

template <class T>
struct Complex {
  T re, im;
  Complex& operator+=(Complex o) {
    re += o.re, im += o.im;
    return *this;
  }
};

template <class T>
Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}

template <class T>
Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class T>
T conjugate(T x) {
  return x;
}

template <class T>
Complex<T> conjugate(Complex<T> x) {
  return {x.re, -x.im};
}

template <class T>
bool is_zero(T x) {
  return x == 0;
}

template <class T>
bool is_zero(Complex<T> x) {
  return x.re == 0 && x.im == 0;
}

template <class T>
double norm(T x) {
  return static_cast<double>(x) * x;
}

template <class T>
double norm(Complex<T> x) {
  return norm(x.re) + norm(x.im);
}

// BLAS's asum adds |re| + |im|
template <class T>
double magnitude(T x) {
  return x < 0 ? -static_cast<double>(x) : static_cast<double>(x);
}

template <class T>
double magnitude(Complex<T> x) {
  return magnitude(x.re) + magnitude(x.im);
}

template <class Acc, class T>
Acc load(T x) {
  return x;
}

template <class Acc>
Acc load(Half x) {
  return emu::f16_to_f32(x.bits);
}

template <class Acc>
Acc load(Bfloat x) {
  return emu::bf16_to_f32(x.bits);
}

template <class T>
struct Store {
  template <class Acc>
  static T from(Acc x) {
    return x;
  }
};

template <>
struct Store<Half> {
  static Half from(float x) { return {static_cast<uint16_t>(emu::f32_to_f16(x))}; }
};

template <>
struct Store<Bfloat> {
  static Bfloat from(float x) { return {static_cast<uint16_t>(emu::f32_to_bf16(x))}; }
};

template <class T, class Acc>
T store(Acc x) {
  return Store<T>::from(x);
}

}  // namespace blas
