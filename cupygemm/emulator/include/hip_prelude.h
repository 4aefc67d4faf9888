// What hiprtc's built-in header gives to every program, as far as ordinary kernels and CuPy's own need it: qualifiers,
// built-in variables, synchronisation; the rest is in hip_device/. Device code only.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict __restrict__
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, variable) extern __shared__ type variable[];
#define NULL 0

// (threads) or (threads, waves per SIMD): plain clang does not act on its own launch_bounds attribute for AMD GPUs.
#define __EMU_BOUNDS1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __EMU_BOUNDS2(threads, waves) __EMU_BOUNDS1(threads) __attribute__((amdgpu_waves_per_eu(waves)))
#define __EMU_PICK(one, two, name, ...) name
#define __launch_bounds__(...) __EMU_PICK(__VA_ARGS__, __EMU_BOUNDS2, __EMU_BOUNDS1, )(__VA_ARGS__)

// For definitions in these headers.
#define __EMU_FN static __device__ inline __attribute__((always_inline, unused))
#define __EMU_CONST_AS __attribute__((address_space(4)))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;

struct dim3 {
  unsigned x, y, z;
  constexpr __device__ dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Hidden kernel arguments of code object version 5 and later: block counts (3 u32), then group sizes (3 u16).
__EMU_FN unsigned __emu_block_count(int d) {
  return ((const __EMU_CONST_AS unsigned*)__builtin_amdgcn_implicitarg_ptr())[d];
}
__EMU_FN unsigned __emu_group_size(int d) {
  return ((const __EMU_CONST_AS unsigned short*)__builtin_amdgcn_implicitarg_ptr())[6 + d];
}

#define __EMU_BUILTIN_VARIABLE(type, get_x_, get_y_, get_z_)                                    \
  struct type {                                                                                 \
    __declspec(property(get = get_x)) unsigned x;                                               \
    __declspec(property(get = get_y)) unsigned y;                                               \
    __declspec(property(get = get_z)) unsigned z;                                               \
    static inline __device__ __attribute__((always_inline)) unsigned get_x() { return get_x_; } \
    static inline __device__ __attribute__((always_inline)) unsigned get_y() { return get_y_; } \
    static inline __device__ __attribute__((always_inline)) unsigned get_z() { return get_z_; } \
    __device__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }                \
  };
__EMU_BUILTIN_VARIABLE(__emu_thread_idx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                       __builtin_amdgcn_workitem_id_z())
__EMU_BUILTIN_VARIABLE(__emu_block_idx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                       __builtin_amdgcn_workgroup_id_z())
__EMU_BUILTIN_VARIABLE(__emu_block_dim, __emu_group_size(0), __emu_group_size(1), __emu_group_size(2))
__EMU_BUILTIN_VARIABLE(__emu_grid_dim, __emu_block_count(0), __emu_block_count(1), __emu_block_count(2))
extern const __device__ __attribute__((weak)) __emu_thread_idx threadIdx;
extern const __device__ __attribute__((weak)) __emu_block_idx blockIdx;
extern const __device__ __attribute__((weak)) __emu_block_dim blockDim;
extern const __device__ __attribute__((weak)) __emu_grid_dim gridDim;

__EMU_FN void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__EMU_FN void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__EMU_FN void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// Without the fences the barrier does not wait for LDS stores.
__EMU_FN void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Each uses those before it.
// clang-format off
#include "hip_device/vectors.h"
#include "hip_device/math_basic.h"
#include "hip_device/math_f64.h"
#include "hip_device/math_names.h"
#include "hip_device/half.h"
#include "hip_device/atomics.h"
#include "hip_device/warp.h"
// clang-format on
