// Quantisation: the largest magnitude along a dimension, and rounding to 8-bit formats; and 8-bit floats widened to
// FP16 for targets whose matrix units do not take them.
#pragma once
#include "element.hpp"
#include "prelude.hpp"

namespace cg {

constexpr int kQuantizeThreads = 256;

// An 8-bit float format with a sign bit. The codes from kLargest + 1 on are infinities and NaNs; the FNUZ flavours have
// neither infinities nor -0, and one NaN in its place (OCP 8-bit floating point specification; AMD's CDNA 3 ISA).
template <int kMantissa_, int kBias_, int kLargest_, bool kInfinities_, bool kFnuz_>
struct Format8 {
  static constexpr int kMantissa = kMantissa_, kBias = kBias_, kLargest = kLargest_;
  static constexpr bool kInfinities = kInfinities_, kFnuz = kFnuz_;
  static constexpr int kNan = kFnuz ? 0x80 : 0x7f;

  // To nearest, ties to even; what is too large, infinities too, becomes the largest number.
  CG_DEVICE u8 encode(float x) {
    const u32 bits = bit_cast<u32>(x), magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return kNan;
    constexpr int kDrop = 23 - kMantissa, kLowest = 1 - kBias;  // exponent of the smallest normal number
    u32 code;
    if (magnitude < static_cast<u32>(127 + kLowest) << 23) {
      // Adding 2^(23 + the exponent of one unit) leaves the number of units, rounded, in the lowest bits.
      const float magic = bit_cast<float>(static_cast<u32>(127 + 23 + kLowest - kMantissa) << 23);
      code = bit_cast<u32>(bit_cast<float>(magnitude) + magic) & 0x7fffff;
    } else {
      const u32 rounded = magnitude + ((1u << (kDrop - 1)) - 1) + (magnitude >> kDrop & 1);
      code = (rounded >> kDrop) - (static_cast<u32>(127 - kBias) << kMantissa);
    }
    if (code > kLargest) code = kLargest;
    const u32 sign = bits >> 24 & 0x80;
    return static_cast<u8>(kFnuz && code == 0 ? 0 : code | sign);
  }

  CG_DEVICE float decode(u8 code) {
    const u32 magnitude = code & 0x7f, sign = static_cast<u32>(code & 0x80) << 24;
    if (kFnuz ? code == 0x80 : magnitude > kLargest) {
      const bool infinite = kInfinities && magnitude == kLargest + 1;
      return bit_cast<float>(sign | (infinite ? 0x7f800000u : 0x7fc00000u));
    }
    // Placed at the top of binary32's mantissa, any code is its value but for a power of two; the product with that is
    // exact, of subnormal codes too.
    const float scale = bit_cast<float>(static_cast<u32>(127 + 127 - kBias) << 23);
    return bit_cast<float>(bit_cast<u32>(bit_cast<float>(magnitude << (23 - kMantissa)) * scale) | sign);
  }
};
using E4m3fn = Format8<3, 7, 0x7e, false, false>;
using E5m2 = Format8<2, 15, 0x7b, true, false>;
using E4m3fnuz = Format8<3, 8, 0x7f, false, true>;
using E5m2fnuz = Format8<2, 16, 0x7f, false, true>;

struct Int8Code {
  CG_DEVICE u8 encode(float x) {
    const float y = __builtin_rintf(x);
    return static_cast<u8>(static_cast<int>(x != x ? 0.0f : y > 127.0f ? 127.0f : y < -127.0f ? -127.0f : y));
  }
};

// An array of shape (outer, length, inner), C-contiguous.
struct QuantizeArgs {
  const void* x;
  void* out;     // of each element, in the same order
  float* scale;  // of each (outer, inner)
  i64 outer, length, inner;
  float largest;  // of the format
};

// scale = the largest finite magnitude / the format's largest, 1 where all are zero. One block for each (outer, inner).
template <class In>
CG_DEVICE void find_scale(const QuantizeArgs& args) {
  __shared__ float partial[kQuantizeThreads];
  const i64 index = block_x() + static_cast<i64>(block_y()) * 65536;
  if (index >= args.outer * args.inner) return;
  const i64 first = index / args.inner * args.length * args.inner + index % args.inner;
  const In* x = static_cast<const In*>(args.x) + first;
  const int thread = thread_index();
  float most = 0.0f;
  for (i64 i = thread; i < args.length; i += kQuantizeThreads) {
    const float y = __builtin_fabsf(convert<float>(x[i * args.inner]));
    if (y > most && y <= 3.4028235e38f) most = y;
  }
  partial[thread] = most;
  barrier();
  for (int step = kQuantizeThreads / 2; step > 0; step /= 2) {
    const float other = partial[thread ^ step];
    barrier();
    most = other > most ? other : most;
    partial[thread] = most;
    barrier();
  }
  // A subnormal quotient could be rounded to zero, or its inverse be infinite.
  if (thread == 0) {
    const float scale = most / args.largest;
    args.scale[index] = most == 0.0f ? 1.0f : scale < 1.1754944e-38f ? 1.1754944e-38f : scale;
  }
}

template <class In, class Format>
CG_DEVICE void quantize(const QuantizeArgs& args) {
  const i64 index = (block_x() + static_cast<i64>(block_y()) * 65536) * kQuantizeThreads + thread_index();
  if (index >= args.outer * args.length * args.inner) return;
  const i64 group = index / (args.length * args.inner) * args.inner + index % args.inner;
  const float x = convert<float>(static_cast<const In*>(args.x)[index]);
  static_cast<u8*>(args.out)[index] = Format::encode(x / args.scale[group]);
}

// 8-bit floats to a wider type; `scale` is not used.
template <class Format, class Out>
CG_DEVICE void widen(const QuantizeArgs& args) {
  const i64 index = (block_x() + static_cast<i64>(block_y()) * 65536) * kQuantizeThreads + thread_index();
  if (index >= args.length) return;
  static_cast<Out*>(args.out)[index] = convert<Out>(Format::decode(static_cast<const u8*>(args.x)[index]));
}

// OCP's E4M3 to the FNUZ flavour of half the value: the same codes, but for -0 and the NaNs.
CG_DEVICE void halve_to_fnuz(const QuantizeArgs& args) {
  const i64 index = (block_x() + static_cast<i64>(block_y()) * 65536) * kQuantizeThreads + thread_index();
  if (index >= args.length) return;
  const u8 code = static_cast<const u8*>(args.x)[index];
  static_cast<u8*>(args.out)[index] = code == 0x80 ? 0 : (code & 0x7f) == 0x7f ? 0x80 : code;
}

}  // namespace cg
