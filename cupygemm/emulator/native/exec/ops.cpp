// The opcode table: every file's rows in one numbering, with their signatures parsed once.
#include "ops.hpp"

#include "api.h"
#include "program.hpp"

namespace emu {

// clang-format off: it never settles on these lines
#define EMU_TABLES(X) \
  X(control) X(salu_int) X(salu_float) X(valu_f32) X(valu_f64) X(valu_f16) X(valu_int) X(valu_int64) \
  X(valu_packed) X(valu_cmp) X(valu_cvt) X(valu_dot) X(valu_lane) X(valu_misc) X(smem) X(vmem) X(transpose) \
  X(buffer) X(atomic) X(ds) X(ds_lane) X(wmma) X(mfma) X(mfma_scale)
// clang-format on
#define EMU_DECLARE(name) __attribute__((weak)) OpTable name##_ops();
EMU_TABLES(EMU_DECLARE)

namespace {

using TableFunction = OpTable (*)();
#define EMU_LIST(name) &name##_ops,

OpTable table(u32 n) {
  const TableFunction tables[] = {EMU_TABLES(EMU_LIST)};
  if (n >= sizeof tables / sizeof tables[0]) return {nullptr, ~0u};
  return tables[n] ? tables[n]() : OpTable{nullptr, 0};
}

constexpr u32 kMaxOps = 4096;
OpInfo g_info[kMaxOps];
const OpRow* g_rows[kMaxOps];

bool same_text(const char* s, u32 n, const char* t) { return strlen(t) == n && memcmp(s, t, n) == 0; }

OpInfo parse_signature(const char* s) {
  OpInfo info{};
  bool destination = true;
  while (*s) {
    u32 n = 0;
    while (s[n] && s[n] != ',' && s[n] != '=' && s[n] != '@') n++;
    const Type type = type_of_name(s, n);
    if (n && destination && info.ndst < kMaxDst) info.dst[info.ndst++] = type;
    if (n && !destination && info.nsrc < kMaxSrc) info.src[info.nsrc++] = type;
    s += n;
    if (*s == '@')
      while (*s && *s != ',' && *s != '=') s++;
    if (*s == '=') destination = false;
    if (*s) s++;
  }
  return info;
}

u32 fill_info() {
  u32 n = 0;
  for (u32 t = 0; table(t).count != ~0u; t++) {
    for (u32 r = 0; r < table(t).count && n < kMaxOps; r++, n++) {
      g_rows[n] = &table(t).rows[r];
      g_info[n] = parse_signature(g_rows[n]->sig);
    }
  }
  return n;
}

}  // namespace

Type type_of_name(const char* s, u32 n) {
  struct Name {
    const char* text;
    Type type;
  };
  static constexpr Name kNames[] = {
      {"b16", Type::kB16},        {"i16", Type::kB16},         {"u16", Type::kB16},          {"f16", Type::kF16},
      {"bf16", Type::kBF16},      {"b32", Type::kB32},         {"i32", Type::kB32},          {"u32", Type::kB32},
      {"f32", Type::kF32},        {"b64", Type::kB64},         {"i64", Type::kB64},          {"u64", Type::kB64},
      {"f64", Type::kF64},        {"pi16", Type::kPackedI16},  {"pf16", Type::kPackedF16},   {"mix", Type::kMix},
      {"pf32", Type::kPackedF32}, {"pi32", Type::kPackedF32},  {"pbf16", Type::kPackedBF16}, {"mask", Type::kMask},
      {"imm", Type::kImm},        {"label", Type::kLabelType}, {"b96", Type::kWide},         {"b128", Type::kWide},
      {"b256", Type::kWide},      {"b512", Type::kWide},       {"b1024", Type::kWide},       {"b160", Type::kWide},
      {"b192", Type::kWide}};
  for (const Name& name : kNames)
    if (same_text(s, n, name.text)) return name.type;
  return Type::kAny;
}

u32 op_count() {
  static const u32 count = fill_info();
  return count;
}

const OpRow* op_row(u32 op) { return op < op_count() ? g_rows[op] : nullptr; }

const OpInfo& op_info(u32 op) { return g_info[op < op_count() ? op : 0]; }

}  // namespace emu

extern "C" {

uint32_t emu_op_count(void) { return emu::op_count(); }
const char* emu_op_name(uint32_t op) {
  const emu::OpRow* row = emu::op_row(op);
  return row ? row->name : nullptr;
}
const char* emu_op_signature(uint32_t op) {
  const emu::OpRow* row = emu::op_row(op);
  return row ? row->sig : nullptr;
}
uint32_t emu_op_flags(uint32_t op) {
  const emu::OpRow* row = emu::op_row(op);
  return row ? row->flags : 0;
}
uint32_t emu_insn_size(void) { return sizeof(emu::Insn); }
}
