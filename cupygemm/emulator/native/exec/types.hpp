// Operand types: their names in opcode signatures, and how lane functions spell them in C++.
#pragma once
#include "convert.hpp"
#include "machine.hpp"

namespace emu {

// The type named by the n characters at `s`; integers of any sign share a type, since their constants are encoded
// alike.
Type type_of_name(const char* s, u32 n);

// 16-bit floats as lane functions take and give them: the bits in the low half of `bits`.
struct F16 {
  u32 bits;
  float f() const { return f16_to_f32(bits); }
};
struct BF16 {
  u32 bits;
  float f() const { return bf16_to_f32(bits); }
};
// Two halves in a dword, source modifiers already applied.
struct PF16 {
  u32 bits;
  float lo() const { return f16_to_f32(bits & 0xffff); }
  float hi() const { return f16_to_f32(bits >> 16); }
};
struct PBF16 {
  u32 bits;
  float lo() const { return bf16_to_f32(bits & 0xffff); }
  float hi() const { return bf16_to_f32(bits >> 16); }
};
struct PI16 {
  u32 bits;
  u16 lo() const { return u16(bits); }
  u16 hi() const { return u16(bits >> 16); }
};
struct PF32 {
  float lo, hi;
};
struct PI32 {
  u32 lo, hi;
};
struct Mix {
  float f;
};

// A result with a lane-mask bit beside it (carry out, v_div_scale's flag).
template <class T>
struct WithMask {
  T value;
  bool mask;
};

template <class T>
struct TypeTraits;
#define EMU_TYPE(T, text, n)                  \
  template <>                                 \
  struct TypeTraits<T> {                      \
    static constexpr const char* name = text; \
    static constexpr int dwords = n;          \
  }
EMU_TYPE(u16, "u16", 1);
EMU_TYPE(i16, "i16", 1);
EMU_TYPE(F16, "f16", 1);
EMU_TYPE(BF16, "bf16", 1);
EMU_TYPE(u32, "u32", 1);
EMU_TYPE(i32, "i32", 1);
EMU_TYPE(float, "f32", 1);
EMU_TYPE(u64, "u64", 2);
EMU_TYPE(i64, "i64", 2);
EMU_TYPE(double, "f64", 2);
EMU_TYPE(PF16, "pf16", 1);
EMU_TYPE(PBF16, "pbf16", 1);
EMU_TYPE(PI16, "pi16", 1);
EMU_TYPE(PF32, "pf32", 2);
EMU_TYPE(PI32, "pi32", 2);
EMU_TYPE(Mix, "mix", 1);
EMU_TYPE(bool, "mask", 0);
#undef EMU_TYPE

// A signature under construction, at compile time.
struct SigText {
  char text[64] = {};
  int n = 0;
  constexpr void add(const char* s) {
    for (; *s; s++) text[n++] = *s;
  }
};

}  // namespace emu
