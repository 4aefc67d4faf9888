// The private segment: byte offsets of a work-item, dwords interleaved by lane.
#pragma once
#include "access.hpp"

namespace emu {

// False if some lane of `mask` leaves its segment; the launch is then stopped.
template <int L>
bool check_scratch(Wave<L>& w, const u32* a, u64 mask, u32 bytes, const char* verb);

// raw[d][l] = dword d of the `bytes` at a[l]; fewer than 4 bytes are zero-extended.
template <int L>
void read_scratch(const Wave<L>& w, const u32* a, u64 mask, u32 bytes, u32 (*raw)[L]);

// `high`: the data is in bits 31:16.
template <int L>
void write_scratch(const Wave<L>& w, const u32* a, u64 mask, u32 bytes, const u32* const* data, bool high);

}  // namespace emu
