// The text of the last failure, one per host thread.
#pragma once

namespace emu {

void set_report(const char* format, ...) __attribute__((format(printf, 1, 2)));
const char* get_report();

}  // namespace emu
