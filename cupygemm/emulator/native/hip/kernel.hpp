// A loaded kernel: what a launch needs to know of it.
#pragma once
#include <vector>

#include "hip/runtime.hpp"

namespace hip {

struct Kernel {
  char* name;
  emu_kernel* executable;
  int device;
  std::vector<emu_hip_argument> arguments;
  emu_hip_kernel_info info;  // its `name` and `arguments` point nowhere: see above
};

// ---- profile.cpp
bool profiling();
void log_dispatch(const Kernel& kernel, const emu_launch_desc& launch, const emu_counters& counters);

}  // namespace hip
