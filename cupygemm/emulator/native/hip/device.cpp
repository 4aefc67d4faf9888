// Emulated devices: their table, the current one of a thread, properties, attributes and peer access.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hip/runtime.hpp"

namespace hip {
namespace {

constexpr int kMaxDevices = 64;
constexpr int kVersion = 70253211;  // ROCm 7.2: what CuPy derives libhiprtc.so.7 from

emu_hip_device g_devices[kMaxDevices];
int g_count = 0;
unsigned g_options = 0;
bool g_peer[kMaxDevices][kMaxDevices];
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
thread_local int t_current = 0;

hipError_t check_index(int index) {
  if (index >= 0 && index < g_count) return hipSuccess;
  return fail(hipErrorInvalidDevice, "device %d does not exist: %d emulated devices are configured", index, g_count);
}

// Numbers of hipDeviceAttribute_t (HIP 6 and 7) that have an answer other than 0.
int attribute(int number, const hipDeviceProp_tR0600& p) {
  switch (number) {
    case 3:
      return p.canMapHostMemory;
    case 5:
      return p.clockRate;
    case 8:
      return p.concurrentKernels;
    case 10:
      return p.cooperativeLaunch;
    case 16:
      return p.integrated;
    case 19:
      return p.l2CacheSize;
    case 23:
      return p.major;
    case 24:
      return p.managedMemory;
    case 26:
    case 27:
    case 28:
      return p.maxThreadsDim[number - 26];
    case 29:
    case 30:
    case 31:
      return p.maxGridSize[number - 29];
    case 55:
      return p.maxThreadsDim[0];
    case 56:
      return p.maxThreadsPerBlock;
    case 57:
      return p.maxThreadsPerMultiProcessor;
    case 58:
      return static_cast<int>(p.memPitch);
    case 59:
      return p.memoryBusWidth;
    case 60:
      return p.memoryClockRate;
    case 61:
      return p.minor;
    case 63:
      return p.multiProcessorCount;
    case 67:
      return p.pciBusID;
    case 71:
      return p.regsPerBlock;
    case 72:
      return p.regsPerMultiprocessor;
    case 74:
    case 75:
      return static_cast<int>(p.sharedMemPerBlock);
    case 76:
      return static_cast<int>(p.sharedMemPerMultiprocessor);
    case 81:
      return static_cast<int>(p.textureAlignment);
    case 85:
      return p.unifiedAddressing;
    case 87:
      return p.warpSize;
    case 10000:
      return p.clockInstructionRate;
    case 10002:
      return static_cast<int>(p.maxSharedMemoryPerMultiProcessor);
    default:
      return 0;
  }
}

void fill_properties(const emu_hip_device& d, int index, hipDeviceProp_tR0600* p) {
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "%s (emulated)", d.name);
  snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s", d.gcn_arch_name);
  snprintf(p->uuid, sizeof p->uuid, "EMULATED%d", index);
  p->totalGlobalMem = d.memory_bytes;
  p->sharedMemPerBlock = p->sharedMemPerMultiprocessor = p->maxSharedMemoryPerMultiProcessor = d.lds_bytes;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = d.wave_size;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = 1024;
  for (int& size : p->maxThreadsDim) size = 1024;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->clockRate = d.clock_khz;
  p->totalConstMem = 0x7fffffff;
  p->major = d.major;
  p->minor = d.minor;
  p->textureAlignment = p->texturePitchAlignment = 256;
  p->multiProcessorCount = d.multiprocessors;
  p->integrated = d.integrated;
  p->canMapHostMemory = p->concurrentKernels = p->cooperativeLaunch = p->managedMemory = p->unifiedAddressing = 1;
  p->pciBusID = 3 + index;
  p->asyncEngineCount = 2;
  p->memoryClockRate = d.memory_clock_khz;
  p->memoryBusWidth = d.memory_bus_bits;
  p->l2CacheSize = static_cast<int>(d.l2_bytes);
  p->maxThreadsPerMultiProcessor = 2048;
  p->clockInstructionRate = 100000;
}

}  // namespace

Lock::Lock() { pthread_mutex_lock(&g_lock); }
Lock::~Lock() { pthread_mutex_unlock(&g_lock); }

int device_count() { return g_count; }
int current_device() { return t_current; }
const emu_hip_device& device(int index) { return g_devices[index]; }
unsigned options() { return g_options; }

}  // namespace hip

using namespace hip;

void emu_hip_configure(const emu_hip_device* devices, int count, unsigned options, unsigned seed) {
  g_count = count < kMaxDevices ? count : kMaxDevices;
  memcpy(g_devices, devices, sizeof(emu_hip_device) * g_count);
  g_options = options;
  srand(seed);
}

int emu_hip_current_device() { return t_current; }

HIP_API hipError_t hipGetDeviceCount(int* count) {
  *count = g_count;
  return g_count ? hipSuccess
                 : fail(hipErrorNoDevice, "no emulated device: call cupygemm.emulator.activate before importing cupy");
}

HIP_API hipError_t hipGetDevice(int* index) {
  *index = t_current;
  return hipSuccess;
}

HIP_API hipError_t hipSetDevice(int index) {
  if (hipError_t error = check_index(index)) return error;
  t_current = index;
  return hipSuccess;
}

HIP_API hipError_t hipDeviceSynchronize() { return drain_all(); }

HIP_API hipError_t hipDriverGetVersion(int* version) {
  *version = kVersion;
  return hipSuccess;
}

HIP_API hipError_t hipRuntimeGetVersion(int* version) {
  *version = kVersion;
  return hipSuccess;
}

HIP_API hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int index) {
  if (hipError_t error = check_index(index)) return error;
  fill_properties(g_devices[index], index, properties);
  return hipSuccess;
}

HIP_API hipError_t hipDeviceGetAttribute(int* value, int number, int index) {
  if (hipError_t error = check_index(index)) return error;
  hipDeviceProp_tR0600 properties;
  fill_properties(g_devices[index], index, &properties);
  *value = attribute(number, properties);
  return hipSuccess;
}

HIP_API hipError_t hipDeviceGetPCIBusId(char* text, int bytes, int index) {
  if (hipError_t error = check_index(index)) return error;
  snprintf(text, bytes, "0000:%02x:00.0", 3 + index);
  return hipSuccess;
}

HIP_API hipError_t hipDeviceGetByPCIBusId(int* index, const char* text) {
  unsigned domain = 0, bus = 0;
  if (sscanf(text, "%x:%x:", &domain, &bus) == 2 && domain == 0 && static_cast<int>(bus) - 3 < g_count && bus >= 3) {
    *index = static_cast<int>(bus) - 3;
    return hipSuccess;
  }
  return fail(hipErrorInvalidDevice, "no emulated device has the PCI bus ID %s", text);
}

HIP_API hipError_t hipDeviceGetLimit(size_t* value, int limit) {
  (void)limit;
  *value = 0;
  return hipSuccess;
}

HIP_API hipError_t hipDeviceCanAccessPeer(int* can, int index, int peer) {
  if (hipError_t error = check_index(index)) return error;
  if (hipError_t error = check_index(peer)) return error;
  *can = index != peer;
  return hipSuccess;
}

HIP_API hipError_t hipDeviceEnablePeerAccess(int peer, unsigned) {
  if (hipError_t error = check_index(peer)) return error;
  if (g_peer[t_current][peer])
    return fail(hipErrorPeerAccessAlreadyEnabled, "device %d already accesses device %d", t_current, peer);
  g_peer[t_current][peer] = true;
  return hipSuccess;
}

HIP_API hipError_t hipDeviceDisablePeerAccess(int peer) {
  if (hipError_t error = check_index(peer)) return error;
  if (!g_peer[t_current][peer])
    return fail(hipErrorPeerAccessNotEnabled, "device %d does not access device %d", t_current, peer);
  g_peer[t_current][peer] = false;
  return hipSuccess;
}
