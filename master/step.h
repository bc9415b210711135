// One step of a client graph, on all its tasks at once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <vector>

#include "core/busy_poller.h"
#include "core/cancellation.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/timer_queue.h"
#include "distribute/transport/master_interface.h"
#include "master/client_graph.h"
#include "master/ended_steps.h"

namespace weir {

// Runs the parts, gathers fetches, decides which error to report. Fail, from any thread, ends the step with that error.
// Of several errors the one reported is the first that is not the consequence of another.
class Step {
 public:
  struct Options {
    std::string session_handle;
    int64_t step_id = 0;
    absl::Time deadline = absl::InfiniteFuture();
    tensorflow::ExecutorOpts exec_opts;
    TimerQueue* timers = nullptr;
    std::shared_ptr<EndedSteps> ended;  // null: tasks hear at once that the step is over
    BusyPoller* poller = nullptr;       // what a thread looks after that waits for the step; may be null
  };

  Step(Options options, std::shared_ptr<const ClientGraph> graph);
  ~Step();
  Step(const Step&) = delete;

  // Blocks until every part has answered or has been given up. `feeds` and the fetches are in the signature's order.
  // `caller` (may be null) ends the step when it fires; it is not used after the call.
  absl::StatusOr<RunStepResult> Run(std::vector<Tensor> feeds, CancellationManager* caller);

  // One call of a partial run: the listed feeds are given, the listed fetches awaited.
  absl::StatusOr<RunStepResult> RunPartial(const std::vector<int>& feed_indices, std::vector<Tensor> feeds,
                                           const std::vector<int>& fetch_indices, bool is_last,
                                           CancellationManager* caller);

  void Fail(absl::Status status);
  const ClientGraph& graph() const { return *graph_; }
  int64_t step_id() const { return options_.step_id; }
  absl::Time start() const { return start_; }

 private:
  class CallerLink;
  void Start(const ClientGraph::Part& part, RunGraphArgs args, std::vector<int> fetch_positions,
             std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata);
  void Finish(absl::StatusOr<RunGraphResult> result, const std::vector<int>& fetch_positions,
              std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata);
  absl::Status Wait();
  void Cleanup();

  const Options options_;
  const std::shared_ptr<const ClientGraph> graph_;
  const absl::Time start_;
  CancellationManager cancellation_;
  TimerQueue::Token timer_;
  bool has_timer_ = false;
  std::atomic<bool> is_partial_{false};

  Mutex mu_;
  std::condition_variable all_done_;
  int pending_ GUARDED_BY(mu_) = 0;
  bool cancelled_ GUARDED_BY(mu_) = false;
  absl::Status error_ GUARDED_BY(mu_);
};

}  // namespace weir
