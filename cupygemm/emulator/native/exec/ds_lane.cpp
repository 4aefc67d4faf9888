// LDS instructions that only exchange data between lanes: ds_permute, ds_bpermute, ds_swizzle. No LDS byte is touched.
#include "access.hpp"
#include "memory_op.hpp"

namespace emu {
namespace {

// Lanes that the address may select: all of a wave64 on CDNA. (RDNA's wave64 permutes within halves of 32 lanes.)
template <int L>
u32 group_size(const Wave<L>& w) {
  return L == 64 && is_cdna(w.arch) ? 64 : 32;
}

// Pull: lane l gets the data of lane address[l] / 4; inactive sources give 0.
template <int L>
void bpermute(Wave<L>& w, const Insn& i) {
  alignas(64) u32 a[L], tmp[L], out[L];
  lds_addresses(w, i.src[0], i.offset, a);
  const u32* data = read_lanes(w, i.src[1], 0, tmp);
  const u64 mask = active(w);
  const u32 group = group_size(w);
  for (u32 l = 0; l < L; l++) {
    const u32 from = (a[l] / 4 & (group - 1)) + (l & ~(group - 1));
    out[l] = mask >> from & 1 ? data[from] : 0;
  }
  write_lanes(w, i.dst[0], 0, out);
}

// gfx12: as ds_bpermute, but inactive sources give their value.
template <int L>
void bpermute_fi(Wave<L>& w, const Insn& i) {
  alignas(64) u32 a[L], tmp[L], out[L];
  lds_addresses(w, i.src[0], i.offset, a);
  const u32* data = read_lanes(w, i.src[1], 0, tmp);
  const u32 group = group_size(w);
  for (u32 l = 0; l < L; l++) out[l] = data[(a[l] / 4 & (group - 1)) + (l & ~(group - 1))];
  write_lanes(w, i.dst[0], 0, out);
}

// Push: lane l's data goes to lane address[l] / 4; the highest sender wins, lanes that nobody sends to get 0.
template <int L>
void permute(Wave<L>& w, const Insn& i) {
  alignas(64) u32 a[L], tmp[L], out[L] = {};
  lds_addresses(w, i.src[0], i.offset, a);
  const u32* data = read_lanes(w, i.src[1], 0, tmp);
  const u32 group = group_size(w);
  for (u64 mask = active(w); mask; mask &= mask - 1) {
    const u32 l = static_cast<u32>(__builtin_ctzll(mask));
    out[(a[l] / 4 & (group - 1)) + (l & ~(group - 1))] = data[l];
  }
  write_lanes(w, i.dst[0], 0, out);
}

// The lane that lane l reads from under the swizzle pattern `offset` (CDNA 3 ISA, ds_swizzle_b32).
u32 swizzle_lane(u32 l, u32 offset) {
  if (offset >> 15 == 0) {  // groups of 32: and, or, xor masks
    const u32 within = l & 31;
    return (l & ~31u) + (((within & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
  }
  if ((offset & 0xe000) == 0xc000) {  // rotate within the lanes that the mask leaves free
    const u32 mask = offset & 31, count = offset >> 5 & 31;
    const u32 within = l & 31, moved = offset >> 10 & 1 ? within - count : within + count;
    return (l & ~31u) + ((within & mask) | (moved & ~mask & 31));
  }
  if ((offset & 0xff00) == 0x8000) return (l & ~3u) + (offset >> (l & 3) * 2 & 3);  // quads
  return l;
}

template <int L>
void swizzle(Wave<L>& w, const Insn& i) {
  alignas(64) u32 tmp[L], out[L];
  const u32* data = read_lanes(w, i.src[0], 0, tmp);
  const u32 offset = static_cast<u32>(i.offset);
  if ((offset & 0xe000) == 0xe000) return trap(w, -1, "ds_swizzle in FFT mode (offset 0x%x) is not emulated", offset);
  const u64 mask = active(w);
  for (u32 l = 0; l < L; l++) {
    const u32 from = swizzle_lane(l, offset);
    out[l] = mask >> from & 1 ? data[from] : 0;
  }
  write_lanes(w, i.dst[0], 0, out);
}

template <int L>
void nothing(Wave<L>&, const Insn&) {}

constexpr u32 kFlags = memory_flags(Space::kLanes, Access::kLoad, 4);

const OpRow kRows[] = {
    row("ds_bpermute_b32", "b32=b32,b32", &bpermute<32>, &bpermute<64>, kFlags),
    row("ds_bpermute_fi_b32", "b32=b32,b32", &bpermute_fi<32>, &bpermute_fi<64>, kFlags),
    row("ds_permute_b32", "b32=b32,b32", &permute<32>, &permute<64>, kFlags),
    row("ds_swizzle_b32", "b32=b32", &swizzle<32>, &swizzle<64>, kFlags),
    row("ds_nop", "=", &nothing<32>, &nothing<64>),
};

}  // namespace

OpTable ds_lane_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
