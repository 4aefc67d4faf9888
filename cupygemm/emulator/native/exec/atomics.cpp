// Read-modify-write operations on host memory.
#include "atomics.hpp"

#include "convert.hpp"

namespace emu {
namespace {

// The host runs under the wave's rounding and denormal modes, which atomics ignore: every sum is a call of its own
// within an IeeeScope, so that the compiler cannot move it out.
template <class F>
__attribute__((noinline)) F sum_of(F a, F b) {
  return a + b;
}

u64 add_float(u32 width, u64 old, u64 data) {
  const IeeeScope ieee;
  if (width == 8)
    return __builtin_bit_cast(u64, sum_of(__builtin_bit_cast(double, old), __builtin_bit_cast(double, data)));
  return float_bits(sum_of(bits_float(static_cast<u32>(old)), bits_float(static_cast<u32>(data))));
}

// A sum of two f16 or bf16 numbers is exact in binary64, or so close to the larger one that rounding gives that one. It
// passes through binary32 rounded to odd (an inexact number gets its last bit set), so that the second rounding is
// right.
template <Format F>
u32 add_narrow(u32 a, u32 b) {
  const double sum = double{decode<F>(a & 0xffff)} + double{decode<F>(b & 0xffff)};
  const float nearest = static_cast<float>(sum);
  if (sum != sum || double{nearest} == sum) return encode<F>(nearest);
  const bool away = (double{nearest} > sum) == (nearest > 0);
  return encode<F>(bits_float((float_bits(nearest) - away) | 1));
}

template <Format F>
__attribute__((noinline)) u32 add_halves(u32 a, u32 b) {
  return add_narrow<F>(a, b) | add_narrow<F>(a >> 16, b >> 16) << 16;
}

template <Format F>
u32 add_packed(u64 old, u64 data) {
  const IeeeScope ieee;
  return add_halves<F>(static_cast<u32>(old), static_cast<u32>(data));
}

// Unsigned integers in the order of the numbers that the bits mean, with -0 below +0.
template <class U>
U order_of(U bits) {
  constexpr U kSign = ~(~U{0} >> 1);
  return bits & kSign ? ~bits : bits | kSign;
}

template <class U>
u64 choose_float(U old, U data, bool larger) {
  constexpr U kSign = ~(~U{0} >> 1), kInfinity = sizeof(U) == 8 ? U(0x7ff0000000000000ull) : U(0x7f800000u);
  if ((data & ~kSign) > kInfinity) return old;
  if ((old & ~kSign) > kInfinity) return data;
  return (order_of(old) > order_of(data)) == larger ? old : data;
}

u64 choose(u32 width, u64 old, u64 data, bool larger) {
  return width == 8 ? choose_float<u64>(old, data, larger)
                    : choose_float<u32>(static_cast<u32>(old), static_cast<u32>(data), larger);
}

template <class U>
u64 rmw_integer(Rmw op, U old, U data, U compare) {
  using S = __make_signed(U);
  const S a = static_cast<S>(old), b = static_cast<S>(data);
  switch (op) {
    case Rmw::kSwap:
      return data;
    case Rmw::kCompareSwap:
      return old == compare ? data : old;
    case Rmw::kAdd:
      return static_cast<U>(old + data);
    case Rmw::kSub:
      return static_cast<U>(old - data);
    case Rmw::kReverseSub:
      return static_cast<U>(data - old);
    case Rmw::kMinSigned:
      return a < b ? old : data;
    case Rmw::kMaxSigned:
      return a > b ? old : data;
    case Rmw::kMinUnsigned:
      return old < data ? old : data;
    case Rmw::kMaxUnsigned:
      return old > data ? old : data;
    case Rmw::kAnd:
      return old & data;
    case Rmw::kOr:
      return old | data;
    case Rmw::kXor:
      return old ^ data;
    case Rmw::kInc:
      return old >= data ? 0 : static_cast<U>(old + 1);
    case Rmw::kDec:
      return old == 0 || old > data ? data : static_cast<U>(old - 1);
    case Rmw::kSubClamp:
      return old < data ? 0 : static_cast<U>(old - data);
    case Rmw::kCondSub:
      return old < data ? old : static_cast<U>(old - data);
    default:
      return old;
  }
}

template <class U>
U exchange(Rmw op, u64 address, u64 data, u64 compare) {
  U* p = reinterpret_cast<U*>(address);
  U old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (true) {
    const U next = static_cast<U>(rmw(op, sizeof(U), old, data, compare));
    if (__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return old;
  }
}

}  // namespace

u64 rmw(Rmw op, u32 width, u64 old, u64 data, u64 compare) {
  switch (op) {
    case Rmw::kAddF:
      return add_float(width, old, data);
    case Rmw::kMinF:
      return choose(width, old, data, false);
    case Rmw::kMaxF:
      return choose(width, old, data, true);
    case Rmw::kPackedAddF16:
      return add_packed<kF16>(old, data);
    case Rmw::kPackedAddBf16:
      return add_packed<kBf16>(old, data);
    default:
      break;
  }
  if (width == 8) return rmw_integer<u64>(op, old, data, compare);
  return rmw_integer<u32>(op, static_cast<u32>(old), static_cast<u32>(data), static_cast<u32>(compare));
}

template <int L>
bool rmw_lanes(Wave<L>& w, Rmw op, u32 width, const u64* address, u64 mask, const u32* const* data,
               const u32* const* compare, u32 (*old)[L]) {
  for (; mask; mask &= mask - 1) {
    const int l = __builtin_ctzll(mask);
    if (address[l] % width) {
      trap(w, l, "atomic of %u bytes at the misaligned address 0x%llx", width,
           static_cast<unsigned long long>(address[l]));
      return false;
    }
    if (width == 8) {
      const u64 expected = op == Rmw::kCompareSwap ? compare[0][l] | u64{compare[1][l]} << 32 : 0;
      const u64 was = exchange<u64>(op, address[l], data[0][l] | u64{data[1][l]} << 32, expected);
      old[0][l] = static_cast<u32>(was);
      old[1][l] = static_cast<u32>(was >> 32);
    } else {
      old[0][l] = exchange<u32>(op, address[l], data[0][l], op == Rmw::kCompareSwap ? compare[0][l] : 0);
    }
  }
  return true;
}

template bool rmw_lanes<32>(Wave<32>&, Rmw, u32, const u64*, u64, const u32* const*, const u32* const*, u32 (*)[32]);
template bool rmw_lanes<64>(Wave<64>&, Rmw, u32, const u64*, u64, const u32* const*, const u32* const*, u32 (*)[64]);

}  // namespace emu
