// The map of device memory: sorted ranges, copied on write while a launch reads them.
#include "memory.hpp"

#include <pthread.h>

#include <cstdlib>
#include <cstring>

namespace emu {
namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
Snapshot* g_current = nullptr;
uint64_t g_version = 0;

// Index of the first region that ends after `address`.
uint32_t first_ending_after(const Snapshot& map, uint64_t address) {
  uint32_t low = 0, high = map.count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (map.regions[middle].end > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Snapshot* make_snapshot(uint32_t capacity) {
  auto* map = static_cast<Snapshot*>(malloc(sizeof(Snapshot)));
  *map = {static_cast<Region*>(malloc(capacity * sizeof(Region))), 0, capacity, 0, 0};
  return map;
}

void free_snapshot(Snapshot* map) {
  free(map->regions);
  free(map);
}

// The current map, with room for one more region and with no reader: a copy if a launch holds the old one.
Snapshot& writable() {
  if (!g_current) g_current = make_snapshot(64);
  if (g_current->readers || g_current->count == g_current->capacity) {
    Snapshot* copy = make_snapshot(g_current->count * 2 + 64);
    copy->count = g_current->count;
    memcpy(copy->regions, g_current->regions, copy->count * sizeof(Region));
    if (!g_current->readers) free_snapshot(g_current);
    g_current = copy;
  }
  g_current->version = ++g_version;
  return *g_current;
}

}  // namespace

const Region* Snapshot::find(uint64_t address) const {
  const uint32_t at = first_ending_after(*this, address);
  return at < count && regions[at].base <= address ? &regions[at] : nullptr;
}

const Region* Snapshot::nearest(uint64_t address) const {
  const uint32_t at = first_ending_after(*this, address);
  if (at == count) return count ? &regions[count - 1] : nullptr;
  if (at == 0 || regions[at].base <= address) return &regions[at];
  return address - regions[at - 1].end < regions[at].base - address ? &regions[at - 1] : &regions[at];
}

bool memory_add(uint64_t base, uint64_t size, int device) {
  if (size == 0 || base + size < base) return false;
  pthread_mutex_lock(&g_lock);
  Snapshot& map = writable();
  const uint32_t at = first_ending_after(map, base);
  const bool free_range = at == map.count || map.regions[at].base >= base + size;
  if (free_range) {
    memmove(map.regions + at + 1, map.regions + at, (map.count - at) * sizeof(Region));
    map.regions[at] = {base, base + size, device};
    map.count++;
  }
  pthread_mutex_unlock(&g_lock);
  return free_range;
}

bool memory_remove(uint64_t base) {
  pthread_mutex_lock(&g_lock);
  Snapshot& map = writable();
  const uint32_t at = first_ending_after(map, base);
  const bool known = at < map.count && map.regions[at].base == base;
  if (known) {
    map.count--;
    memmove(map.regions + at, map.regions + at + 1, (map.count - at) * sizeof(Region));
  }
  pthread_mutex_unlock(&g_lock);
  return known;
}

const Snapshot* memory_acquire() {
  pthread_mutex_lock(&g_lock);
  if (!g_current) g_current = make_snapshot(64);
  Snapshot* map = g_current;
  map->readers++;
  pthread_mutex_unlock(&g_lock);
  return map;
}

void memory_release(const Snapshot* snapshot) {
  auto* map = const_cast<Snapshot*>(snapshot);
  pthread_mutex_lock(&g_lock);
  map->readers--;
  if (map->readers == 0 && map != g_current) free_snapshot(map);
  pthread_mutex_unlock(&g_lock);
}

}  // namespace emu
