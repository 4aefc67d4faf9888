// Cross-lane functions: shuffles by ds_bpermute on each dword of the value, votes by comparison masks.
#pragma once

#define warpSize ((int)__builtin_amdgcn_wavefrontsize())

__EMU_FN unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

template <class T>
__EMU_FN T __emu_from_lane(T value, int lane) {
  constexpr int kDwords = (sizeof(T) + 3) / 4;
  int words[kDwords] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int i = 0; i < kDwords; i++) words[i] = __builtin_amdgcn_ds_bpermute(lane << 2, words[i]);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

template <class T>
__EMU_FN T __shfl(T value, int source, int width = warpSize) {
  const int self = (int)__lane_id();
  return __emu_from_lane(value, (source & (width - 1)) + (self & ~(width - 1)));
}
template <class T>
__EMU_FN T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const int self = (int)__lane_id(), from = self - (int)delta;
  return __emu_from_lane(value, from < (self & ~(width - 1)) ? self : from);
}
template <class T>
__EMU_FN T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const int self = (int)__lane_id(), from = self + (int)delta;
  return __emu_from_lane(value, (self & (width - 1)) + (int)delta >= width ? self : from);
}
template <class T>
__EMU_FN T __shfl_xor(T value, int mask, int width = warpSize) {
  const int self = (int)__lane_id(), from = self ^ mask;
  return __emu_from_lane(value, from >= ((self + width) & ~(width - 1)) ? self : from);
}
template <class M, class T>
__EMU_FN T __shfl_sync(M, T value, int source, int width = warpSize) {
  return __shfl(value, source, width);
}
template <class M, class T>
__EMU_FN T __shfl_up_sync(M, T value, unsigned delta, int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <class M, class T>
__EMU_FN T __shfl_down_sync(M, T value, unsigned delta, int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <class M, class T>
__EMU_FN T __shfl_xor_sync(M, T value, int mask, int width = warpSize) {
  return __shfl_xor(value, mask, width);
}

__EMU_FN unsigned long long __ballot(int predicate) {
#if __AMDGCN_WAVEFRONT_SIZE__ == 32 || defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
  return __builtin_amdgcn_ballot_w32(predicate != 0);
#else
  return __builtin_amdgcn_ballot_w64(predicate != 0);
#endif
}
__EMU_FN unsigned long long __activemask() { return __ballot(1); }
__EMU_FN int __any(int predicate) { return __ballot(predicate) != 0; }
__EMU_FN int __all(int predicate) { return __ballot(predicate) == __activemask(); }
