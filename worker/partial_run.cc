#include "worker/partial_run.h"

#include <utility>

#include "absl/container/flat_hash_set.h"

namespace weir {
namespace {

// Receives feeds from this task, whichever device their keys name as sender.
class FedRendezvous : public Rendezvous {
 public:
  FedRendezvous(StepRendezvous rendezvous, const std::vector<std::string>& feed_keys)
      : rendezvous_(std::move(rendezvous)), feed_keys_(feed_keys.begin(), feed_keys.end()) {}

  absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) override {
    return rendezvous_.local->Send(key, std::move(tensor), is_dead);
  }
  void RecvAsync(absl::string_view key, const Args& args, DoneCallback done) override {
    (feed_keys_.contains(key) ? rendezvous_.local : rendezvous_.remote)->RecvAsync(key, args, std::move(done));
  }
  void StartAbort(const absl::Status& status) override { rendezvous_.remote->StartAbort(status); }

 private:
  const StepRendezvous rendezvous_;
  const absl::flat_hash_set<std::string> feed_keys_;
};

}  // namespace

// One call.
struct PartialRun::Pending {
  WorkerStep::DoneCallback done;
  CancellationManager* cancellation = nullptr;
  CancellationManager::Token token = CancellationManager::kInvalidToken;
  Mutex mu;
  size_t left GUARDED_BY(mu) = 1;
  absl::Status status GUARDED_BY(mu);
  RunGraphResult result;
};

absl::StatusOr<std::shared_ptr<PartialRun>> PartialRun::Create(WorkerStep::Options options,
                                                               const StepRendezvous& rendezvous) {
  auto run = std::make_shared<PartialRun>();
  run->local_ = rendezvous.local;
  run->graph_ = options.graph;
  ASSIGN_OR_RETURN(options.units, options.graph->PartialUnits());
  options.rendezvous = std::make_shared<FedRendezvous>(rendezvous, options.graph->args().feed_keys);
  options.cancellation = nullptr;  // each call has its own
  run->step_ = std::make_shared<WorkerStep>(std::move(options));
  return run;
}

void PartialRun::Start() {
  step_->Run({}, [self = shared_from_this()](const absl::StatusOr<RunGraphResult>& result) {
    self->GraphDone(result.status());
  });
}

void PartialRun::GraphDone(const absl::Status& status) {
  std::vector<std::shared_ptr<Pending>> waiting;
  {
    MutexLock lock(mu_);
    graph_is_done_ = true;
    graph_status_ = status;
    waiting.swap(waiting_for_graph_);
  }
  for (const auto& pending : waiting) OneDone(pending, status);
}

void PartialRun::Call(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args,
                      WorkerStep::DoneCallback done) {
  const std::vector<std::string>& feed_keys = graph_->args().feed_keys;
  const std::vector<std::string>& fetch_keys = graph_->args().fetch_keys;
  if (args->feeds.size() != args->feed_indices.size()) {
    return done(errors::InvalidArgument("A partial run gives ", args->feeds.size(), " feeds for ",
                                        args->feed_indices.size(), " indices"));
  }
  for (int i : args->feed_indices) {
    if (i < 0 || i >= feed_keys.size()) return done(errors::InvalidArgument("There is no feed ", i));
  }
  for (int i : args->fetch_indices) {
    if (i < 0 || i >= fetch_keys.size()) return done(errors::InvalidArgument("There is no fetch ", i));
  }
  auto pending = std::make_shared<Pending>();
  pending->done = std::move(done);
  pending->result.fetches.resize(args->fetch_indices.size());
  {
    MutexLock lock(pending->mu);
    pending->left += args->fetch_indices.size();
  }
  if (options.cancellation != nullptr) {
    pending->cancellation = options.cancellation;
    pending->token = options.cancellation->Register(
        [step = step_, cancellation = options.cancellation] { step->Cancel(cancellation->status()); });
    if (pending->token == CancellationManager::kInvalidToken) step_->Cancel(options.cancellation->status());
  }
  absl::Status status;
  for (size_t i = 0; i < args->feeds.size() && status.ok(); ++i) {
    status = local_->Send(feed_keys[args->feed_indices[i]], args->feeds[i], false);
  }
  for (size_t i = 0; i < args->fetch_indices.size(); ++i) Receive(pending, i, fetch_keys[args->fetch_indices[i]]);
  bool wait_for_graph = false;
  {
    MutexLock lock(mu_);
    if (graph_is_done_) {
      if (status.ok() && args->is_last_partial_run) status = graph_status_;
    } else if (args->is_last_partial_run && status.ok()) {
      wait_for_graph = true;
      waiting_for_graph_.push_back(pending);
    }
  }
  if (!wait_for_graph) OneDone(pending, status);
}

void PartialRun::Receive(const std::shared_ptr<Pending>& pending, size_t i, const std::string& key) {
  // The call waits by itself too: a finished graph sends nothing more.
  local_->RecvAsync(key, {.cancellation = pending->cancellation},
                    [pending, i, key](absl::StatusOr<Rendezvous::Received> received) {
                      if (received.ok() && received->is_dead) {
                        received = errors::InvalidArgument("The tensor returned for ", key, " was not valid.");
                      }
                      if (received.ok()) pending->result.fetches[i] = std::move(received->tensor);
                      OneDone(pending, received.status());
                    });
}

void PartialRun::OneDone(const std::shared_ptr<Pending>& pending, const absl::Status& status) {
  absl::StatusOr<RunGraphResult> result{RunGraphResult()};
  {
    MutexLock lock(pending->mu);
    if (pending->status.ok()) pending->status = status;
    if (--pending->left > 0) return;
    if (pending->status.ok()) {
      result = std::move(pending->result);
    } else {
      result = pending->status;
    }
  }
  if (pending->cancellation != nullptr) pending->cancellation->TryDeregister(pending->token);
  pending->done(std::move(result));
}

}  // namespace weir
