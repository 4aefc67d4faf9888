// Streams and events, and when the work on them is done.
//
// By default an action runs when it is submitted, which is one of the orders that streams allow. Under EMU_HIP_DEFER it
// is queued and runs only when something waits for it; of the streams that could go on, a random one does. Each queued
// action knows what it has to come after: events waited for, and the default stream's two-sided order with all streams
// that are not "non-blocking". What a program forgot to order is then likely to run in the wrong order, and shows as a
// wrong result.
#include <time.h>

#include <cstdlib>
#include <vector>

#include "hip/runtime.hpp"

namespace hip {

// After the first `count` actions of `stream`.
struct Point {
  Stream* stream;
  uint64_t count;
};

struct Queued {
  Action* action;
  std::vector<Point> after;
};

struct Stream {
  unsigned flags;
  int priority, device;
  Graph* capture;
  uint64_t submitted, done;
  std::vector<Queued> queue;  // actions done .. submitted - 1
  std::vector<Point> waits;   // of the next action
};

struct Event {
  Point recorded;  // stream null: not recorded, or nothing to wait for
  Graph* capture;  // recorded in a stream that was being captured
  double time_ms;
};

namespace {

constexpr unsigned kNonBlocking = 1, kDisableTiming = 2;

pthread_mutex_t g_running = PTHREAD_MUTEX_INITIALIZER;  // held by the thread that carries out queued work

std::vector<Stream*>& streams() {
  static auto* all = new std::vector<Stream*>;
  return *all;
}

Stream* new_stream(unsigned flags, int priority) {
  auto* stream = new Stream{flags, priority, current_device(), nullptr, 0, 0, {}, {}};
  Lock lock;
  streams().push_back(stream);
  return stream;
}

// Null and the two special handles (1 legacy, 2 per thread) are the device's default stream.
Stream* resolve(Stream* stream) {
  static Stream* defaults[64];
  if (reinterpret_cast<uintptr_t>(stream) > 2) return stream;
  Stream*& mine = defaults[current_device()];
  if (!mine) mine = new_stream(0, 0);
  return mine;
}

bool is_default(Stream* stream) { return stream == resolve(nullptr); }

double now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// The streams whose work the default stream's is ordered with.
void implicit_order(Stream* stream, std::vector<Point>* after) {
  if (stream->flags & kNonBlocking) return;
  if (!is_default(stream)) {
    after->push_back({resolve(nullptr), resolve(nullptr)->submitted});
    return;
  }
  for (Stream* other : streams())
    if (other != stream && !(other->flags & kNonBlocking) && other->device == stream->device)
      after->push_back({other, other->submitted});
}

void enqueue(Stream* stream, Action* action) {
  Queued entry{action, {}};
  entry.after.swap(stream->waits);
  implicit_order(stream, &entry.after);
  stream->queue.push_back(entry);
  stream->submitted++;
}

hipError_t run_up_to(Stream* stream, uint64_t count);

hipError_t run_next(Stream* stream) {
  Queued entry;
  {
    Lock lock;
    entry = stream->queue.front();
  }
  hipError_t first = hipSuccess;
  for (const Point& point : entry.after)
    if (hipError_t error = run_up_to(point.stream, point.count)) first = error;
  const hipError_t error = entry.action->run();
  delete entry.action;
  Lock lock;
  stream->queue.erase(stream->queue.begin());
  stream->done++;
  return first ? first : error;
}

hipError_t run_up_to(Stream* stream, uint64_t count) {
  hipError_t first = hipSuccess;
  while (stream->done < count)
    if (hipError_t error = run_next(stream)) first = error;
  return first;
}

hipError_t run_all() {
  hipError_t first = hipSuccess;
  for (;;) {
    std::vector<Stream*> ready;
    {
      Lock lock;
      for (Stream* stream : streams())
        if (stream->done < stream->submitted) ready.push_back(stream);
    }
    if (ready.empty()) return first;
    if (hipError_t error = run_next(ready[static_cast<size_t>(rand()) % ready.size()])) first = error;
  }
}

class Running {
 public:
  Running() { pthread_mutex_lock(&g_running); }
  ~Running() { pthread_mutex_unlock(&g_running); }
};

class RecordTime : public Action {
 public:
  explicit RecordTime(Event* event) : event_(event) {}
  hipError_t run() override {
    event_->time_ms = now_ms();
    return hipSuccess;
  }

 private:
  Event* event_;
};

using HostFunction = void (*)(void*);
using StreamCallback = void (*)(Stream*, hipError_t, void*);

class CallHost : public Action {
 public:
  CallHost(HostFunction function, StreamCallback callback, Stream* stream, void* user)
      : function_(function), callback_(callback), stream_(stream), user_(user) {}
  hipError_t run() override {
    if (function_) function_(user_);
    if (callback_) callback_(stream_, hipSuccess, user_);
    return hipSuccess;
  }

 private:
  HostFunction function_;
  StreamCallback callback_;
  Stream* stream_;
  void* user_;
};

}  // namespace

hipError_t submit(Stream* handle, Action* action) {
  Stream* stream = resolve(handle);
  if (stream->capture) {
    graph_append(stream->capture, action);
    return hipSuccess;
  }
  if (options() & EMU_HIP_DEFER) {
    Lock lock;
    enqueue(stream, action);
    return hipSuccess;
  }
  const hipError_t error = action->run();
  delete action;
  return error;
}

hipError_t drain(Stream* handle) {
  Stream* stream = resolve(handle);
  if (stream->capture) return fail(hipErrorStreamCaptureUnsupported, "waiting for a stream that is being captured");
  if (!(options() & EMU_HIP_DEFER)) return hipSuccess;
  Running running;
  return run_up_to(stream, stream->submitted);
}

hipError_t drain_all() {
  if (hipError_t error = take_deferred_error()) return error;
  if (!(options() & EMU_HIP_DEFER)) return hipSuccess;
  Running running;
  return run_all();
}

bool is_capturing(Stream* stream) { return resolve(stream)->capture != nullptr; }

hipError_t begin_capture(Stream* handle, Graph* graph) {
  Stream* stream = resolve(handle);
  if (is_default(stream)) return fail(hipErrorStreamCaptureUnsupported, "the default stream cannot be captured");
  if (stream->capture) return fail(hipErrorStreamCaptureUnsupported, "the stream is being captured already");
  stream->capture = graph;
  return hipSuccess;
}

Graph* captured_graph(Stream* stream) { return resolve(stream)->capture; }

void end_capture(Graph* ended) {
  Lock lock;
  for (Stream* stream : streams())
    if (stream->capture == ended) stream->capture = nullptr;
}

}  // namespace hip

using namespace hip;

HIP_API hipError_t hipStreamCreateWithPriority(Stream** out, unsigned flags, int priority) {
  *out = new_stream(flags, priority);
  return hipSuccess;
}

HIP_API hipError_t hipStreamCreate(Stream** out) { return hipStreamCreateWithPriority(out, 0, 0); }
HIP_API hipError_t hipStreamCreateWithFlags(Stream** out, unsigned flags) {
  return hipStreamCreateWithPriority(out, flags, 0);
}

HIP_API hipError_t hipStreamDestroy(Stream* stream) {
  const hipError_t error = drain(stream);
  if (options() & EMU_HIP_DEFER) return error;  // queued work elsewhere may wait for a point of this stream: keep it
  Lock lock;
  for (size_t i = 0; i < streams().size(); i++)
    if (streams()[i] == stream) streams().erase(streams().begin() + static_cast<long>(i));
  delete stream;
  return error;
}

HIP_API hipError_t hipStreamSynchronize(Stream* stream) {
  if (hipError_t error = take_deferred_error()) return error;
  return drain(stream);
}

// Work that nobody has waited for yet is carried out at the first question, and was not ready then.
HIP_API hipError_t hipStreamQuery(Stream* handle) {
  Stream* stream = resolve(handle);
  if (stream->done == stream->submitted) return hipSuccess;
  const hipError_t error = drain(stream);
  return error ? error : hipErrorNotReady;
}

HIP_API hipError_t hipStreamGetFlags(Stream* stream, unsigned* flags) {
  *flags = resolve(stream)->flags;
  return hipSuccess;
}

HIP_API hipError_t hipStreamGetPriority(Stream* stream, int* priority) {
  *priority = resolve(stream)->priority;
  return hipSuccess;
}

HIP_API int hipGetStreamDeviceId(Stream* stream) { return resolve(stream)->device; }

HIP_API hipError_t hipStreamWaitEvent(Stream* handle, Event* event, unsigned) {
  Stream* stream = resolve(handle);
  if (event->capture) {
    if (!stream->capture) stream->capture = event->capture;  // the stream joins the capture
    return hipSuccess;
  }
  Lock lock;
  if (event->recorded.stream) stream->waits.push_back(event->recorded);
  return hipSuccess;
}

HIP_API hipError_t hipStreamAddCallback(Stream* stream, StreamCallback callback, void* user, unsigned) {
  return submit(stream, new CallHost(nullptr, callback, stream, user));
}

HIP_API hipError_t hipLaunchHostFunc(Stream* stream, HostFunction function, void* user) {
  return submit(stream, new CallHost(function, nullptr, stream, user));
}

HIP_API hipError_t hipEventCreateWithFlags(Event** out, unsigned flags) {
  *out = new Event{{nullptr, 0}, nullptr, flags & kDisableTiming ? -1.0 : 0.0};
  return hipSuccess;
}

HIP_API hipError_t hipEventCreate(Event** out) { return hipEventCreateWithFlags(out, 0); }

HIP_API hipError_t hipEventSynchronize(Event* event) {
  if (hipError_t error = take_deferred_error()) return error;
  if (!event->recorded.stream) return hipSuccess;
  Running running;
  return run_up_to(event->recorded.stream, event->recorded.count);
}

HIP_API hipError_t hipEventDestroy(Event* event) {
  const hipError_t error = hipEventSynchronize(event);  // its RecordTime may still be queued
  delete event;
  return error;
}

HIP_API hipError_t hipEventRecord(Event* event, Stream* handle) {
  Stream* stream = resolve(handle);
  event->capture = stream->capture;
  if (stream->capture) return hipSuccess;
  const hipError_t error = submit(stream, new RecordTime(event));
  event->recorded = {options() & EMU_HIP_DEFER ? stream : nullptr, stream->submitted};
  return error;
}

HIP_API hipError_t hipEventQuery(Event* event) {
  if (!event->recorded.stream || event->recorded.stream->done >= event->recorded.count) return hipSuccess;
  const hipError_t error = hipEventSynchronize(event);
  return error ? error : hipErrorNotReady;
}

HIP_API hipError_t hipEventElapsedTime(float* ms, Event* from, Event* to) {
  if (from->time_ms <= 0 || to->time_ms <= 0)
    return fail(hipErrorInvalidHandle, "elapsed time of an event that has none recorded");
  *ms = static_cast<float>(to->time_ms - from->time_ms);
  return hipSuccess;
}
