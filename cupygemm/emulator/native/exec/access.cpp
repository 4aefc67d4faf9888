// Lookup of addresses in a launch's memory map, the report of an access outside of it, and the transfer of a wave's
// bytes.
#include "access.hpp"

#include <cstdio>

namespace emu {
namespace {

constexpr u32 kSlots = 64;

struct Cache {
  u64 version;
  int device;
  const Region* slot[kSlots];
};

thread_local Cache t_cache;

bool visible(const Launch& launch, const Region& region) {
  return region.device == launch.desc.device || region.device == -1;
}

template <int L, class A>
void fill_inactive(A* a, u64 mask) {
  if (mask == Wave<L>::full()) return;
  const A some = a[__builtin_ctzll(mask)];
  for (int l = 0; l < L; l++) a[l] = mask >> l & 1 ? a[l] : some;
}

template <int L, class A>
void range_of(const A* a, A* low, A* high) {
  A lo = a[0], hi = a[0];
  for (int l = 1; l < L; l++) {
    lo = a[l] < lo ? a[l] : lo;
    hi = a[l] > hi ? a[l] : hi;
  }
  *low = lo;
  *high = hi;
}

template <int L, int Bytes, class A>
void gather_bytes(u64 base, const A* a, u32 (*raw)[L]) {
  for (int l = 0; l < L; l++) {
    u32 x[(Bytes + 3) / 4] = {};
    memcpy(x, reinterpret_cast<const void*>(base + a[l]), Bytes);
#pragma unroll
    for (int d = 0; d < (Bytes + 3) / 4; d++) raw[d][l] = x[d];
  }
}

template <int L, int Bytes, class A>
void scatter_bytes(u64 base, const A* a, const u32* const* data, u64 mask, u32 shift) {
  for (; mask; mask &= mask - 1) {
    const int l = __builtin_ctzll(mask);
    u32 x[(Bytes + 3) / 4];
#pragma unroll
    for (int d = 0; d < (Bytes + 3) / 4; d++) x[d] = data[d][l] >> (Bytes < 4 ? shift : 0);
    memcpy(reinterpret_cast<void*>(base + a[l]), x, Bytes);
  }
}

template <int L>
void fill_register(u32* raw, const u32* old, u32 bytes, Fill fill) {
  if (fill == Fill::kSign || fill == Fill::kLowSign || fill == Fill::kHighSign) {
    const u32 shift = 32 - 8 * bytes;
    for (int l = 0; l < L; l++) raw[l] = static_cast<u32>(static_cast<i32>(raw[l] << shift) >> shift);
  }
  if (fill == Fill::kLowZero || fill == Fill::kLowSign) {
    for (int l = 0; l < L; l++) raw[l] = (old[l] & 0xffff0000u) | (raw[l] & 0xffffu);
  }
  if (fill == Fill::kHighZero || fill == Fill::kHighSign) {
    for (int l = 0; l < L; l++) raw[l] = (old[l] & 0xffffu) | raw[l] << 16;
  }
}

}  // namespace

const Region* find_region(const Launch& launch, u32 slot, u64 first, u64 end) {
  Cache& cache = t_cache;
  if (cache.version != launch.memory->version || cache.device != launch.desc.device) {
    cache = {launch.memory->version, launch.desc.device, {}};
  }
  const Region*& hit = cache.slot[slot % kSlots];
  if (hit && hit->contains(first, end)) return hit;
  const Region* found = launch.memory->find(first);
  if (found && found->contains(first, end) && visible(launch, *found)) return hit = found;
  return nullptr;
}

template <int L>
void trap_unallocated(Wave<L>& w, int lane, const char* verb, u64 address, u32 bytes) {
  char where[192];
  const Region* near = w.launch->memory->nearest(address);
  if (!near) {
    snprintf(where, sizeof where, "nothing is allocated");
  } else {
    const u64 size = near->end - near->base;
    const auto base = static_cast<unsigned long long>(near->base), length = static_cast<unsigned long long>(size);
    if (near->contains(address, address + bytes)) {
      snprintf(where, sizeof where, "it lies in the %llu bytes at 0x%llx of device %d, this is device %d", length, base,
               near->device, w.launch->desc.device);
    } else if (address < near->base) {
      snprintf(where, sizeof where, "the nearest allocation, %llu bytes at 0x%llx, begins %llu bytes after it", length,
               base, static_cast<unsigned long long>(near->base - address));
    } else {
      snprintf(where, sizeof where, "the nearest allocation, %llu bytes at 0x%llx, ends %lld bytes before it", length,
               base, static_cast<long long>(address - near->end));
    }
  }
  trap(w, lane, "out-of-bounds global %s of %u bytes at 0x%llx: %s", verb, bytes,
       static_cast<unsigned long long>(address), where);
}

template <int L>
bool check_global(Wave<L>& w, u64* a, u64 mask, u32 bytes, const char* verb) {
  fill_inactive<L>(a, mask);
  u64 low, high;
  range_of<L>(a, &low, &high);
  if (find_region(*w.launch, w.at->line, low, high + bytes)) return true;
  for (int l = 0; l < L; l++) {
    if ((mask >> l & 1) && !find_region(*w.launch, w.at->line, a[l], a[l] + bytes)) {
      trap_unallocated(w, l, verb, a[l], bytes);
      return false;
    }
  }
  return true;
}

template <int L>
bool check_lds(Wave<L>& w, u32* a, u64 mask, u32 bytes, const char* verb) {
  fill_inactive<L>(a, mask);
  u32 low, high;
  range_of<L>(a, &low, &high);
  const u32 size = w.group->lds_bytes;
  if (u64{high} + bytes <= size) return true;
  for (int l = 0; l < L; l++) {
    if (u64{a[l]} + bytes <= size) continue;
    trap(w, l, "out-of-bounds LDS %s of %u bytes at offset 0x%x: the workgroup has 0x%x bytes", verb, bytes, a[l],
         size);
    return false;
  }
  return true;
}

template <int L, class A>
void gather(u64 base, const A* a, u32 (*raw)[L], u32 bytes) {
  switch (bytes) {
    case 1:
      return gather_bytes<L, 1>(base, a, raw);
    case 2:
      return gather_bytes<L, 2>(base, a, raw);
    case 4:
      return gather_bytes<L, 4>(base, a, raw);
    case 8:
      return gather_bytes<L, 8>(base, a, raw);
    case 12:
      return gather_bytes<L, 12>(base, a, raw);
    default:
      return gather_bytes<L, 16>(base, a, raw);
  }
}

template <int L, class A>
void scatter(u64 base, const A* a, const u32* const* data, u64 mask, u32 bytes, bool high) {
  const u32 shift = high ? 16 : 0;
  switch (bytes) {
    case 1:
      return scatter_bytes<L, 1>(base, a, data, mask, shift);
    case 2:
      return scatter_bytes<L, 2>(base, a, data, mask, shift);
    case 4:
      return scatter_bytes<L, 4>(base, a, data, mask, shift);
    case 8:
      return scatter_bytes<L, 8>(base, a, data, mask, shift);
    case 12:
      return scatter_bytes<L, 12>(base, a, data, mask, shift);
    default:
      return scatter_bytes<L, 16>(base, a, data, mask, shift);
  }
}

template <int L>
void write_loaded(Wave<L>& w, const Operand& dst, u32 (*raw)[L], u64 mask, u32 bytes, Fill fill) {
  if (bytes < 4 && fill != Fill::kZero) fill_register<L>(raw[0], w.v[dst.reg], bytes, fill);
  for (u32 d = 0; d < dwords_of(bytes); d++) write_lanes(w, dst, static_cast<int>(d), raw[d], mask);
}

#define INSTANTIATE(L)                                                               \
  template void trap_unallocated<L>(Wave<L>&, int, const char*, u64, u32);           \
  template bool check_global<L>(Wave<L>&, u64*, u64, u32, const char*);              \
  template bool check_lds<L>(Wave<L>&, u32*, u64, u32, const char*);                 \
  template void gather<L, u32>(u64, const u32*, u32(*)[L], u32);                     \
  template void gather<L, u64>(u64, const u64*, u32(*)[L], u32);                     \
  template void scatter<L, u32>(u64, const u32*, const u32* const*, u64, u32, bool); \
  template void scatter<L, u64>(u64, const u64*, const u32* const*, u64, u32, bool); \
  template void write_loaded<L>(Wave<L>&, const Operand&, u32(*)[L], u64, u32, Fill);
INSTANTIATE(32)
INSTANTIATE(64)

}  // namespace emu
