// WMMA: D[16][16] = A[16][K] B[K][16] + C, on gfx11 and gfx12, wave32. EXEC plays no part.
//
// Layouts (lane = 0..31, e = element of the lane, counted from bit 0 of the first register; sources: AMD's matrix
// instruction calculator, the RDNA 3 and RDNA 4 ISA documents):
//   gfx11 A, B   row or column lane % 16, k = e; lanes 16-31 must repeat lanes 0-15, which are the ones read here
//   gfx12 A, B   row or column lane % 16; 16-bit types k = 8 (e / 4) + 4 (lane / 16) + e % 4, narrower k = per_lane
//   (lane / 16) + e gfx11 C, D   row 2 r + lane / 16 of register r; f16 and bf16 fill the half that op_sel[2] names and
//   keep the other gfx12 C, D   row 8 (lane / 16) + r; f16 and bf16 packed, two rows a register
// 16-bit results are sums in binary32, rounded once at the end of the instruction.
#include "matrix.hpp"
#include "operands.hpp"
#include "ops.hpp"

namespace emu {
namespace {

using namespace matrix;
using W = Wave<32>;

constexpr int kSize = 16;

template <class E, int K>
void unpack_operand(const W& w, const Operand& o, typename E::Value (*out)[kSize]) {
  const u32(*regs)[32] = w.v + o.reg;
  if (is_gfx11(w.arch)) {
    unpack<E, kSize, 32>(regs, 0, 1, K, [](int, int e) { return e; }, out);
  } else if (E::kBits == 16) {
    unpack<E, kSize, 32>(regs, 0, 2, K / 2, [](int g, int e) { return e / 4 * 8 + g * 4 + e % 4; }, out);
  } else {
    unpack<E, kSize, 32>(regs, 0, 2, K / 2, [](int g, int e) { return g * (K / 2) + e; }, out);
  }
}

// The 16 registers' lanes that hold row i of a 32-bit C or D.
template <class Wv>
auto row_of(Wv& w, const Operand& o, int i) {
  return is_gfx11(w.arch) ? w.v[o.reg + i / 2] + 16 * (i % 2) : w.v[o.reg + i % 8] + 16 * (i / 8);
}

// Row i of a 16-bit C or D, and how far its bits are shifted in the register.
template <class Wv>
auto half_row_of(Wv& w, const Insn& i, const Operand& o, int r, int* shift) {
  const bool gfx11 = is_gfx11(w.arch);
  *shift = gfx11 ? (i.op_sel >> 2 & 1) * 16 : r % 2 * 16;
  return gfx11 ? w.v[o.reg + r / 2] + 16 * (r % 2) : w.v[o.reg + r % 8 / 2] + 16 * (r / 8);
}

float constant_f32(const Operand& o) { return o.kind == Kind::kConst ? bits_float(static_cast<u32>(o.value)) : 0; }

struct AccumulatorF32 {
  static void load(const W& w, const Insn& i, float (*c)[kSize]) {
    const Operand& o = i.src[2];
    for (int r = 0; r < kSize; r++) {
      if (o.kind == Kind::kVgpr) {
        memcpy(c[r], row_of(w, o, r), sizeof c[r]);
      } else {
        for (int n = 0; n < kSize; n++) c[r][n] = constant_f32(o);
      }
    }
  }
  static void store(W& w, const Insn& i, const float (*c)[kSize]) {
    for (int r = 0; r < kSize; r++) memcpy(row_of(w, i.dst[0], r), c[r], sizeof c[r]);
  }
};

template <class E, u32 (*Encode)(float)>
struct AccumulatorHalf {
  static void load(const W& w, const Insn& i, float (*c)[kSize]) {
    const Operand& o = i.src[2];
    for (int r = 0; r < kSize; r++) {
      int shift;
      const u32* row = half_row_of(w, i, o, r, &shift);
      const u32 constant = static_cast<u32>(o.value);
      for (int n = 0; n < kSize; n++) c[r][n] = E::value((o.kind == Kind::kVgpr ? row[n] >> shift : constant) & 0xffff);
    }
  }
  static void store(W& w, const Insn& i, const float (*c)[kSize]) {
    for (int r = 0; r < kSize; r++) {
      int shift;
      u32* row = half_row_of(w, i, i.dst[0], r, &shift);
      for (int n = 0; n < kSize; n++) row[n] = (row[n] & ~(0xffffu << shift)) | Encode(c[r][n]) << shift;
    }
  }
};

// neg_lo, neg_hi: A's and B's elements of even and of odd k; on C, negation and absolute value.
template <class Accumulator>
void apply_negation(const Insn& i, float (*a)[kSize], float (*b)[kSize], float (*c)[kSize]) {
  for (int operand = 0; operand < 2; operand++) {
    float (*m)[kSize] = operand == 0 ? a : b;
    if (i.neg_lo >> operand & 1) negate<kSize>(m, kSize, 0, 2);
    if (i.neg_hi >> operand & 1) negate<kSize>(m, kSize, 1, 2);
  }
  for (int r = 0; r < kSize; r++) {
    for (int n = 0; n < kSize; n++) {
      if (i.neg_hi >> 2 & 1) c[r][n] = __builtin_fabsf(c[r][n]);
      if (i.neg_lo >> 2 & 1) c[r][n] = -c[r][n];
    }
  }
}

template <class A, class B, class Accumulator>
void wmma_float(W& w, const Insn& i) {
  const IeeeScope ieee;
  alignas(64) float a[kSize][kSize], b[kSize][kSize], c[kSize][kSize];
  unpack_operand<A, kSize>(w, i.src[0], a);
  unpack_operand<B, kSize>(w, i.src[1], b);
  Accumulator::load(w, i, c);
  if (i.neg_lo | i.neg_hi) apply_negation<Accumulator>(i, a, b, c);
  multiply<kSize, kSize>(a, b, kSize, c);
  Accumulator::store(w, i, c);
}

u32 add_saturating(u32 x, u32 y) {
  i32 sum;
  if (!__builtin_add_overflow(static_cast<i32>(x), static_cast<i32>(y), &sum)) return static_cast<u32>(sum);
  return y >> 31 ? 0x80000000u : 0x7fffffffu;
}

// neg_lo says which of A and B are signed. The products of one instruction cannot overflow; the sum with C wraps, or
// saturates with clamp.
template <int Bits, int K>
void wmma_integer(W& w, const Insn& i) {
  alignas(64) u32 a[K][kSize], b[K][kSize], sum[kSize][kSize] = {};
  for (int operand = 0; operand < 2; operand++) {
    u32(*m)[kSize] = operand == 0 ? a : b;
    if (i.neg_lo >> operand & 1) {
      unpack_operand<ElementInt<Bits, true>, K>(w, i.src[operand], m);
    } else {
      unpack_operand<ElementInt<Bits, false>, K>(w, i.src[operand], m);
    }
  }
  multiply<kSize, kSize>(a, b, K, sum);
  const Operand& o = i.src[2];
  const bool clamp = i.flags & kClamp;
  for (int r = 0; r < kSize; r++) {
    for (int n = 0; n < kSize; n++) {
      const u32 before = o.kind == Kind::kVgpr ? row_of(w, o, r)[n] : static_cast<u32>(o.value);
      sum[r][n] = clamp ? add_saturating(before, sum[r][n]) : before + sum[r][n];
    }
  }
  for (int r = 0; r < kSize; r++) memcpy(row_of(w, i.dst[0], r), sum[r], sizeof sum[r]);
}

using AccumulatorF16 = AccumulatorHalf<ElementF16, f32_to_f16>;
using AccumulatorBf16 = AccumulatorHalf<ElementBf16, f32_to_bf16>;
using Fp8 = ElementSmall<kE4m3>;
using Bf8 = ElementSmall<kE5m2>;

template <class A, class B, class Accumulator>
constexpr OpRow float_row(const char* name, const char* sig) {
  return row(name, sig, &wmma_float<A, B, Accumulator>, nullptr, kOpMatrix);
}
template <int Bits, int K>
constexpr OpRow integer_row(const char* name) {
  return row(name, "b256=b128,b128,i32", &wmma_integer<Bits, K>, nullptr, kOpMatrix);
}

const OpRow kRows[] = {
    float_row<ElementF16, ElementF16, AccumulatorF32>("v_wmma_f32_16x16x16_f16", "b256=b256,b256,f32"),
    float_row<ElementBf16, ElementBf16, AccumulatorF32>("v_wmma_f32_16x16x16_bf16", "b256=b256,b256,f32"),
    float_row<ElementF16, ElementF16, AccumulatorF16>("v_wmma_f16_16x16x16_f16", "b256=b256,b256,f16"),
    float_row<ElementBf16, ElementBf16, AccumulatorBf16>("v_wmma_bf16_16x16x16_bf16", "b256=b256,b256,bf16"),
    float_row<Fp8, Fp8, AccumulatorF32>("v_wmma_f32_16x16x16_fp8_fp8", "b256=b64,b64,f32"),
    float_row<Fp8, Bf8, AccumulatorF32>("v_wmma_f32_16x16x16_fp8_bf8", "b256=b64,b64,f32"),
    float_row<Bf8, Fp8, AccumulatorF32>("v_wmma_f32_16x16x16_bf8_fp8", "b256=b64,b64,f32"),
    float_row<Bf8, Bf8, AccumulatorF32>("v_wmma_f32_16x16x16_bf8_bf8", "b256=b64,b64,f32"),
    integer_row<8, 16>("v_wmma_i32_16x16x16_iu8"),
    integer_row<4, 16>("v_wmma_i32_16x16x16_iu4"),
    integer_row<4, 32>("v_wmma_i32_16x16x32_iu4"),
};

}  // namespace

OpTable wmma_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
