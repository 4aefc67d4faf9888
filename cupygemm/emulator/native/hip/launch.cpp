// Launches: limits, the kernel-argument block, and the executor.
#include <cstring>
#include <vector>

#include "hip/kernel.hpp"

namespace hip {
namespace {

struct Shape {
  uint32_t grid[3], block[3], dynamic_lds;
};

// The limits of the hardware and of HIP: workgroup size, launch bounds, LDS, grid, and work-items a dimension below
// 2^32.
hipError_t check_limits(const Kernel& kernel, const Shape& s) {
  const emu_hip_device& dev = device(kernel.device);
  const uint64_t threads = uint64_t(s.block[0]) * s.block[1] * s.block[2];
  constexpr uint32_t kMaxGrid[3] = {0x7fffffff, 65535, 65535};
  for (int d = 0; d < 3; d++) {
    if (s.grid[d] == 0 || s.block[d] == 0)
      return fail(hipErrorInvalidConfiguration, "%s: grid (%u, %u, %u) or block (%u, %u, %u) has a zero", kernel.name,
                  s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2]);
    if (s.grid[d] > kMaxGrid[d])
      return fail(hipErrorInvalidConfiguration, "%s: grid dimension %d is %u, at most %u workgroups are possible",
                  kernel.name, d, s.grid[d], kMaxGrid[d]);
    if (uint64_t(s.grid[d]) * s.block[d] >= (1ull << 32))
      return fail(hipErrorInvalidConfiguration,
                  "%s: %u workgroups of %u work-items in dimension %d are 2^32 or more work-items", kernel.name,
                  s.grid[d], s.block[d], d);
  }
  if (threads > 1024)
    return fail(hipErrorInvalidConfiguration,
                "%s: a workgroup of (%u, %u, %u) has %llu work-items, at most 1024 are possible", kernel.name,
                s.block[0], s.block[1], s.block[2], (unsigned long long)threads);
  if (threads > kernel.info.max_block)
    return fail(hipErrorLaunchFailure, "%s: a workgroup of %llu work-items is larger than its launch bounds (%u)",
                kernel.name, (unsigned long long)threads, kernel.info.max_block);
  const uint64_t lds = uint64_t(kernel.info.static_lds) + s.dynamic_lds;
  if (lds > dev.lds_bytes)
    return fail(hipErrorLaunchOutOfResources, "%s: %llu bytes of LDS (%u of them dynamic) are more than the %llu of %s",
                kernel.name, (unsigned long long)lds, s.dynamic_lds, (unsigned long long)dev.lds_bytes, dev.arch);
  return hipSuccess;
}

// Work-items in the last, partial workgroup are none: HIP's grids are whole workgroups.
uint64_t hidden_value(const emu_hip_argument& argument, const Shape& s) {
  switch (argument.kind) {
    case EMU_ARG_BLOCK_COUNT_X:
    case EMU_ARG_BLOCK_COUNT_Y:
    case EMU_ARG_BLOCK_COUNT_Z:
      return s.grid[argument.kind - EMU_ARG_BLOCK_COUNT_X];
    case EMU_ARG_GROUP_SIZE_X:
    case EMU_ARG_GROUP_SIZE_Y:
    case EMU_ARG_GROUP_SIZE_Z:
      return s.block[argument.kind - EMU_ARG_GROUP_SIZE_X];
    case EMU_ARG_GRID_DIMS:
      return s.grid[2] * s.block[2] > 1 ? 3 : s.grid[1] * s.block[1] > 1 ? 2 : 1;
    case EMU_ARG_DYNAMIC_LDS_SIZE:
      return s.dynamic_lds;
    default:
      return 0;
  }
}

std::vector<char> argument_block(const Kernel& kernel, const Shape& shape, void** parameters) {
  std::vector<char> block(kernel.info.kernarg_bytes);
  size_t index = 0;
  for (const emu_hip_argument& argument : kernel.arguments) {
    if (argument.kind == EMU_ARG_EXPLICIT) {
      memcpy(block.data() + argument.offset, parameters[index++], argument.size);
    } else {
      const uint64_t value = hidden_value(argument, shape);
      memcpy(block.data() + argument.offset, &value, argument.size < 8 ? argument.size : 8);
    }
  }
  return block;
}

class Launch : public Action {
 public:
  Launch(const Kernel* kernel, const Shape& shape, std::vector<char> block)
      : kernel_(kernel), shape_(shape), block_(block) {}
  hipError_t run() override {
    emu_launch_desc desc = {};
    memcpy(desc.grid, shape_.grid, sizeof desc.grid);
    memcpy(desc.block, shape_.block, sizeof desc.block);
    desc.dynamic_lds = shape_.dynamic_lds;
    desc.kernargs = block_.data();
    desc.kernarg_bytes = block_.size();
    desc.device = kernel_->device;
    desc.flags = options() & EMU_HIP_CHECK ? EMU_CHECK : 0;
    emu_counters counters = {};
    if (profiling()) desc.counters = &counters;
    if (emu_launch(kernel_->executable, &desc)) return fail(hipErrorLaunchFailure, "%s", emu_last_report());
    if (desc.counters) log_dispatch(*kernel_, desc, counters);
    return hipSuccess;
  }

 private:
  const Kernel* kernel_;
  Shape shape_;
  std::vector<char> block_;
};

}  // namespace
}  // namespace hip

using namespace hip;

HIP_API hipError_t hipModuleLaunchKernel(Kernel* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_lds,
                                         Stream* stream, void** parameters, void** extra) {
  if (!kernel) return fail(hipErrorInvalidHandle, "launch of no kernel");
  if (extra)
    return fail(hipErrorNotSupported, "%s: launch arguments must come as kernelParams, not as extra", kernel->name);
  if (kernel->device != current_device())
    return fail(hipErrorInvalidHandle, "%s was loaded on device %d and cannot be launched on device %d", kernel->name,
                kernel->device, current_device());
  const Shape shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds};
  if (hipError_t error = check_limits(*kernel, shape)) return error;
  for (const emu_hip_argument& argument : kernel->arguments)
    if (argument.kind == EMU_ARG_EXPLICIT && !parameters)
      return fail(hipErrorInvalidValue, "%s: launched without its arguments", kernel->name);
  return submit(stream, new Launch(kernel, shape, argument_block(*kernel, shape, parameters)));
}
