// Atomics: relaxed, at agent scope, as HIP's are.
#pragma once

template <class T>
__EMU_FN T atomicCAS(T* p, T expected, T desired) {
  __hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}

#define __EMU_ATOMIC(name, op, T) \
  __EMU_FN T name(T* p, T value) { return __hip_atomic_##op(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
#define __EMU_ATOMIC_INTEGERS(name, op) \
  __EMU_ATOMIC(name, op, int)           \
  __EMU_ATOMIC(name, op, unsigned)      \
  __EMU_ATOMIC(name, op, unsigned long) \
  __EMU_ATOMIC(name, op, unsigned long long)
__EMU_ATOMIC_INTEGERS(atomicAdd, fetch_add)
__EMU_ATOMIC(atomicAdd, fetch_add, float)
__EMU_ATOMIC(atomicAdd, fetch_add, double)
__EMU_ATOMIC_INTEGERS(atomicSub, fetch_sub)
__EMU_ATOMIC_INTEGERS(atomicExch, exchange)
__EMU_ATOMIC(atomicExch, exchange, float)
__EMU_ATOMIC_INTEGERS(atomicMin, fetch_min)
__EMU_ATOMIC(atomicMin, fetch_min, long long)
__EMU_ATOMIC_INTEGERS(atomicMax, fetch_max)
__EMU_ATOMIC(atomicMax, fetch_max, long long)
__EMU_ATOMIC_INTEGERS(atomicAnd, fetch_and)
__EMU_ATOMIC_INTEGERS(atomicOr, fetch_or)
__EMU_ATOMIC_INTEGERS(atomicXor, fetch_xor)
#undef __EMU_ATOMIC
#undef __EMU_ATOMIC_INTEGERS

// By compare and swap on the bits; a NaN operand leaves the other one, as fmin and fmax do.
#define __EMU_ATOMIC_SELECT(name, T, Bits, pick)                                                                    \
  __EMU_FN T name(T* p, T value) {                                                                                  \
    Bits seen = *(volatile Bits*)p, expected;                                                                       \
    do {                                                                                                            \
      expected = seen;                                                                                              \
      seen = atomicCAS((Bits*)p, expected, __builtin_bit_cast(Bits, pick(__builtin_bit_cast(T, expected), value))); \
    } while (seen != expected);                                                                                     \
    return __builtin_bit_cast(T, seen);                                                                             \
  }
__EMU_ATOMIC_SELECT(atomicMin, float, unsigned, fminf)
__EMU_ATOMIC_SELECT(atomicMin, double, unsigned long long, fmin)
__EMU_ATOMIC_SELECT(atomicMax, float, unsigned, fmaxf)
__EMU_ATOMIC_SELECT(atomicMax, double, unsigned long long, fmax)
#undef __EMU_ATOMIC_SELECT
