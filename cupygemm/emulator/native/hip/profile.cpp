// The log of launches, kept while somebody profiles: one entry for every launch that was carried out without an error.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "hip/kernel.hpp"

namespace hip {
namespace {

int g_profilers = 0;
uint64_t g_first = 0;  // number of the log's first entry; numbers never start again

std::vector<emu_hip_dispatch>& entries() {
  static auto* all = new std::vector<emu_hip_dispatch>;
  return *all;
}

void clear() {
  g_first += entries().size();
  for (emu_hip_dispatch& entry : entries()) free(const_cast<char*>(entry.kernel));
  entries().clear();
}

}  // namespace

bool profiling() {
  Lock lock;
  return g_profilers > 0;
}

void log_dispatch(const Kernel& kernel, const emu_launch_desc& launch, const emu_counters& counters) {
  Lock lock;
  if (!g_profilers) return;
  emu_hip_dispatch entry = {};
  entry.kernel = strdup(kernel.name);
  entry.device = kernel.device;
  memcpy(entry.grid, launch.grid, sizeof entry.grid);
  memcpy(entry.block, launch.block, sizeof entry.block);
  entry.lds_bytes = kernel.info.static_lds + launch.dynamic_lds;
  entry.private_bytes = kernel.info.private_bytes;
  entry.descriptor = kernel.info.descriptor;
  entry.counters = counters;
  entries().push_back(entry);
}

}  // namespace hip

using namespace hip;

uint64_t emu_hip_profile_begin() {
  Lock lock;
  g_profilers++;
  return g_first + entries().size();
}

void emu_hip_profile_end() {
  Lock lock;
  if (--g_profilers == 0) clear();
}

int emu_hip_dispatch_at(uint64_t number, emu_hip_dispatch* out) {
  Lock lock;
  if (number < g_first || number - g_first >= entries().size()) return 1;
  *out = entries()[number - g_first];
  return 0;
}
