// VALU integer instructions with 64-bit operands.
#include "lanes.hpp"

namespace emu {

namespace {

// Shift counts are taken modulo 64.
constexpr auto lshlrev = [](u32 n, u64 a) { return a << (n & 63); };
constexpr auto lshrrev = [](u32 n, u64 a) { return a >> (n & 63); };
constexpr auto ashrrev = [](u32 n, i64 a) { return a >> (n & 63); };
constexpr auto lshl_add = [](u64 a, u32 n, u64 b) { return (a << (n & 7)) + b; };
constexpr auto mov = [](u64 a) { return a; };
constexpr auto mad_u64_u32 = [](u32 a, u32 b, u64 c) {
  const u64 product = u64(a) * b, r = product + c;
  return WithMask<u64>{r, r < product};
};
constexpr auto mad_i64_i32 = [](i32 a, i32 b, i64 c) {
  const i64 product = i64(a) * b;
  const i64 r = i64(u64(product) + u64(c));
  return WithMask<i64>{r, ((product ^ r) & (c ^ r)) < 0};
};

const OpRow kRows[] = {
    alu<lshlrev>("v_lshlrev_b64"),
    alu<lshrrev>("v_lshrrev_b64"),
    alu<ashrrev>("v_ashrrev_i64"),
    alu<lshl_add>("v_lshl_add_u64"),
    alu<mov>("v_mov_b64"),
    alu<mad_u64_u32>("v_mad_u64_u32"),
    alu<mad_u64_u32>("v_mad_co_u64_u32"),
    alu<mad_i64_i32>("v_mad_i64_i32"),
    alu<mad_i64_i32>("v_mad_co_i64_i32"),
};

}  // namespace

OpTable valu_int64_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
