#include "tests/chaos/client_process.h"

#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "client/ops.h"
#include "client/session.h"

namespace weir::chaos {
namespace {

constexpr int32_t kElements = 1 << 16;

// A tensor goes from the parameter server to worker 1, which sums it. `stuck` waits there for what is never enqueued.
struct ClientGraph {
  Scope scope = Scope::NewRoot();
  Output sum, stuck;

  ClientGraph() {
    const Scope server = scope.WithDevice("/job:ps/task:0"), worker = scope.WithDevice("/job:worker/task:1");
    const Output tensor = ops::Fill(server, Tensor::Vector<int32_t>({kElements}), server.Constant(1.0f));
    sum = ops::Sum(worker, tensor, 0);
    const Output queue = ops::FIFOQueueV2(worker, {DT_FLOAT}, {.shared_name = "empty"});
    stuck = ops::Add(worker, sum, ops::QueueDequeueV2(worker, queue, {DT_FLOAT})[0]);
  }
};

}  // namespace

absl::Status RunClientProcess(const ClientProcessOptions& options) {
  const ClientGraph graph;
  for (int i = 0; i < options.brief; ++i) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Connect(options.target, graph.scope));
    RETURN_IF_ERROR(session->Run({graph.sum}).status());
  }
  for (int i = 0; i < options.waiting; ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Connect(options.target, graph.scope));
    // It ends with the process.
    std::thread([session = std::shared_ptr<Session>(std::move(session)), stuck = graph.stuck] {
      session->Run({stuck}).IgnoreError();
    }).detach();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Connect(options.target, graph.scope));
  std::ofstream(options.ready_file) << "ready";
  while (true) RETURN_IF_ERROR(session->Run({graph.sum}).status());
}

}  // namespace weir::chaos
