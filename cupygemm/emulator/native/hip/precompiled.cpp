// Kernels compiled into CuPy's own extension modules (cub, thrust, cupy.random's generators): there is no assembly
// listing of them, so they cannot run here. Some callers ignore what a launch returns; the error therefore also comes
// up at the next copy or wait, before any result could be read.
#include "hip/runtime.hpp"

using namespace hip;

struct Dim3 {
  unsigned x, y, z;
};

struct CallConfiguration {
  Dim3 grid, block;
  size_t shared;
  void* stream;
};

static thread_local CallConfiguration t_configuration;

HIP_API void** __hipRegisterFatBinary(const void*) {
  static void* handle;
  return &handle;
}

HIP_API void __hipUnregisterFatBinary(void**) {}
HIP_API void __hipRegisterFunction(void**, const void*, char*, const char*, unsigned, void*, void*, void*, void*,
                                   int*) {}

HIP_API hipError_t __hipPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void* stream) {
  t_configuration = {grid, block, shared, stream};
  return hipSuccess;
}

HIP_API hipError_t __hipPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, void** stream) {
  *grid = t_configuration.grid;
  *block = t_configuration.block;
  *shared = t_configuration.shared;
  *stream = t_configuration.stream;
  return hipSuccess;
}

HIP_API hipError_t hipLaunchKernel(const void*, Dim3, Dim3, void**, size_t, void*) {
  fail_later(hipErrorNotSupported);
  return fail(
      hipErrorNotSupported,
      "a precompiled kernel (cub, thrust or cupy.random): an emulated GPU runs only kernels compiled at run time");
}
