// Stream capture and graphs: a graph is the list of actions in the order in which the captured streams were given them,
// which is an order that their dependencies allow.
#include <vector>

#include "hip/runtime.hpp"

namespace hip {

struct Graph {
  std::vector<Action*> actions;
  int owners;  // the graph, its executable forms, and launches under way
};

void graph_append(Graph* graph, Action* action) { graph->actions.push_back(action); }

namespace {

Graph* share(Graph* graph) {
  Lock lock;
  graph->owners++;
  return graph;
}

void drop(Graph* graph) {
  {
    Lock lock;
    if (--graph->owners) return;
  }
  for (Action* action : graph->actions) delete action;
  delete graph;
}

class RunGraph : public Action {
 public:
  explicit RunGraph(Graph* graph) : graph_(share(graph)) {}
  ~RunGraph() override { drop(graph_); }
  hipError_t run() override {
    for (Action* action : graph_->actions)
      if (hipError_t error = action->run()) return error;
    return hipSuccess;
  }

 private:
  Graph* graph_;
};

enum CaptureStatus : int { kNotCapturing = 0, kCapturing = 1 };

}  // namespace
}  // namespace hip

using namespace hip;

HIP_API hipError_t hipStreamBeginCapture(Stream* stream, int) {
  auto* graph = new Graph{{}, 1};
  const hipError_t error = begin_capture(stream, graph);
  if (error) drop(graph);
  return error;
}

HIP_API hipError_t hipStreamEndCapture(Stream* stream, Graph** out) {
  *out = captured_graph(stream);
  if (!*out) return fail(hipErrorStreamCaptureUnmatched, "the stream is not being captured");
  end_capture(*out);
  return hipSuccess;
}

HIP_API hipError_t hipStreamIsCapturing(Stream* stream, int* status) {
  *status = is_capturing(stream) ? kCapturing : kNotCapturing;
  return hipSuccess;
}

HIP_API hipError_t hipStreamGetCaptureInfo(Stream* stream, int* status, unsigned long long* id) {
  *status = is_capturing(stream) ? kCapturing : kNotCapturing;
  if (id) *id = reinterpret_cast<uintptr_t>(captured_graph(stream));
  return hipSuccess;
}

HIP_API hipError_t hipStreamGetCaptureInfo_v2(Stream* stream, int* status, unsigned long long* id, Graph** graph,
                                              const void** nodes, size_t* node_count) {
  if (graph) *graph = captured_graph(stream);
  if (nodes) *nodes = nullptr;
  if (node_count) *node_count = 0;
  return hipStreamGetCaptureInfo(stream, status, id);
}

HIP_API hipError_t hipGraphInstantiate(Graph** executable, Graph* graph, void**, char*, size_t) {
  *executable = share(graph);
  return hipSuccess;
}

HIP_API hipError_t hipGraphLaunch(Graph* executable, Stream* stream) {
  return submit(stream, new RunGraph(executable));
}

HIP_API hipError_t hipGraphDestroy(Graph* graph) {
  drop(graph);
  return hipSuccess;
}

HIP_API hipError_t hipGraphExecDestroy(Graph* executable) {
  drop(executable);
  return hipSuccess;
}
