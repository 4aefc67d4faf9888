// The map of device memory: which byte ranges are allocated, and with what real size.
//
// The stand-in runtime adds and removes ranges; every launch reads one snapshot from its start to its end, so readers
// take no lock. Device addresses are host addresses. A launch sees the allocations of its own device and of device -1
// (host memory).
#pragma once
#include <cstdint>

namespace emu {

// Bits 63:32 of a flat address that means a byte of LDS or of the work-item's private segment (src_shared_base,
// src_private_base); no host address reaches there. Bits 31:0 are the offset in the segment.
inline constexpr uint32_t kSharedApertureHi = 0x10000000u;
inline constexpr uint32_t kPrivateApertureHi = 0x20000000u;

// Addresses a with base <= a < end.
struct Region {
  uint64_t base, end;
  int device;

  bool contains(uint64_t first, uint64_t last_end) const {
    return first >= base && last_end <= end && first < last_end;
  }
};

struct Snapshot {
  Region* regions;  // sorted by base, disjoint
  uint32_t count, capacity;
  uint32_t readers;
  uint64_t version;  // differs after every change, so that a cached lookup is known to be stale

  // The region that holds `address`, or null.
  const Region* find(uint64_t address) const;
  // The region closest to `address`, of any device; null only if there is none at all.
  const Region* nearest(uint64_t address) const;
};

// False (and no change) if the range is empty, wraps or overlaps a known one.
bool memory_add(uint64_t base, uint64_t size, int device);
// False if no range begins at `base`.
bool memory_remove(uint64_t base);

const Snapshot* memory_acquire();
void memory_release(const Snapshot* snapshot);

}  // namespace emu
