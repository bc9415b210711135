// A step that is fed and fetched in several calls.
#pragma once

#include <memory>
#include <vector>

#include "worker/step_table.h"
#include "worker/worker_step.h"

namespace weir {

// Thread-safe. The graph runs from the first call on and waits for later feeds.
class PartialRun : public std::enable_shared_from_this<PartialRun> {
 public:
  // Replaces `options.rendezvous`.
  static absl::StatusOr<std::shared_ptr<PartialRun>> Create(WorkerStep::Options options,
                                                            const StepRendezvous& rendezvous);

  // Starts the graph. Called once.
  void Start();
  // Ends the graph, which may run on after the last call that waited for it.
  void Cancel(const absl::Status& reason) { step_->Cancel(reason); }
  // Sends the feeds of `args` and waits for its fetches; the last call also waits for the step's end.
  void Call(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args, WorkerStep::DoneCallback done);

 private:
  struct Pending;
  void GraphDone(const absl::Status& status);
  void Receive(const std::shared_ptr<Pending>& pending, size_t i, const std::string& key);
  static void OneDone(const std::shared_ptr<Pending>& pending, const absl::Status& status);

  std::shared_ptr<Rendezvous> local_;
  std::shared_ptr<RegisteredGraph> graph_;
  std::shared_ptr<WorkerStep> step_;
  Mutex mu_;
  bool graph_is_done_ GUARDED_BY(mu_) = false;
  absl::Status graph_status_ GUARDED_BY(mu_);
  std::vector<std::shared_ptr<Pending>> waiting_for_graph_ GUARDED_BY(mu_);
};

}  // namespace weir
