// Failure reports: kernel, assembly line, workgroup, wave, lane, reason.
#include "report.hpp"

#include <stdarg.h>
#include <stdio.h>

#include "launch.hpp"
#include "operands.hpp"

namespace emu {

namespace {
constexpr int kReportBytes = 4096;
thread_local char t_report[kReportBytes];
}  // namespace

void set_report(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(t_report, kReportBytes, format, arguments);
  va_end(arguments);
}

const char* get_report() { return t_report; }

void report_trap(Launch* launch, const Workgroup* group, u32 wave, const Insn* at, int lane, const char* format, ...) {
  char reason[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  const emu_kernel* kernel = launch->kernel;
  char text[512] = "", where[64] = "";
  if (at && at->line < kernel->desc.line_count) snprintf(text, sizeof text, ": %s", kernel->lines[at->line]);
  if (lane >= 0) snprintf(where, sizeof where, ", lane %d", lane);
  if (launch->stop.exchange(1, std::memory_order_acq_rel)) return;
  snprintf(launch->report, sizeof launch->report,
           "kernel %s, assembly line %u%s\n  workgroup (%u, %u, %u), wave %u%s: %s", kernel->name,
           at ? at->line + 1 : 0, text, group->id[0], group->id[1], group->id[2], wave, where, reason);
}

}  // namespace emu

extern "C" const char* emu_last_report(void) { return emu::get_report(); }
