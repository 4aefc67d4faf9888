// Kernels: the decoder's instructions are copied, linked to their handlers, and kept with what launches need.
#include "program.hpp"

#include <stdlib.h>

#include "lanes.hpp"
#include "launch.hpp"
#include "report.hpp"

namespace emu {

namespace {

bool has_modifier(const Insn& i) {
  constexpr u32 kFlags = kClamp | kSdwaPreserve | kSdwaSext | kHighGiven | kOpSelGiven;
  if ((i.flags & kFlags) || i.omod || i.dpp != Dpp::kNone || i.neg_lo || i.neg_hi) return true;
  for (int k = 0; k < i.ndst; k++)
    if (i.dst[k].mods || i.dst[k].sdwa) return true;
  for (int k = 0; k < i.nsrc; k++)
    if (i.src[k].mods || i.src[k].sdwa || i.src[k].type == Type::kMix) return true;
  return false;
}

char* copy_text(const char* s) {
  const size_t n = strlen(s ? s : "") + 1;
  char* copy = static_cast<char*>(malloc(n));
  memcpy(copy, s ? s : "", n);
  return copy;
}

}  // namespace

void link_insn(Insn& i, u32 wave_size) {
  const OpRow& row = *op_row(i.op);
  const OpInfo& info = op_info(i.op);
  i.run = wave_size == 64 ? reinterpret_cast<u64>(row.wave64) : reinterpret_cast<u64>(row.wave32);
  i.core = reinterpret_cast<u64>(row.core);
  for (int k = 0; k < i.ndst && k < info.ndst; k++) i.dst[k].type = info.dst[k];
  for (int k = 0; k < i.nsrc && k < info.nsrc; k++) i.src[k].type = info.src[k];
  if (!has_modifier(i)) i.flags |= kPlain;
  if (row.flags & (kOpF64 | kOpF16)) i.flags |= kFp64;
  if (row.flags & kOpKeepHigh) i.flags |= kKeepHigh;
  if (row.flags & kOpHighResult) i.flags |= kHighResult;
  if (row.flags & kOpCmpx) i.flags |= kCmpx;
  if (row.core) i.run = valu_handler(i, wave_size);
}

}  // namespace emu

extern "C" emu_kernel* emu_kernel_create(const emu_kernel_desc* desc) {
  using namespace emu;
  const u32 count = op_count();
  const Insn* insns = static_cast<const Insn*>(desc->insns);
  if (desc->wave_size != 32 && desc->wave_size != 64) {
    set_report("kernel %s: wave size %u is neither 32 nor 64", desc->name, desc->wave_size);
    return nullptr;
  }
  for (u32 n = 0; n < desc->insn_count; n++)
    if (insns[n].op >= count) {
      set_report("kernel %s: instruction %u names opcode %u of %u", desc->name, n, insns[n].op, count);
      return nullptr;
    }
  auto* kernel = static_cast<emu_kernel*>(calloc(1, sizeof(emu_kernel)));
  kernel->desc = *desc;
  kernel->name = copy_text(desc->name);
  kernel->desc.name = kernel->name;
  kernel->desc.target = copy_text(desc->target);
  kernel->insn_count = desc->insn_count;
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, sizeof(Insn) * (desc->insn_count + 1))) memory = nullptr;
  kernel->insns = static_cast<Insn*>(memory);
  memcpy(static_cast<void*>(kernel->insns), insns, sizeof(Insn) * desc->insn_count);
  kernel->desc.insns = kernel->insns;
  for (u32 n = 0; n < desc->insn_count; n++) link_insn(kernel->insns[n], desc->wave_size);
  kernel->lines = static_cast<char**>(calloc(desc->line_count + 1, sizeof(char*)));
  if (!desc->lines) kernel->desc.line_count = 0;
  for (u32 n = 0; n < kernel->desc.line_count; n++) kernel->lines[n] = copy_text(desc->lines[n]);
  kernel->desc.lines = nullptr;
  return kernel;
}

extern "C" void emu_kernel_destroy(emu_kernel* kernel) {
  if (!kernel) return;
  for (uint32_t n = 0; n < kernel->desc.line_count; n++) free(kernel->lines[n]);
  free(kernel->lines);
  free(kernel->insns);
  free(const_cast<char*>(kernel->desc.target));
  free(kernel->name);
  free(kernel);
}
