// libhiprtc: keeps programs, and has them compiled by the compiler that Python registers.
#include "hiprtc/hiprtc.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#define HIPRTC_API extern "C"

enum hiprtcResult : int {
  HIPRTC_SUCCESS = 0,
  HIPRTC_ERROR_INVALID_INPUT = 3,
  HIPRTC_ERROR_INVALID_PROGRAM = 4,
  HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  HIPRTC_ERROR_INTERNAL_ERROR = 11,
};

namespace {

constexpr const char* kErrorNames[] = {
    "HIPRTC_SUCCESS",
    "HIPRTC_ERROR_OUT_OF_MEMORY",
    "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
    "HIPRTC_ERROR_INVALID_INPUT",
    "HIPRTC_ERROR_INVALID_PROGRAM",
    "HIPRTC_ERROR_INVALID_OPTION",
    "HIPRTC_ERROR_COMPILATION",
    "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
    "HIPRTC_ERROR_INTERNAL_ERROR",
};

using Text = std::vector<char>;  // NUL-terminated

Text copy(const char* text) { return Text(text, text + strlen(text) + 1); }

struct Program {
  Text source, name, log;
  std::vector<Text> header_names, header_texts, expressions, lowered;
  std::vector<char> code;
};

std::vector<const char*> pointers(const std::vector<Text>& texts) {
  std::vector<const char*> result;
  for (const Text& text : texts) result.push_back(text.data());
  return result;
}

emu_hiprtc_compiler g_compiler = nullptr;

}  // namespace

void emu_hiprtc_set_compiler(emu_hiprtc_compiler compiler) { g_compiler = compiler; }

void emu_hiprtc_set_code(void* program, const void* code, size_t bytes) {
  auto* first = static_cast<const char*>(code);
  static_cast<Program*>(program)->code.assign(first, first + bytes);
}

void emu_hiprtc_set_log(void* program, const char* log) { static_cast<Program*>(program)->log = copy(log); }

void emu_hiprtc_set_lowered_name(void* program, int expression, const char* name) {
  static_cast<Program*>(program)->lowered[static_cast<size_t>(expression)] = copy(name);
}

HIPRTC_API const char* hiprtcGetErrorString(hiprtcResult result) {
  const unsigned index = static_cast<unsigned>(result);
  return index < sizeof kErrorNames / sizeof kErrorNames[0] ? kErrorNames[index]
                                                            : kErrorNames[HIPRTC_ERROR_INTERNAL_ERROR];
}

HIPRTC_API hiprtcResult hiprtcVersion(int* major, int* minor) {
  *major = 7;
  *minor = 2;
  return HIPRTC_SUCCESS;
}

HIPRTC_API hiprtcResult hiprtcCreateProgram(Program** out, const char* source, const char* name, int header_count,
                                            const char** headers, const char** header_names) {
  if (!out || !source) return HIPRTC_ERROR_INVALID_INPUT;
  auto* program = new Program;
  program->source = copy(source);
  program->name = copy(name && *name ? name : "program.hip");
  program->log = copy("");
  for (int i = 0; i < header_count; i++) {
    program->header_texts.push_back(copy(headers[i]));
    program->header_names.push_back(copy(header_names[i]));
  }
  *out = program;
  return HIPRTC_SUCCESS;
}

HIPRTC_API hiprtcResult hiprtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return HIPRTC_SUCCESS;
}

HIPRTC_API hiprtcResult hiprtcAddNameExpression(Program* program, const char* expression) {
  program->expressions.push_back(copy(expression));
  program->lowered.push_back(copy(""));
  return HIPRTC_SUCCESS;
}

HIPRTC_API hiprtcResult hiprtcCompileProgram(Program* program, int option_count, const char** options) {
  if (!g_compiler) return HIPRTC_ERROR_INTERNAL_ERROR;
  const auto names = pointers(program->header_names), texts = pointers(program->header_texts),
             expressions = pointers(program->expressions);
  const emu_hiprtc_request request = {program->source.data(),
                                      program->name.data(),
                                      static_cast<int>(names.size()),
                                      option_count,
                                      static_cast<int>(expressions.size()),
                                      names.data(),
                                      texts.data(),
                                      options,
                                      expressions.data()};
  return static_cast<hiprtcResult>(g_compiler(&request, program));
}

HIPRTC_API hiprtcResult hiprtcGetCodeSize(Program* program, size_t* bytes) {
  *bytes = program->code.size();
  return program->code.empty() ? HIPRTC_ERROR_INVALID_PROGRAM : HIPRTC_SUCCESS;
}

HIPRTC_API hiprtcResult hiprtcGetCode(Program* program, char* out) {
  memcpy(out, program->code.data(), program->code.size());
  return HIPRTC_SUCCESS;
}

HIPRTC_API hiprtcResult hiprtcGetProgramLogSize(Program* program, size_t* bytes) {
  *bytes = program->log.size();
  return HIPRTC_SUCCESS;
}

HIPRTC_API hiprtcResult hiprtcGetProgramLog(Program* program, char* out) {
  memcpy(out, program->log.data(), program->log.size());
  return HIPRTC_SUCCESS;
}

HIPRTC_API hiprtcResult hiprtcGetLoweredName(Program* program, const char* expression, const char** out) {
  for (size_t i = 0; i < program->expressions.size(); i++) {
    if (strcmp(program->expressions[i].data(), expression) != 0) continue;
    *out = program->lowered[i].data();
    return **out ? HIPRTC_SUCCESS : HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
  }
  return HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}
