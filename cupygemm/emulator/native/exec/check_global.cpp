// Conflicts in global memory between workgroups of one launch: two of them touch the same byte and one writes it, other
// than atomically. Writes of the byte that is there already do no harm. A workgroup that has executed an atomic with a
// result may have synchronised with others, so what it reads afterwards is not checked.
//
// Shadow of 4 KiB pages on first touch: for every dword who wrote and who read it, and which bytes. A dword whose bytes
// belong to several workgroups gets a word a byte.
#include <cstdlib>

#include "buffer.hpp"
#include "check.hpp"

namespace emu::check {

namespace {

constexpr u32 kMany = ~0u, kPageBytes = 4096, kPageDwords = kPageBytes / 4;

struct Bytes {
  u32 writer[4], reader[4];
};

// Owners: 0 nobody, kMany several, otherwise workgroup + 1.
struct Page {
  u64 number;
  u32 writer[kPageDwords], reader[kPageDwords];
  u8 written[kPageDwords], read[kPageDwords];  // bytes of the dword
  Bytes** split;                               // null, or for each dword null or its bytes' owners, which then count
};

}  // namespace

struct GlobalShadow {
  Page** table;  // open addressing by page number
  u64 capacity, count;
  Page* last;
  u32 synchronised;  // workgroup + 1 that has executed an atomic with a result
};

namespace {

u64 slot_of(const GlobalShadow& g, u64 number) {
  u64 slot = number * 0x9e3779b97f4a7c15ull >> 20 & (g.capacity - 1);
  while (g.table[slot] && g.table[slot]->number != number) slot = (slot + 1) & (g.capacity - 1);
  return slot;
}

void grow(GlobalShadow& g) {
  Page** old = g.table;
  const u64 capacity = g.capacity;
  g.capacity *= 2;
  g.table = static_cast<Page**>(calloc(g.capacity, sizeof(Page*)));
  for (u64 n = 0; n < capacity; n++) {
    if (old[n]) g.table[slot_of(g, old[n]->number)] = old[n];
  }
  free(old);
}

__attribute__((noinline)) Page& look_up(GlobalShadow& g, u64 number) {
  u64 slot = slot_of(g, number);
  if (!g.table[slot]) {
    if (2 * ++g.count > g.capacity) {
      grow(g);
      slot = slot_of(g, number);
    }
    g.table[slot] = static_cast<Page*>(calloc(1, sizeof(Page)));
    g.table[slot]->number = number;
  }
  g.last = g.table[slot];
  return *g.last;
}

EMU_INLINE Page& page_of(GlobalShadow& g, u64 number) {
  return g.last && g.last->number == number ? *g.last : look_up(g, number);
}

struct Access4 {
  bool write;
  u32 group;  // + 1
  u32 bytes;  // of the dword
  u32 same;   // bytes of those that already have the written value
};

// The other workgroup + 1 of a conflict at one byte, or 0.
u32 touch_byte(u32& writer, u32& reader, const Access4& a, bool same) {
  const bool foreign_writer = writer && writer != a.group;
  if (!a.write) {
    if (foreign_writer) return writer;
    reader = reader == 0 || reader == a.group ? a.group : kMany;
    return 0;
  }
  if (same) return 0;
  if (foreign_writer) return writer;
  if (reader && reader != a.group) return reader;
  writer = a.group;
  return 0;
}

Bytes& split(Page& p, u32 at) {
  if (!p.split) p.split = static_cast<Bytes**>(calloc(kPageDwords, sizeof(Bytes*)));
  if (p.split[at]) return *p.split[at];
  auto* each = static_cast<Bytes*>(calloc(1, sizeof(Bytes)));
  for (u32 b = 0; b < 4; b++) {
    each->writer[b] = p.written[at] >> b & 1 ? p.writer[at] : 0;
    each->reader[b] = p.read[at] >> b & 1 ? p.reader[at] : 0;
  }
  return *(p.split[at] = each);
}

bool free_for(u32 owner, u32 group) { return owner == 0 || owner == group; }

// The owners of a dword whose bytes need not be told apart. False: they do.
bool touch_together(Page& p, u32 at, const Access4& a) {
  if (p.split && p.split[at]) return false;
  if (!free_for(p.writer[at], a.group)) return false;
  const bool mine = free_for(p.reader[at], a.group);
  if (a.write) {
    if (!mine || a.same) return false;
    p.writer[at] = a.group;
    p.written[at] |= a.bytes;
    return true;
  }
  if (!mine && p.read[at] != a.bytes) return false;
  p.reader[at] = mine ? a.group : kMany;
  p.read[at] |= a.bytes;
  return true;
}

u32 touch_dword(Page& p, u32 at, const Access4& a) {
  if (touch_together(p, at, a)) return 0;
  Bytes& each = split(p, at);
  for (u32 b = 0; b < 4; b++) {
    if (!(a.bytes >> b & 1)) continue;
    if (const u32 other = touch_byte(each.writer[b], each.reader[b], a, a.same >> b & 1)) return other;
  }
  return 0;
}

template <int L>
__attribute__((noinline)) void report_conflict(Wave<L>& w, int lane, bool write, u64 address, u32 other) {
  const u32* grid = w.launch->desc.grid;
  const auto at = static_cast<unsigned long long>(address);
  const char* verb = write ? "written" : "read";
  if (other == kMany) {
    return trap(w, lane,
                "conflict between workgroups: 0x%llx is %s here and read by several other workgroups of this launch",
                at, verb);
  }
  const u32 n = other - 1;
  trap(w, lane, "conflict between workgroups: 0x%llx is %s here and %s by workgroup (%u, %u, %u) of this launch", at,
       verb, write ? "also touched" : "written", n % grid[0], n / grid[0] % grid[1], n / grid[0] / grid[1]);
}

// Bytes of the data that memory already holds.
template <int L>
u32 same_bytes(const Wave<L>& w, const Operand& data, int lane, u64 dword_address, u32 bytes, u32 first, bool high) {
  u32 same = 0;
  for (u32 b = 0, n = first; b < 4; b++) {
    if (!(bytes >> b & 1)) continue;
    u32 word = data.kind == Kind::kVgpr ? w.v[data.reg + n / 4][lane] : read_s32(w, data, static_cast<int>(n / 4));
    if (high) word >>= 16;
    same |= u32{*reinterpret_cast<const u8*>(dword_address + b) == (word >> n % 4 * 8 & 0xff)} << b;
    n++;
  }
  return same;
}

// From byte `done` of the access on, with the bytes of a dword told apart where need be.
template <int L>
__attribute__((noinline)) void touch_closely(Wave<L>& w, const Plan& p, int lane, u64 address, u32 bytes, u32 done,
                                             const Operand* data) {
  GlobalShadow& g = *launch_check(*w.launch).global;
  Access4 a{data != nullptr, static_cast<u32>(w.group->linear) + 1, 15, 0};
  while (done < bytes) {
    const u64 at = address + done;
    Page& page = page_of(g, at / kPageBytes);
    const u32 dword = static_cast<u32>(at % kPageBytes / 4), in = static_cast<u32>(at % 4);
    const u32 n = 4 - in < bytes - done ? 4 - in : bytes - done;
    a.bytes = ((1u << n) - 1) << in;
    done += n;
    a.same = 0;
    if (touch_together(page, dword, a)) continue;
    if (data) a.same = same_bytes(w, *data, lane, at - in, a.bytes, done - n, p.high_data);
    if (const u32 other = touch_dword(page, dword, a)) return report_conflict(w, lane, data != nullptr, at, other);
  }
}

template <int L>
EMU_INLINE void touch(Wave<L>& w, const Plan& p, int lane, u64 address, u32 bytes, const Operand* data) {
  GlobalShadow& g = *launch_check(*w.launch).global;
  const Access4 a{data != nullptr, static_cast<u32>(w.group->linear) + 1, 15, 0};
  const u32 in_page = static_cast<u32>(address % kPageBytes);
  u32 done = 0;
  if (address % 4 == 0 && bytes % 4 == 0 && in_page + bytes <= kPageBytes) {
    Page& page = page_of(g, address / kPageBytes);
    while (done < bytes && touch_together(page, (in_page + done) / 4, a)) done += 4;
  }
  if (done < bytes) touch_closely(w, p, lane, address, bytes, done, data);
}

template <int L>
u64 scalar_address(const Wave<L>& w, const Insn& i) {
  u64 address = read_s64(w, i.src[0]) & 0xffffffffffffull;
  if (i.src[1].kind == Kind::kSgpr) address += w.s[i.src[1].reg];
  if (i.src[1].kind == Kind::kConst) address += static_cast<u64>(static_cast<i64>(static_cast<i32>(i.src[1].value)));
  return address + static_cast<u64>(static_cast<i64>(i.offset));
}

}  // namespace

GlobalShadow* make_global_shadow() {
  auto* g = static_cast<GlobalShadow*>(calloc(1, sizeof(GlobalShadow)));
  g->capacity = 1024;
  g->table = static_cast<Page**>(calloc(g->capacity, sizeof(Page*)));
  return g;
}

void free_global_shadow(GlobalShadow* g) {
  for (u64 n = 0; n < g->capacity; n++) {
    if (!g->table[n]) continue;
    for (u32 at = 0; g->table[n]->split && at < kPageDwords; at++) free(g->table[n]->split[at]);
    free(g->table[n]->split);
    free(g->table[n]);
  }
  free(g->table);
  free(g);
}

template <int L>
void check_global_access(Wave<L>& w, const Insn& i, const Plan& p) {
  GlobalShadow& g = *launch_check(*w.launch).global;
  const MemoryOp& m = p.memory;
  const u32 group = static_cast<u32>(w.group->linear) + 1;
  if (m.access == Access::kAtomic) {
    if (p.writes) g.synchronised = group;
    return;
  }
  const bool write = m.access == Access::kStore;
  if (!write && g.synchronised == group) return;
  alignas(64) u64 a[L];
  alignas(64) u8 in_range[L];
  if (m.space == Space::kScalar) {
    const u64 address = scalar_address(w, i);
    if (address % 4)
      return trap(w, -1, "misaligned scalar load: the two low bits of 0x%llx are ignored",
                  static_cast<unsigned long long>(address));
    if (find_region(*w.launch, i.line, address, address + m.bytes)) touch(w, p, -1, address, m.bytes, nullptr);
    return;
  }
  const Operand* data = write ? &i.src[m.space == Space::kBuffer ? 0 : 1] : nullptr;
  if (m.space == Space::kBuffer) {
    const int first = write ? 1 : 0;
    if (read_s32(w, i.src[first + 1], 1) == kPrivateApertureHi) return;
    if (!buffer_addresses(w, i, i.src[first], i.src[first + 1], i.src[first + 2], m.bytes, a, in_range)) return;
  } else {
    global_addresses(w, i.src[0], i.src[write ? 2 : 1], i.offset, a);
    for (int l = 0; l < L; l++) {
      const u32 high = static_cast<u32>(a[l] >> 32);
      in_range[l] = m.space == Space::kFlat && (high == kSharedApertureHi || high == kPrivateApertureHi) ? 0 : m.bytes;
    }
  }
  for (u64 mask = active(w); mask && w.state == State::kRunning; mask &= mask - 1) {
    const int l = __builtin_ctzll(mask);
    if (!in_range[l] || !find_region(*w.launch, i.line, a[l], a[l] + in_range[l])) continue;
    touch(w, p, l, a[l], in_range[l], data);
  }
}

template void check_global_access<32>(Wave<32>&, const Insn&, const Plan&);
template void check_global_access<64>(Wave<64>&, const Insn&, const Plan&);

}  // namespace emu::check
