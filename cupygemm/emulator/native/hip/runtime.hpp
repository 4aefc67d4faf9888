// The stand-in runtime's inside: devices, errors, allocations, and work on streams. One file a topic implements each
// part.
#pragma once
#include <pthread.h>

#include "exec/api.h"
#include "hip/control.h"
#include "hip/hip_types.hpp"

namespace hip {

// One lock for all of the runtime's tables. It is never held while a kernel, a copy or a callback runs.
class Lock {
 public:
  Lock();
  ~Lock();
};

// ---- error.cpp ---- Records `error` as the thread's last one, with a text that hipGetErrorString gives for it until
// the next failure; returns it.
__attribute__((format(printf, 2, 3))) hipError_t fail(hipError_t error, const char* format, ...);
// An error that surfaces at the thread's next synchronisation or copy: for calls whose callers ignore what they return.
void fail_later(hipError_t error);
hipError_t take_deferred_error();

// ---- device.cpp ----
int device_count();
int current_device();
const emu_hip_device& device(int index);
unsigned options();  // enum emu_hip_option

// ---- memory.cpp ----
struct Allocation {
  uint64_t base, size;
  hipMemoryType type;
  int device;
  void* mapping;
  size_t mapping_size;
};

hipError_t allocate(void** out, size_t bytes, hipMemoryType type, int device);
hipError_t release(void* pointer);
// The allocation that holds `pointer`; false if it is plain host memory.
bool find_allocation(const void* pointer, Allocation* out);
// Success unless [pointer, pointer + bytes) begins in an allocation and runs out of it.
hipError_t check_range(const void* pointer, size_t bytes, const char* what);

// ---- stream.cpp ----
// Something a stream does. Made on the heap, run once or (in a graph) many times, deleted by whoever holds it.
class Action {
 public:
  virtual hipError_t run() = 0;
  virtual ~Action() {}
};

struct Graph;
struct Stream;
// Hands `action` to the stream: run now, queued, or recorded while the stream is being captured. Takes ownership.
hipError_t submit(Stream* stream, Action* action);
// Carries out what the stream has queued; null is the default stream, which waits for all.
hipError_t drain(Stream* stream);
hipError_t drain_all();
bool is_capturing(Stream* stream);

// Marks `stream`, and later those that wait for its events, as recording into `graph`; null ends every recording into
// `ended`.
hipError_t begin_capture(Stream* stream, Graph* graph);
Graph* captured_graph(Stream* stream);
void end_capture(Graph* ended);

// ---- graph.cpp ----
void graph_append(Graph* graph, Action* action);

// ---- module.cpp ----
struct Kernel;
// The kernel behind a hipFunction_t, or null.
Kernel* as_kernel(void* function);

}  // namespace hip
