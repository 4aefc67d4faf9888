// Registers as a wave finds them at the kernel's first instruction.
#pragma once
#include "launch.hpp"

namespace emu {

// What registers hold that nothing has initialised: as f32 a signaling NaN, as an address nonsense.
constexpr u32 kGarbage = 0x7fa0deadu;

template <int L>
void init_wave(Wave<L>& w, Workgroup& group, u32 id);

}  // namespace emu
