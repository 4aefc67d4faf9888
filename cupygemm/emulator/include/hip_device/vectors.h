// float2, int4, ...: plain structs with HIP's sizes and alignments, and make_*.
#pragma once

#define __EMU_VECTORS(T, name)                                              \
  struct name##1 { T x; };                                                  \
  struct __attribute__((aligned(2 * sizeof(T)))) name##2 { T x, y; };       \
  struct name##3 { T x, y, z; };                                            \
  struct __attribute__((aligned(4 * sizeof(T)))) name##4 { T x, y, z, w; }; \
  __EMU_FN name##1 make_##name##1(T x) { return {x}; }                      \
  __EMU_FN name##2 make_##name##2(T x, T y) { return {x, y}; }              \
  __EMU_FN name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }      \
  __EMU_FN name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
__EMU_VECTORS(signed char, char)
__EMU_VECTORS(unsigned char, uchar)
__EMU_VECTORS(short, short)
__EMU_VECTORS(unsigned short, ushort)
__EMU_VECTORS(int, int)
__EMU_VECTORS(unsigned, uint)
__EMU_VECTORS(long, long)
__EMU_VECTORS(unsigned long, ulong)
__EMU_VECTORS(long long, longlong)
__EMU_VECTORS(unsigned long long, ulonglong)
__EMU_VECTORS(float, float)
__EMU_VECTORS(double, double)
#undef __EMU_VECTORS
