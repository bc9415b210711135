// A step whose feeds come, and whose fetches go, in several calls.
#pragma once

#include <memory>
#include <vector>

#include "worker/step_table.h"
#include "worker/worker_step.h"

namespace weir {

// Thread-safe. The graph runs from the first call on and waits for what is fed later.
class PartialRun : public std::enable_shared_from_this<PartialRun> {
 public:
  // `options.rendezvous` is replaced.
  static absl::StatusOr<std::shared_ptr<PartialRun>> Create(WorkerStep::Options options,
                                                            const StepRendezvous& rendezvous);

  // Starts the graph. Once.
  void Start();
  // Gives the feeds of `args`, and waits for its fetches; for the last call, for the whole step too.
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
