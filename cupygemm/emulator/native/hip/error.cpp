// Error codes, names and texts. The text of a failure is kept a thread, so that a launch's full report reaches CuPy's
// exception.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "hip/runtime.hpp"

namespace hip {
namespace {

struct Name {
  hipError_t code;
  const char *name, *text;
};

constexpr Name kNames[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {hipErrorNoDevice, "hipErrorNoDevice", "no emulated device is configured"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {hipErrorPeerAccessUnsupported, "hipErrorPeerAccessUnsupported",
     "peer access is not supported between these devices"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorIllegalAddress, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {hipErrorLaunchOutOfResources, "hipErrorLaunchOutOfResources", "too many resources requested for launch"},
    {hipErrorPeerAccessAlreadyEnabled, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {hipErrorPeerAccessNotEnabled, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported on an emulated GPU"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {hipErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched", "the capture was not initiated in this stream"},
    {hipErrorUnknown, "hipErrorUnknown", "unknown error"},
};

const Name& lookup(int code) {
  for (const Name& entry : kNames)
    if (entry.code == code) return entry;
  return kNames[sizeof kNames / sizeof kNames[0] - 1];
}

thread_local hipError_t t_last = hipSuccess;
thread_local hipError_t t_deferred = hipSuccess;
thread_local hipError_t t_text_code = hipSuccess;
thread_local char t_text[8192];

}  // namespace

hipError_t fail(hipError_t error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(t_text, sizeof t_text, format, arguments);
  va_end(arguments);
  t_text_code = t_last = error;
  return error;
}

void fail_later(hipError_t error) { t_deferred = error; }

hipError_t take_deferred_error() {
  const hipError_t error = t_deferred;
  t_deferred = hipSuccess;
  if (error) t_last = error;
  return error;
}

}  // namespace hip

HIP_API const char* hipGetErrorName(hipError_t error) { return hip::lookup(error).name; }

HIP_API const char* hipGetErrorString(hipError_t error) {
  return error && error == hip::t_text_code ? hip::t_text : hip::lookup(error).text;
}

HIP_API hipError_t hipPeekAtLastError() { return hip::t_last; }

HIP_API hipError_t hipGetLastError() {
  const hipError_t error = hip::t_last;
  hip::t_last = hipSuccess;
  return error;
}

void emu_unsupported(const char* function) {
  hip::fail(hipErrorNotSupported, "%s is not available on an emulated GPU", function);
  fprintf(stderr, "cupygemm.emulator: %s is not available on an emulated GPU\n", function);
}
