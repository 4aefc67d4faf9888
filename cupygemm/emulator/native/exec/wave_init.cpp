// Initial registers: user and system SGPRs, work-item ids, MODE. Source: LLVM's AMDGPU usage guide, "Initial Kernel
// Execution State", and for gfx12 "Architected SGPRs" (workgroup ids in TTMP7 and TTMP9).
#include "wave_init.hpp"

#include "operands.hpp"

namespace emu {

namespace {

// A buffer descriptor of the private segment: the aperture as base, everything in bounds. Only its base is looked at.
template <int L>
u32 push_user_sgprs(Wave<L>& w, const Launch& launch, const emu_kernel_desc& k) {
  u32 n = 0;
  auto push = [&](u64 x, int dwords) {
    for (int d = 0; d < dwords; d++) w.s[n++] = u32(x >> (32 * d));
  };
  if (k.enable & EMU_PRIVATE_SEGMENT_BUFFER) {
    push(u64(kPrivateApertureHi) << 32, 2);
    push(0x00e00000ffffffffull, 2);
  }
  if (k.enable & EMU_DISPATCH_PTR) push(launch.dispatch_packet, 2);
  if (k.enable & EMU_QUEUE_PTR) push(0, 2);
  if (k.enable & EMU_KERNARG_PTR) push(launch.kernarg, 2);
  if (k.enable & EMU_DISPATCH_ID) push(1, 2);
  if (k.enable & EMU_FLAT_SCRATCH_INIT) push(0, 2);
  if (k.enable & EMU_PRIVATE_SEGMENT_SIZE) push(k.private_bytes, 1);
  for (u32 d = 0; d < k.kernarg_preload_count; d++) {
    const u64 at = 4ull * (k.kernarg_preload_offset + d);
    u32 x = 0;
    if (at + 4 <= k.kernarg_bytes) memcpy(&x, reinterpret_cast<const void*>(launch.kernarg + at), 4);
    push(x, 1);
  }
  return n;
}

template <int L>
void init_sgprs(Wave<L>& w, const Workgroup& group) {
  const emu_kernel_desc& k = group.launch->kernel->desc;
  for (u32& x : w.s) x = kGarbage;
  u32 n = push_user_sgprs(w, *group.launch, k);
  if (k.user_sgprs > n) n = k.user_sgprs;
  if (w.arch == Arch::kRdna4) {
    w.s[kTtmp0 + 9] = group.id[0];
    w.s[kTtmp0 + 7] = (group.id[1] & 0xffff) | (group.id[2] << 16);
    w.s[kTtmp0 + 8] = w.id << 25;
  } else {
    for (u32 dim = 0; dim < 3; dim++)
      if (k.enable & (EMU_WORKGROUP_ID_X << dim)) w.s[n++] = group.id[dim];
    if (k.enable & EMU_WORKGROUP_INFO) w.s[n++] = w.id == 0;
  }
  if (k.enable & EMU_PRIVATE_SEGMENT && w.arch == Arch::kCdna2) w.s[n++] = 0;
  memset(&w.s[kVccLo], 0, 8);
  w.s[kM0] = kGarbage;
}

// v0 holds x in bits 9:0, y in 19:10, z in 29:20.
template <int L>
void init_vgprs(Wave<L>& w, const emu_launch_desc& launch, const emu_kernel_desc& k) {
  const u32 used = k.vgprs < 1 ? 1 : k.vgprs > 256 ? 256 : k.vgprs;
  for (u32 r = 0; r < used; r++)
    for (int l = 0; l < L; l++) w.v[r][l] = kGarbage;
  for (u32 r = 0; r < k.agprs && 256 + r < u32(Wave<L>::kVgprs); r++)
    for (int l = 0; l < L; l++) w.v[256 + r][l] = kGarbage;
  const u32 width = launch.block[0], height = launch.block[1];
  u32 linear = w.id * L;
  u32 x = linear % width, y = linear / width % height, z = linear / width / height;
  for (u32 l = 0; l < w.lanes_present; l++) {
    w.v[0][l] = x | (y << 10) | (z << 20);
    if (++x == width) {
      x = 0;
      if (++y == height) y = 0, z++;
    }
  }
}

}  // namespace

template <int L>
void init_wave(Wave<L>& w, Workgroup& group, u32 id) {
  Launch& launch = *group.launch;
  const emu_kernel_desc& k = launch.kernel->desc;
  const u32 items = launch.desc.block[0] * launch.desc.block[1] * launch.desc.block[2];
  w.group = &group, w.launch = &launch;
  w.arch = launch.arch;
  w.id = id;
  w.lanes_present = items - id * L < u32(L) ? items - id * L : L;
  w.at = nullptr, w.scratch = nullptr, w.shadow = nullptr;
  w.pc = k.entry;
  w.scc = false;
  w.state = State::kRunning;
  w.signalled = 0;
  w.budget = launch.desc.budget ? launch.desc.budget : ~0ull;
  init_sgprs(w, group);
  w.set_exec(w.lanes_present == 64 ? ~0ull : (1ull << w.lanes_present) - 1);
  init_vgprs(w, launch.desc, k);
  FpMode mode;
  mode.round_f32 = k.float_mode & 3, mode.round_f16_64 = (k.float_mode >> 2) & 3;
  mode.denorm_f32 = (k.float_mode >> 4) & 3, mode.denorm_f16_64 = (k.float_mode >> 6) & 3;
  mode.dx10_clamp = launch.arch == Arch::kRdna4 || k.dx10_clamp;
  mode.ieee = launch.arch != Arch::kRdna4 && k.ieee;
  mode.fp16_ovfl = k.fp16_ovfl;
  set_mode(w, mode);
}

template void init_wave<32>(Wave<32>&, Workgroup&, u32);
template void init_wave<64>(Wave<64>&, Workgroup&, u32);

}  // namespace emu
