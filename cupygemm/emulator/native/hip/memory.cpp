// Device memory, which is host memory: allocations between guard pages, their map, copies and fills.
//
// Pages are reserved, not committed (MAP_NORESERVE), so that an array of many GiB costs what is touched of it. Data
// ends at the upper guard page but for the 256-byte alignment that hipMalloc promises.
#include <sys/mman.h>

#include <cstring>
#include <map>

#include "hip/runtime.hpp"

namespace hip {
namespace {

constexpr size_t kPage = 4096, kAlignment = 256;
constexpr size_t kPoisonLimit = 64u << 20;  // filling commits pages: only what a test would allocate

std::map<uint64_t, Allocation>& table() {
  static auto* allocations = new std::map<uint64_t, Allocation>;
  return *allocations;
}

uint64_t g_used[64];  // bytes of device memory, a device

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

bool on_device(hipMemoryType type) { return type != hipMemoryTypeHost; }

bool find_locked(uint64_t address, Allocation* out) {
  auto after = table().upper_bound(address);
  if (after == table().begin()) return false;
  const Allocation& candidate = (--after)->second;
  if (address >= candidate.base + candidate.size) return false;
  *out = candidate;
  return true;
}

class Copy : public Action {
 public:
  Copy(void* to, const void* from, size_t bytes) : to_(to), from_(from), bytes_(bytes) {}
  hipError_t run() override {
    memmove(to_, from_, bytes_);
    return hipSuccess;
  }

 private:
  void* to_;
  const void* from_;
  size_t bytes_;
};

class Fill : public Action {
 public:
  Fill(void* to, int value, size_t bytes) : to_(to), value_(value), bytes_(bytes) {}
  hipError_t run() override {
    memset(to_, value_, bytes_);
    return hipSuccess;
  }

 private:
  void* to_;
  int value_;
  size_t bytes_;
};

hipError_t copy_on(Stream* stream, void* to, const void* from, size_t bytes) {
  if (hipError_t error = take_deferred_error()) return error;
  if (bytes == 0) return hipSuccess;
  if (hipError_t error = check_range(to, bytes, "destination of a copy")) return error;
  if (hipError_t error = check_range(from, bytes, "source of a copy")) return error;
  if (hipError_t error = submit(stream, new Copy(to, from, bytes))) return error;
  // Pageable host memory may be gone once the caller has its answer: HIP stages such copies, here they are carried out.
  Allocation ignored;
  const bool pageable = !find_allocation(to, &ignored) || !find_allocation(from, &ignored);
  return pageable && !is_capturing(stream) ? drain(stream) : hipSuccess;
}

hipError_t copy_and_wait(void* to, const void* from, size_t bytes) {
  if (hipError_t error = copy_on(nullptr, to, from, bytes)) return error;
  return drain(nullptr);
}

hipError_t fill_on(Stream* stream, void* to, int value, size_t bytes) {
  if (bytes == 0) return hipSuccess;
  if (hipError_t error = check_range(to, bytes, "target of a fill")) return error;
  return submit(stream, new Fill(to, value, bytes));
}

}  // namespace

hipError_t allocate(void** out, size_t bytes, hipMemoryType type, int index) {
  *out = nullptr;
  if (bytes == 0) return hipSuccess;
  const uint64_t limit = on_device(type) ? device(index).memory_bytes : ~0ull >> 16;
  Lock lock;
  const uint64_t used = on_device(type) ? g_used[index] : 0;
  if (bytes > limit || used + bytes > limit)
    return fail(hipErrorOutOfMemory, "out of memory: %zu bytes asked for, %llu of %llu in use on emulated device %d",
                bytes, (unsigned long long)used, (unsigned long long)limit, index);
  const size_t body = round_up(bytes, kPage), mapping_size = body + 2 * kPage;
  void* mapping = mmap(nullptr, mapping_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return fail(hipErrorOutOfMemory, "the host cannot map %zu bytes", mapping_size);
  char* first = static_cast<char*>(mapping) + kPage;
  if (mprotect(first, body, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, mapping_size);
    return fail(hipErrorOutOfMemory, "the host cannot map %zu bytes", body);
  }
  char* data = first + body - round_up(bytes, kAlignment);
  if ((options() & EMU_HIP_CHECK) && bytes <= kPoisonLimit) memset(data, 0xff, bytes);
  const auto base = reinterpret_cast<uint64_t>(data);
  table()[base] = Allocation{base, bytes, type, index, mapping, mapping_size};
  if (on_device(type)) g_used[index] += bytes;
  emu_memory_add(base, bytes, type == hipMemoryTypeDevice ? index : -1);
  *out = data;
  return hipSuccess;
}

hipError_t release(void* pointer) {
  if (!pointer) return hipSuccess;
  if (hipError_t error = drain_all()) return error;
  Lock lock;
  const auto entry = table().find(reinterpret_cast<uint64_t>(pointer));
  if (entry == table().end()) return fail(hipErrorInvalidValue, "free of %p, which is no allocation's start", pointer);
  const Allocation allocation = entry->second;
  table().erase(entry);
  if (on_device(allocation.type)) g_used[allocation.device] -= allocation.size;
  emu_memory_remove(allocation.base);
  munmap(allocation.mapping, allocation.mapping_size);
  return hipSuccess;
}

bool find_allocation(const void* pointer, Allocation* out) {
  Lock lock;
  return find_locked(reinterpret_cast<uint64_t>(pointer), out);
}

hipError_t check_range(const void* pointer, size_t bytes, const char* what) {
  Allocation allocation;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (!find_allocation(pointer, &allocation)) return hipSuccess;
  const uint64_t left = allocation.base + allocation.size - address;
  if (bytes <= left) return hipSuccess;
  return fail(hipErrorInvalidValue, "%s: %zu bytes at %p, but its allocation (%llu bytes at 0x%llx) ends after %llu",
              what, bytes, pointer, (unsigned long long)allocation.size, (unsigned long long)allocation.base,
              (unsigned long long)left);
}

}  // namespace hip

using namespace hip;

HIP_API hipError_t hipMalloc(void** out, size_t bytes) {
  return allocate(out, bytes, hipMemoryTypeDevice, current_device());
}

HIP_API hipError_t hipMallocManaged(void** out, size_t bytes, unsigned) {
  return allocate(out, bytes, hipMemoryTypeManaged, current_device());
}

HIP_API hipError_t hipHostMalloc(void** out, size_t bytes, unsigned) {
  return allocate(out, bytes, hipMemoryTypeHost, current_device());
}
HIP_API hipError_t hipFree(void* pointer) { return release(pointer); }
HIP_API hipError_t hipHostFree(void* pointer) { return release(pointer); }

HIP_API hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total) {
  const int index = current_device();
  Lock lock;
  *total = device(index).memory_bytes;
  *free_bytes = *total - g_used[index];
  return hipSuccess;
}

HIP_API hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind) {
  return copy_and_wait(to, from, bytes);
}

HIP_API hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind, Stream* stream) {
  return copy_on(stream, to, from, bytes);
}

HIP_API hipError_t hipMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return copy_and_wait(to, from, bytes);
}

HIP_API hipError_t hipMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, Stream* stream) {
  return copy_on(stream, to, from, bytes);
}

HIP_API hipError_t hipMemset(void* to, int value, size_t bytes) { return fill_on(nullptr, to, value, bytes); }

HIP_API hipError_t hipMemsetAsync(void* to, int value, size_t bytes, Stream* stream) {
  return fill_on(stream, to, value, bytes);
}

// Hints for managed memory: there is only one kind of memory here.
HIP_API hipError_t hipMemAdvise(const void*, size_t, int, int) { return hipSuccess; }
HIP_API hipError_t hipMemPrefetchAsync(const void*, size_t, int, Stream*) { return hipSuccess; }

HIP_API hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out, const void* pointer) {
  *out = {hipMemoryTypeUnregistered, -2, nullptr, nullptr, 0, 0};  // -2: hipInvalidDeviceId
  Allocation allocation;
  if (!find_allocation(pointer, &allocation)) return hipSuccess;
  auto* address = const_cast<void*>(pointer);
  *out = {allocation.type,
          allocation.device,
          address,
          allocation.type == hipMemoryTypeDevice ? nullptr : address,
          allocation.type == hipMemoryTypeManaged,
          0};
  return hipSuccess;
}
