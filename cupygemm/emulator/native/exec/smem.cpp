// Scalar memory: s_load_*, s_buffer_load_*, and the cache and time instructions that read nothing.
#include "access.hpp"
#include "memory_op.hpp"

namespace emu {
namespace {

// The offset operand is an SGPR or an immediate; some encodings have both (`s4 offset:0x10`).
template <int L>
u64 scalar_offset(const Wave<L>& w, const Insn& i) {
  u64 offset = static_cast<u64>(static_cast<i64>(i.offset));
  if (i.src[1].kind == Kind::kSgpr) offset += w.s[i.src[1].reg];
  if (i.src[1].kind == Kind::kConst) offset += static_cast<u64>(static_cast<i64>(static_cast<i32>(i.src[1].value)));
  return offset;
}

template <int L>
bool check_scalar(Wave<L>& w, u64 address, u32 bytes) {
  if (find_region(*w.launch, w.at->line, address, address + bytes)) return true;
  trap_unallocated(w, -1, "scalar load", address, bytes);
  return false;
}

template <int L, int Bytes, bool Signed>
void read_scalar(Wave<L>& w, const Insn& i, u64 address) {
  if (!check_scalar(w, address, Bytes)) return;
  u32 data[(Bytes + 3) / 4] = {};
  memcpy(data, reinterpret_cast<const void*>(address), Bytes);
  if (Bytes < 4 && Signed)
    data[0] = static_cast<u32>(static_cast<i32>(data[0] << (32 - 8 * Bytes % 32)) >> (32 - 8 * Bytes % 32));
  for (int d = 0; d < (Bytes + 3) / 4; d++) write_s32(w, i.dst[0], data[d], d);
}

// Loads of dwords ignore the two lowest address bits.
template <int L, int Bytes, bool Signed>
void load(Wave<L>& w, const Insn& i) {
  const u64 address = read_s64(w, i.src[0]) + scalar_offset(w, i);
  read_scalar<L, Bytes, Signed>(w, i, Bytes < 4 ? address : address & ~u64{3});
}

// Bounds by num_records (in bytes where the stride is 0): dwords past the end read 0.
template <int L, int Bytes, bool Signed>
void buffer_load(Wave<L>& w, const Insn& i) {
  const u64 base = read_s64(w, i.src[0]) & 0xffffffffffffull;
  const u32 stride = read_s32(w, i.src[0], 1) >> 16 & 0x3fff;
  const u64 size = u64{read_s32(w, i.src[0], 2)} * (stride ? stride : 1);
  const u64 offset = Bytes < 4 ? scalar_offset(w, i) : scalar_offset(w, i) & ~u64{3};
  if (offset + Bytes <= size) return read_scalar<L, Bytes, Signed>(w, i, base + offset);
  for (int d = 0; d < (Bytes + 3) / 4; d++) {
    u32 x = 0;
    if (Bytes >= 4 && offset + 4 * d + 4 <= size) {
      if (!check_scalar(w, base + offset + 4 * d, 4)) return;
      memcpy(&x, reinterpret_cast<const void*>(base + offset + 4 * d), 4);
    }
    write_s32(w, i.dst[0], x, d);
  }
}

template <int L>
void nothing(Wave<L>&, const Insn&) {}

template <int Bytes, bool Signed = false>
constexpr OpRow load_row(const char* name, const char* sig) {
  return row(name, sig, &load<32, Bytes, Signed>, &load<64, Bytes, Signed>,
             memory_flags(Space::kScalar, Access::kLoad, Bytes));
}

template <int Bytes, bool Signed = false>
constexpr OpRow buffer_row(const char* name, const char* sig) {
  return row(name, sig, &buffer_load<32, Bytes, Signed>, &buffer_load<64, Bytes, Signed>,
             memory_flags(Space::kScalar, Access::kLoad, Bytes));
}

constexpr OpRow idle_row(const char* name, const char* sig) { return row(name, sig, &nothing<32>, &nothing<64>); }

const OpRow kRows[] = {
    load_row<4>("s_load_dword", "b32=b64,imm"),
    load_row<4>("s_load_b32", "b32=b64,imm"),
    load_row<8>("s_load_dwordx2", "b64=b64,imm"),
    load_row<8>("s_load_b64", "b64=b64,imm"),
    load_row<12>("s_load_b96", "b96=b64,imm"),
    load_row<16>("s_load_dwordx4", "b128=b64,imm"),
    load_row<16>("s_load_b128", "b128=b64,imm"),
    load_row<32>("s_load_dwordx8", "b256=b64,imm"),
    load_row<32>("s_load_b256", "b256=b64,imm"),
    load_row<64>("s_load_dwordx16", "b512=b64,imm"),
    load_row<64>("s_load_b512", "b512=b64,imm"),
    load_row<1>("s_load_u8", "b32=b64,imm"),
    load_row<1, true>("s_load_i8", "b32=b64,imm"),
    load_row<2>("s_load_u16", "b32=b64,imm"),
    load_row<2, true>("s_load_i16", "b32=b64,imm"),
    buffer_row<4>("s_buffer_load_dword", "b32=b128,imm"),
    buffer_row<4>("s_buffer_load_b32", "b32=b128,imm"),
    buffer_row<8>("s_buffer_load_dwordx2", "b64=b128,imm"),
    buffer_row<8>("s_buffer_load_b64", "b64=b128,imm"),
    buffer_row<12>("s_buffer_load_b96", "b96=b128,imm"),
    buffer_row<16>("s_buffer_load_dwordx4", "b128=b128,imm"),
    buffer_row<16>("s_buffer_load_b128", "b128=b128,imm"),
    buffer_row<32>("s_buffer_load_dwordx8", "b256=b128,imm"),
    buffer_row<32>("s_buffer_load_b256", "b256=b128,imm"),
    buffer_row<64>("s_buffer_load_dwordx16", "b512=b128,imm"),
    buffer_row<64>("s_buffer_load_b512", "b512=b128,imm"),
    buffer_row<1>("s_buffer_load_u8", "b32=b128,imm"),
    buffer_row<1, true>("s_buffer_load_i8", "b32=b128,imm"),
    buffer_row<2>("s_buffer_load_u16", "b32=b128,imm"),
    buffer_row<2, true>("s_buffer_load_i16", "b32=b128,imm"),
    idle_row("s_dcache_inv", "="),
    idle_row("s_dcache_wb", "="),
    idle_row("s_gl1_inv", "="),
    idle_row("s_prefetch_data", "=b64,imm,imm,imm"),
    idle_row("s_prefetch_data_pc_rel", "=imm,imm,imm"),
    idle_row("s_prefetch_inst", "=b64,imm,imm,imm"),
    idle_row("s_prefetch_inst_pc_rel", "=imm,imm,imm"),
    idle_row("s_buffer_prefetch_data", "=b128,imm,imm,imm"),
};

}  // namespace

OpTable smem_ops() { return {kRows, sizeof kRows / sizeof kRows[0]}; }

}  // namespace emu
