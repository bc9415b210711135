#include "worker/commit/step_participation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/logging.h"

namespace weir {
namespace {

constexpr absl::Duration kLongestPause = absl::Seconds(2);
constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);
// A standby that does not answer is removed soon.
constexpr absl::Duration kStandbyTimeout = absl::Milliseconds(500);

}  // namespace

absl::Status StepParticipation::Decide() {
  if (!decides())
    return errors::Internal("Step ", options_.step_id, ": ", options_.coordinator, " decides, not this task");
  if (options_.suspension != nullptr) {
    if (absl::Status fenced = options_.suspension->Check(); !fenced.ok()) Cancel(fenced);
  }
  MutexLock lock(mu_);
  absl::Status committed = options_.outcomes->Commit(options_.session_handle, options_.step_id);
  has_committed_ = committed.ok();
  if (!absl::IsAborted(committed)) return committed;
  return MarkDerived(Annotate(std::move(committed), reason_.message()));
}

absl::Status StepParticipation::SetReady() {
  MutexLock lock(mu_);
  if (options_.relays && state_.state() == CommitState::State::kComputing) {
    // Until the decision is known, nobody may abort the step by asking this task.
    if (absl::Status aborted = options_.outcomes->Doubt(options_.session_handle, options_.step_id); !aborted.ok()) {
      if (reason_.ok()) reason_ = std::move(aborted);
      state_.Failed();
    }
  }
  state_.Ready();
  return state_.state() == CommitState::State::kAborted ? MarkDerived(reason_) : absl::OkStatus();
}

void StepParticipation::AwaitDecision(const std::string& key, std::function<void(absl::Status)> done) {
  absl::Status error;
  {
    MutexLock lock(mu_);
    if (std::exchange(awaits_, true)) {
      error = errors::InvalidArgument("Step ", options_.step_id, " waits twice for its decision; in a loop?");
    } else if (state_.state() == CommitState::State::kAborted) {
      error = reason_;
    } else if (state_.state() != CommitState::State::kCommitted) {
      done_ = std::exchange(done, nullptr);
    }
  }
  // The answer to a question may have come first.
  if (done) return done(std::move(error));
  // Ignores the step's cancellation: once this task is ready, only the decision counts.
  options_.rendezvous->RecvAsync(key, {}, [self = shared_from_this()](absl::StatusOr<Rendezvous::Received> received) {
    if (!received.ok()) return self->Interrupted(received.status());
    CommitState::Action action;
    {
      MutexLock lock(self->mu_);
      action = self->state_.Decided();
    }
    self->Act(action);
  });
}

bool StepParticipation::EndWaitsIfCommitted(const absl::Status& failure) {
  {
    MutexLock lock(mu_);
    if (!IsCommitted()) return false;
  }
  options_.cancel_waits(failure);
  return true;
}

void StepParticipation::Cancel(const absl::Status& reason) {
  if (EndWaitsIfCommitted(reason)) return;
  if (!decides()) {
    {
      MutexLock lock(mu_);
      if (given_up_.ok()) given_up_ = reason;
    }
    Interrupted(reason);
    EndWaitsIfCommitted(reason);  // the decision may have come meanwhile
    return;
  }
  {
    MutexLock lock(mu_);
    if (reason_.ok()) reason_ = reason;
    // It fails only for a step whose outcome is forgotten, which cannot be committed any more.
    if (!has_committed_)
      options_.outcomes->IsCommittedElseAbort(options_.session_handle, options_.step_id).status().IgnoreError();
  }
  if (!EndWaitsIfCommitted(reason)) options_.cancel(reason);
}

void StepParticipation::Interrupted(const absl::Status& reason) {
  CommitState::Action action;
  {
    MutexLock lock(mu_);
    // The worker may be gone by now: the decision's receive is cancelled late.
    if (state_.state() == CommitState::State::kCommitted || state_.state() == CommitState::State::kAborted) return;
    if (reason_.ok()) reason_ = reason;
    action = options_.is_ending->load() ? state_.CoordinatorLost() : state_.Failed();
    if (action == CommitState::Action::kAsk) gives_up_ = options_.now() + options_.patience;
  }
  Act(action);
}

void StepParticipation::Act(CommitState::Action action) {
  if (action == CommitState::Action::kNone) return;
  if (action == CommitState::Action::kAsk) return Ask();
  if (options_.relays) {
    options_.outcomes->Resolve(options_.session_handle, options_.step_id, action == CommitState::Action::kRunUpdates);
  }
  std::function<void(absl::Status)> done;
  absl::Status reason, given_up;
  {
    MutexLock lock(mu_);
    done = std::exchange(done_, nullptr);
    if (action == CommitState::Action::kAbort) {
      if (reason_.ok()) reason_ = errors::Aborted("Step ", options_.step_id, " was aborted by ", options_.coordinator);
      reason = reason_;
    } else {
      given_up = given_up_;
    }
  }
  if (!reason.ok()) options_.cancel(reason);
  if (done) done(std::move(reason));
  if (!given_up.ok()) options_.cancel_waits(given_up);
}

void StepParticipation::Ask() {
  struct Question {
    std::shared_ptr<WorkerInterface> task;
    ResolveStepRequest request;
    ResolveStepResponse response;
  };
  bool by_decider;
  {
    MutexLock lock(mu_);
    if (state_.state() != CommitState::State::kAsking) return;  // a timer that comes late
    by_decider = asks_decider_;
  }
  auto question = std::make_shared<Question>();
  absl::StatusOr<std::shared_ptr<WorkerInterface>> task =
      options_.peers(by_decider ? options_.decider : options_.coordinator);
  if (!task.ok()) return Answered(by_decider, task.status(), question->response);
  question->task = *std::move(task);
  question->request.set_session_handle(options_.session_handle);
  question->request.set_step_id(options_.step_id);
  if (by_decider) question->request.set_relay(options_.coordinator);
  const absl::Duration timeout = options_.relays ? kStandbyTimeout : kAnswerTimeout;
  question->task->ResolveStepAsync({.deadline = options_.now() + timeout}, &question->request, &question->response,
                                   [self = shared_from_this(), question, by_decider](const absl::Status& status) {
                                     self->Answered(by_decider, status, question->response);
                                   });
}

CommitState::Action StepParticipation::Lost(bool decider, const std::string& why) {
  if (!options_.decider.empty() && !options_.is_ending->load()) {
    if (!decider) coordinator_lost_ = true;
    // The other one may know.
    if (!decider || !coordinator_lost_) return CommitState::Action::kAsk;
  }
  if (!why.empty())
    WEIR_LOG(WARNING) << options_.task << " drops the updates of step " << options_.step_id << ": " << why;
  return state_.CoordinatorLost();
}

void StepParticipation::Answered(bool by_decider, const absl::Status& status, const ResolveStepResponse& response) {
  const std::string& task = by_decider ? options_.decider : options_.coordinator;
  const uint64_t incarnation = by_decider ? options_.decider_incarnation : options_.coordinator_incarnation;
  CommitState::Action action;
  {
    MutexLock lock(mu_);
    if (state_.state() != CommitState::State::kAsking) return;
    const bool restarted = status.ok() && response.incarnation() != incarnation;
    if (restarted || options_.is_ending->load()) {
      action = Lost(by_decider, "");
    } else if (absl::IsNotFound(status)) {
      action =
          Lost(by_decider,
               absl::StrCat(task, " has restarted, or its part of the session ended long ago: ", status.message()));
    } else if (status.ok()) {
      action = state_.Answered(response.committed());
    } else if (options_.has_lost_standby && options_.has_lost_standby()) {
      action = Lost(by_decider, absl::StrCat(task, ", which had not told its decision, is no standby any more"));
    } else if (absl::IsFailedPrecondition(status) || options_.now() > gives_up_) {
      WEIR_LOG(ERROR) << options_.task << " gave up waiting for the decision on step " << options_.step_id
                      << " and dropped its updates; " << task << " may have made its own: " << status.message();
      action = state_.CoordinatorLost();
    } else {
      action = CommitState::Action::kAsk;
    }
    asks_decider_ = !options_.decider.empty() && (coordinator_lost_ || !by_decider);
  }
  if (action == CommitState::Action::kAsk) return AskLater();
  Act(action);
}

void StepParticipation::AskLater() {
  absl::Duration pause;
  {
    MutexLock lock(mu_);
    pause = pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
  }
  options_.after(pause, [self = shared_from_this()] { self->Ask(); });
}

}  // namespace weir
