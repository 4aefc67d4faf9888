// What every kernel file stands on: one vocabulary for clang's HIP (hiprtc, hipcc, plain clang without any header) and
// for NVRTC.
#pragma once

#if defined(__HIP_DEVICE_COMPILE__) || defined(__AMDGCN__)
#define CG_AMD 1
#elif defined(__CUDACC__)
#define CG_AMD 0
#else
#error "cupygemm kernels compile for AMD GPUs (clang, hiprtc) or NVIDIA GPUs (NVRTC)"
#endif

#ifndef __device__
#define __device__ __attribute__((device))
#endif
#ifndef __global__
#define __global__ __attribute__((global))
#endif
#ifndef __shared__
#define __shared__ __attribute__((shared))
#endif

#define CG_DEVICE static __device__ inline __attribute__((always_inline))
#define CG_MEMBER __device__ inline __attribute__((always_inline))

// clang ignores launch_bounds() without HIP's header (facts of the toolchain, not of our code), so AMD gets the
// attributes themselves. A block always has exactly `threads` threads. `waves` is the least number of waves to keep
// resident on a SIMD (AMD) or, on NVIDIA, is replaced by the number of resident blocks.
#if CG_AMD
#define CG_KERNEL(threads, waves) \
  extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(threads, threads), amdgpu_waves_per_eu(waves)))
#else
#define CG_KERNEL(threads, blocks) extern "C" __global__ __launch_bounds__(threads, blocks)
#endif

namespace cg {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using i32 = int;
using i64 = long long;
using u64 = unsigned long long;
static_assert(sizeof(i32) == 4 && sizeof(i64) == 8,
              "kernel arguments are packed by the host as 4- and 8-byte integers");

template <bool kFirst, class A, class B>
struct Select {
  using type = A;
};
template <class A, class B>
struct Select<false, A, B> {
  using type = B;
};

struct Nothing {
  template <class Index>
  CG_MEMBER void operator()(Index) const {}
};

// A loop whose index is a constant in its body: body(Constant<0>()), body(Constant<1>()), ... Registers are arrays that
// must only ever be indexed by constants, and a long body is not unrolled early enough for the compiler to see that.
template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};
template <int kBegin, int kEnd, class Body>
CG_DEVICE void unrolled(const Body& body) {
  if constexpr (kEnd - kBegin == 1) {
    body(Constant<kBegin>());
  } else if constexpr (kEnd > kBegin) {
    constexpr int kMiddle = kBegin + (kEnd - kBegin) / 2;
    unrolled<kBegin, kMiddle>(body);
    unrolled<kMiddle, kEnd>(body);
  }
}

// Wave size is a property of the target, known when the kernel is compiled.
#if CG_AMD
#if defined(__GFX9__)
constexpr int kWave = 64;
#else
constexpr int kWave = 32;
#endif
#else
constexpr int kWave = 32;
#endif

// Bytes that LDS serves in a clock: all its banks.
#if defined(__gfx950__)
constexpr int kLdsLine = 256;
#else
constexpr int kLdsLine = 128;
#endif

CG_DEVICE constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
CG_DEVICE constexpr int min_of(int a, int b) { return a < b ? a : b; }
CG_DEVICE constexpr int max_of(int a, int b) { return a > b ? a : b; }

CG_DEVICE int thread_index() {
#if CG_AMD
  return __builtin_amdgcn_workitem_id_x();
#else
  return threadIdx.x;
#endif
}
CG_DEVICE int block_x() {
#if CG_AMD
  return __builtin_amdgcn_workgroup_id_x();
#else
  return blockIdx.x;
#endif
}
CG_DEVICE int block_y() {
#if CG_AMD
  return __builtin_amdgcn_workgroup_id_y();
#else
  return blockIdx.y;
#endif
}
CG_DEVICE int block_z() {
#if CG_AMD
  return __builtin_amdgcn_workgroup_id_z();
#else
  return blockIdx.z;
#endif
}

// Tells the compiler that `x` is the same in every lane, so that what follows from it lives in scalar registers.
CG_DEVICE int uniform(int x) {
#if CG_AMD
  return __builtin_amdgcn_readfirstlane(x);
#else
  return x;
#endif
}

CG_DEVICE float fma(float x, float y, float z) {
#if CG_AMD
  return __builtin_fmaf(x, y, z);
#else
  return __fmaf_ieee_rn(x, y, z);  // keeps denormals whatever -ftz says, which CuPy sets
#endif
}

// x + y, with denormals too.
CG_DEVICE float add(float x, float y) { return fma(x, 1.0f, y); }

// Bytes in global memory. The address space is spelled out on AMD: where the compiler cannot infer it, it falls back to
// flat loads, which wait on LDS too.
#if CG_AMD
using GlobalBytes = const __attribute__((address_space(1))) char*;
#else
using GlobalBytes = const char*;
#endif

// A value that the compiler must have computed here. It would otherwise sink the last multiply-adds of a tile into the
// bounds checks of the stores that use them, copying them behind every branch and spilling what they read.
CG_DEVICE void pin(float& x) {
#if CG_AMD
  asm volatile("" : "+v"(x));
#else
  asm volatile("" : "+f"(x));
#endif
}

#if CG_AMD
template <class Vector>
CG_DEVICE void pin(Vector& x) {
  asm volatile("" : "+v"(x));
}
#endif

// Makes the addresses of a loop use the form scalar base + 32-bit vector offset. Seen through, the pair would become a
// 64-bit vector pointer a load, by loop strength reduction or because the offset was widened outside the loop: two
// additions and two registers more for each.
CG_DEVICE void pin_address(GlobalBytes& base, u32& offset) {
#if CG_AMD
  asm volatile("" : "+s"(base), "+v"(offset));
#else
  (void)base, (void)offset;
#endif
}
CG_DEVICE void pin_address(GlobalBytes&, i64&) {}

// The same where the base is the same for several loads, each with an offset of its own added to it.
CG_DEVICE void pin_offset(u32& offset) {
#if CG_AMD
  asm volatile("" : "+v"(offset));
#else
  (void)offset;
#endif
}
CG_DEVICE void pin_offset(i64&) {}

// Nothing is scheduled across this point. RDNA alone: on CDNA it keeps the two halves of packed multiply-adds apart.
CG_DEVICE void schedule_fence() {
#if CG_AMD
  if constexpr (kWave == 32) __builtin_amdgcn_sched_barrier(0);
#endif
}

// What a wave wrote to LDS before is there for its other lanes after: LDS serves a wave in order, so that only the
// compiler has to be told.
CG_DEVICE void wave_barrier() {
#if CG_AMD
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront", "local");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront", "local");
#else
  __syncwarp();
#endif
}

// All threads of the block arrive; what they wrote to LDS before is visible after. The fences name LDS alone: ordering
// global memory too would make every barrier wait for the global loads that were issued early on purpose.
CG_DEVICE void barrier() {
#if CG_AMD
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
#else
  __syncthreads();
#endif
}

#if defined(__gfx942__) || defined(__gfx950__)
CG_DEVICE u32 lds_address(void* p) {
  return static_cast<u32>(reinterpret_cast<__UINTPTR_TYPE__>((__attribute__((address_space(3))) void*)p));
}

#if defined(__gfx950__)
constexpr int kMaxDirectWords = 4;
#else
constexpr int kMaxDirectWords = 1;
#endif

// 4 * kWords bytes from each lane's own place in global memory to LDS: lane l's land at `to` + kOffset + l * 4 *
// kWords. `base` and `to` are the same in all lanes.
//
// In assembly, since the compiler knows these instructions too well: it waits for all of them before the next read of
// LDS, whatever buffer that is from, which undoes the prefetch. It counts a vector memory instruction too few now, and
// so waits too long at worst. m0 must be written an instruction before it is used.
template <int kWords, int kOffset>
CG_DEVICE void copy_to_lds(GlobalBytes base, u32 offset, void* to) {
  static_assert(kWords == 1 || kWords == kMaxDirectWords, "direct loads move 4 bytes a lane, or on gfx950 16");
  const u32 place = lds_address(to);
  if constexpr (kWords == 1) {
    asm volatile("s_add_u32 m0, %2, %3\n\ts_nop 0\n\tglobal_load_lds_dword %0, %1" ::"v"(offset), "s"(base), "s"(place),
                 "n"(kOffset)
                 : "memory", "scc");
  } else {
    asm volatile("s_add_u32 m0, %2, %3\n\ts_nop 0\n\tglobal_load_lds_dwordx4 %0, %1" ::"v"(offset), "s"(base),
                 "s"(place), "n"(kOffset)
                 : "memory", "scc");
  }
}
template <int kWords, int kOffset>
CG_DEVICE void copy_to_lds(GlobalBytes base, i64 offset, void* to) {
  static_assert(kWords == 1, "offsets of 64 bits are for single elements");
  const GlobalBytes from = base + offset;
  asm volatile("s_add_u32 m0, %1, %2\n\ts_nop 0\n\tglobal_load_lds_dword %0, off" ::"v"(from), "s"(lds_address(to)),
               "n"(kOffset)
               : "memory", "scc");
}

// vmcnt(0), the other counters as they are. The compiler does not connect direct loads with the barrier that publishes
// them.
CG_DEVICE void wait_vector_memory() { __builtin_amdgcn_s_waitcnt(0x0F70); }
#endif

}  // namespace cg
