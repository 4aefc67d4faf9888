// Coalescing: the bytes that a wave's global access asks for, and the distinct cache lines of the vector L1 cache that
// it touches, access by access (no cache is modelled). Lanes of a flat access that mean LDS or private memory, and what
// a buffer's bounds check refuses, do not count.
//
// Lines: 64 bytes on gfx90a, 128 elsewhere (AMD's tutorial "Optimizing GEMM in HIP", table of cache lines).
#include "buffer.hpp"
#include "count.hpp"

namespace emu::count {
namespace {

// The distinct ones of a wave's line numbers: two a lane at most.
class Lines {
 public:
  void touch(u64 line) {
    u32 slot = static_cast<u32>(line * 0x9e3779b97f4a7c15ull >> 56);
    while (used_[slot / 64] >> slot % 64 & 1) {
      if (line_[slot] == line) return;
      slot = (slot + 1) % kSlots;
    }
    used_[slot / 64] |= 1ull << slot % 64;
    line_[slot] = line;
    count_++;
  }
  u64 count() const { return count_; }

 private:
  static constexpr u32 kSlots = 256;
  u64 used_[kSlots / 64] = {};
  u64 line_[kSlots];
  u64 count_ = 0;
};

// Addresses of all lanes and how many bytes each may touch. False: not to be counted.
template <int L>
bool addresses_of(Wave<L>& w, const Insn& i, const MemoryOp& m, u64* a, u8* in_range) {
  const bool data_first = m.access != Access::kLoad;
  if (m.space == Space::kBuffer) {
    const int first = data_first ? 1 : 0;
    if (read_s32(w, i.src[first + 1], 1) == kPrivateApertureHi) return false;
    return buffer_addresses(w, i, i.src[first], i.src[first + 1], i.src[first + 2], m.bytes, a, in_range);
  }
  // Loads: address, scalar base. Stores and atomics: address, data, scalar base. flat_*: no scalar base.
  const Operand none{};
  const int base = data_first ? 2 : 1;
  global_addresses(w, i.src[0], base < i.nsrc ? i.src[base] : none, i.offset, a);
  for (int l = 0; l < L; l++) {
    const u32 high = static_cast<u32>(a[l] >> 32);
    in_range[l] = m.space == Space::kFlat && (high == kSharedApertureHi || high == kPrivateApertureHi) ? 0 : m.bytes;
  }
  return true;
}

}  // namespace

template <int L>
void count_global(Wave<L>& w, const Insn& i, const Plan& p, emu_counters& c) {
  const u32 shift = w.arch == Arch::kCdna2 ? 6 : 7;
  alignas(64) u64 a[L];
  alignas(64) u8 in_range[L];
  const u64 mask = active(w);
  if (!mask || !addresses_of(w, i, p.memory, a, in_range)) return;
  Lines lines;
  u64 bytes = 0, previous = ~0ull;
  for (u64 left = mask; left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    if (!in_range[l]) continue;
    bytes += in_range[l];
    const u64 first = a[l] >> shift, last = (a[l] + in_range[l] - 1) >> shift;
    if (first != previous) lines.touch(first);
    if (last != first) lines.touch(last);
    previous = last;
  }
  const bool read = p.unit == Unit::kVmemRead;
  (read ? c.bytes_read : c.bytes_written) += bytes;
  (read ? c.lines_read : c.lines_written) += lines.count();
}

template void count_global<32>(Wave<32>&, const Insn&, const Plan&, emu_counters&);
template void count_global<64>(Wave<64>&, const Insn&, const Plan&, emu_counters&);

}  // namespace emu::count
