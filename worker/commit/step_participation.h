// A task's part in the commit of one step.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/kernel/step_commit.h"
#include "core/mutex.h"
#include "core/rendezvous/rendezvous.h"
#include "core/threads/suspension_watch.h"
#include "distribute/transport/worker_interface.h"
#include "worker/commit/commit_state.h"
#include "worker/commit/step_outcomes.h"

namespace weir {

// Finds the worker of another task of the session.
using PeerFinder = std::function<absl::StatusOr<std::shared_ptr<WorkerInterface>>(absl::string_view task)>;

// Runs CommitState, or decides if this task is the coordinator. Kernels call it through StepCommit; its owner passes
// everything that would cancel the step through Cancel, which spares a step that is committed or may be. The waits for
// other steps of a committed step end.
// - Thread-safe. Never blocks. Callbacks run with no lock held.
// - A task that waits for a decision asks the coordinator every 0.2 to 2 s. If it gets no answer for ten minutes, or if
//   the coordinator no longer knows the outcome, it aborts, with an error in the log. Meanwhile the updates of other
//   steps go on.
// - If the coordinator only relays the decision and is lost, it asks the decider.
class StepParticipation : public StepCommit, public std::enable_shared_from_this<StepParticipation> {
 public:
  struct Options {
    std::string session_handle;
    int64_t step_id = 0;
    std::string task;                      // this one, for messages
    std::string coordinator;               // empty: this task
    uint64_t coordinator_incarnation = 0;  // that the graph was made for; unless it is this task
    bool relays = false;                   // this task answers for the decision of the coordinator, its standby
    // The coordinator relays the decision of this task, its standby; empty: it decides.
    std::string decider;
    uint64_t decider_incarnation = 0;
    // True once the coordinator, this task's standby, can no longer take over, although it may still run: what it has
    // not passed on by then never will be. May be empty; used if `relays`.
    std::function<bool()> has_lost_standby;
    StepOutcomes* outcomes = nullptr;  // this task's; outlives this
    PeerFinder peers;
    const SuspensionWatch* suspension = nullptr;  // a fenced task never decides to commit; may be null
    std::shared_ptr<Rendezvous> rendezvous;
    std::function<absl::Time()> now;  // of a monotonic clock
    // Runs `call` later, with no lock held; drops it if the task ends first.
    std::function<void(absl::Duration pause, std::function<void()> call)> after;
    // Cancels everything that runs for the step.
    std::function<void(absl::Status reason)> cancel;
    CancellationManager* waits = nullptr;  // StepCommit::waits; used while the step runs
    // Cancels `waits`, if the step still runs.
    std::function<void(absl::Status reason)> cancel_waits;
    // True once the worker is being destroyed, which does not wait for decisions; outlives this.
    const std::atomic<bool>* is_ending = nullptr;
    absl::Duration patience = absl::Minutes(10);
  };
  explicit StepParticipation(Options options) : options_(std::move(options)) {}

  absl::Status Decide() override;
  absl::Status SetReady() override;
  void AwaitDecision(const std::string& key, std::function<void(absl::Status)> done) override;
  bool EndWaitsIfCommitted(const absl::Status& failure) override;
  CancellationManager* waits() override { return options_.waits; }

  // Ends the step with this reason; once it is committed, only its waits for other steps.
  void Cancel(const absl::Status& reason);

 private:
  bool decides() const { return options_.coordinator.empty(); }
  bool IsCommitted() const REQUIRES(mu_) {
    return decides() ? has_committed_ : state_.state() == CommitState::State::kCommitted;
  }
  void Interrupted(const absl::Status& reason);
  void Act(CommitState::Action action);
  void Ask();
  void Answered(bool by_decider, const absl::Status& status, const ResolveStepResponse& response);
  // The coordinator's decision is lost, and with it all state that it covered; `why` says how this is known.
  CommitState::Action Lost(bool decider, const std::string& why) REQUIRES(mu_);
  void AskLater();

  const Options options_;
  Mutex mu_;
  CommitState state_ GUARDED_BY(mu_);
  bool has_committed_ GUARDED_BY(mu_) = false;  // as the coordinator
  bool awaits_ GUARDED_BY(mu_) = false;         // AwaitDecision was called
  absl::Status reason_ GUARDED_BY(mu_);         // of the first interruption
  absl::Status given_up_ GUARDED_BY(mu_);       // of the first Cancel, unless this task decides
  std::function<void(absl::Status)> done_ GUARDED_BY(mu_);
  absl::Time gives_up_ GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::Duration pause_ GUARDED_BY(mu_) = absl::Milliseconds(200);
  bool coordinator_lost_ GUARDED_BY(mu_) = false;  // which relays: only the decider can answer
  bool asks_decider_ GUARDED_BY(mu_) = false;      // next
};

}  // namespace weir
