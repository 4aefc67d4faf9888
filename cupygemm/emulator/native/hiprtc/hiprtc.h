/* How Python serves hiprtc: it is handed a program and gives back code, log and lowered names. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *source, *name;
  int header_count, option_count, expression_count;
  const char* const* header_names;
  const char* const* header_texts;
  const char* const* options;
  const char* const* expressions;
} emu_hiprtc_request;

/* Compiles; hands the results to the three functions below; returns a hiprtcResult. */
typedef int (*emu_hiprtc_compiler)(const emu_hiprtc_request* request, void* program);

void emu_hiprtc_set_compiler(emu_hiprtc_compiler compiler);
void emu_hiprtc_set_code(void* program, const void* code, size_t bytes);
void emu_hiprtc_set_log(void* program, const char* log);
void emu_hiprtc_set_lowered_name(void* program, int expression, const char* name);

#ifdef __cplusplus
}
#endif
