// How a memory instruction reaches memory: addresses of all lanes, the check against the memory map or the LDS size,
// and the transfer between bytes and registers. Shared by global, flat, scratch, buffer, LDS and atomic instructions,
// and by the checkers.
#pragma once
#include "launch.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "operands.hpp"

namespace emu {

template <int L>
inline u64 active(const Wave<L>& w) {
  return w.exec() & Wave<L>::full();
}

// The region that holds [first, end) in the launch's view, through a cache of one entry a slot.
const Region* find_region(const Launch& launch, u32 slot, u64 first, u64 end);

// Stops the launch with the report of an access to unallocated memory.
template <int L>
void trap_unallocated(Wave<L>& w, int lane, const char* verb, u64 address, u32 bytes);

// False if some active lane (there is at least one) touches unallocated memory; the launch is then stopped. Otherwise
// the addresses of inactive lanes are overwritten by an active one.
template <int L>
bool check_global(Wave<L>& w, u64* a, u64 mask, u32 bytes, const char* verb);

// The same for offsets in LDS.
template <int L>
bool check_lds(Wave<L>& w, u32* a, u64 mask, u32 bytes, const char* verb);

// ---- Addresses ------------------------------------------------------------------------------------------------------

// global_* and flat_*: a 64-bit address in VGPRs, or a 64-bit scalar base plus an unsigned 32-bit VGPR; plus the
// offset.
template <int L>
EMU_INLINE void global_addresses(const Wave<L>& w, const Operand& vaddr, const Operand& saddr, i32 offset, u64* a) {
  const u64 plus = static_cast<u64>(static_cast<i64>(offset));
  if (saddr.kind == Kind::kSgpr) {
    const u64 base = read_s64(w, saddr) + plus;
    const u32* v = w.v[vaddr.reg];
    for (int l = 0; l < L; l++) a[l] = base + (vaddr.kind == Kind::kVgpr ? v[l] : 0);
  } else {
    const u32 *low = w.v[vaddr.reg], *high = w.v[vaddr.reg + 1];
    for (int l = 0; l < L; l++) a[l] = (low[l] | u64{high[l]} << 32) + plus;
  }
}

template <int L>
EMU_INLINE void lds_addresses(const Wave<L>& w, const Operand& vaddr, i32 offset, u32* a) {
  alignas(64) u32 tmp[L];
  const u32* v = read_lanes(w, vaddr, 0, tmp);
  for (int l = 0; l < L; l++) a[l] = v[l] + static_cast<u32>(offset);
}

// ---- Transfer -------------------------------------------------------------------------------------------------------

// How a load of fewer than 4 bytes fills its register.
enum class Fill : u8 { kZero, kSign, kLowZero, kLowSign, kHighZero, kHighSign };

// raw[d][l] = dword d of the `bytes` at base + a[l], for every lane; fewer than 4 bytes are zero-extended.
template <int L, class A>
void gather(u64 base, const A* a, u32 (*raw)[L], u32 bytes);

// The lowest `bytes` of each active lane's data to base + a[l], lanes in ascending order. `high`: the data is in bits
// 31:16.
template <int L, class A>
void scatter(u64 base, const A* a, const u32* const* data, u64 mask, u32 bytes, bool high = false);

// Gathered data into the destination of a load. Changes `raw`.
template <int L>
void write_loaded(Wave<L>& w, const Operand& dst, u32 (*raw)[L], u64 mask, u32 bytes, Fill fill = Fill::kZero);

constexpr u32 dwords_of(u32 bytes) { return (bytes + 3) / 4; }

// Pointers to the dwords of a store's data; constants and scalars are spread out.
template <int L>
struct StoreData {
  const u32* dword[4];
  alignas(64) u32 tmp[4][L];

  StoreData(const Wave<L>& w, const Operand& o, u32 bytes) {
    for (u32 d = 0; d < dwords_of(bytes); d++) dword[d] = read_lanes(w, o, static_cast<int>(d), tmp[d]);
  }
};

}  // namespace emu
