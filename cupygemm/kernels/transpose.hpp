// Transposing small blocks of 16-bit or 8-bit elements held in registers.
#pragma once
#include "vec.hpp"

namespace cg {

// Bytes of the pair (high, low) that the four selectors of `select` name, 0 to 3 being those of `low`.
CG_DEVICE u32 permute_bytes(u32 high, u32 low, u32 select) {
#if CG_AMD
  return __builtin_amdgcn_perm(high, low, select);
#else
  return __byte_perm(low, high,
                     select & 7 | (select >> 8 & 7) << 4 | (select >> 16 & 7) << 8 | (select >> 24 & 7) << 12);
#endif
}

// to[j][i] = from[i][j]: kFrom vectors of kTo elements become kTo vectors of kFrom. Spelled in byte permutations, one
// for each word of 16-bit elements and two for each of 8-bit ones: from the plain loop the compiler makes shifts, masks
// and ors.
template <class T, int kFrom, int kTo>
CG_DEVICE void transpose(const Vec<T, kTo>* from, Vec<T, kFrom> (&to)[kTo]) {
  constexpr int kPerWord = 4 / sizeof(T);
  if constexpr (sizeof(T) < 4 && kFrom % kPerWord == 0 && kTo % kPerWord == 0) {
    struct In {
      u32 word[kTo / kPerWord];
    };
    struct Out {
      u32 word[kFrom / kPerWord];
    };
    In in[kFrom];
    Out out[kTo];
#pragma unroll
    for (int i = 0; i < kFrom; ++i) in[i] = bit_cast<In>(from[i]);
#pragma unroll
    for (int i = 0; i < kFrom / kPerWord; ++i)
#pragma unroll
      for (int j = 0; j < kTo / kPerWord; ++j) {
        if constexpr (sizeof(T) == 2) {
          const u32 x = in[2 * i].word[j], y = in[2 * i + 1].word[j];
          out[2 * j].word[i] = permute_bytes(y, x, 0x05040100);
          out[2 * j + 1].word[i] = permute_bytes(y, x, 0x07060302);
        } else {
          const u32 w = in[4 * i].word[j], x = in[4 * i + 1].word[j];
          const u32 y = in[4 * i + 2].word[j], z = in[4 * i + 3].word[j];
          const u32 wx01 = permute_bytes(x, w, 0x05010400), wx23 = permute_bytes(x, w, 0x07030602);
          const u32 yz01 = permute_bytes(z, y, 0x05010400), yz23 = permute_bytes(z, y, 0x07030602);
          out[4 * j].word[i] = permute_bytes(yz01, wx01, 0x05040100);
          out[4 * j + 1].word[i] = permute_bytes(yz01, wx01, 0x07060302);
          out[4 * j + 2].word[i] = permute_bytes(yz23, wx23, 0x05040100);
          out[4 * j + 3].word[i] = permute_bytes(yz23, wx23, 0x07060302);
        }
      }
#pragma unroll
    for (int j = 0; j < kTo; ++j) to[j] = bit_cast<Vec<T, kFrom>>(out[j]);
  } else {
#pragma unroll
    for (int j = 0; j < kTo; ++j)
#pragma unroll
      for (int i = 0; i < kFrom; ++i) to[j][i] = from[i][j];
  }
}

}  // namespace cg
