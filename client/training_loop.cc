#include "client/training_loop.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "client/ops.h"
#include "core/file_system.h"

namespace weir {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(1);

bool IsTaskLoss(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

}  // namespace

TrainingLoop::TrainingLoop(const Scope& scope, TrainingLoopOptions options) : options_(std::move(options)) {
  if (!options_.checkpoint_dir.empty()) {
    saver_ = std::make_unique<Saver>(scope, std::vector<ResourceVariable>(),
                                     SaverOptions{.max_to_keep = options_.max_to_keep});
  }
  const Scope root = scope.Root();
  initialize_ = InitializeAll(root);
  InputList flags;
  for (const ResourceVariable& variable : root.variables()) flags.push_back(variable.is_initialized());
  all_initialized_ = ops::All(root.WithName("all_initialized"), ops::Pack(root, flags), Tensor::Vector<int32_t>({0}));
  read_global_step_ = options_.global_step.Read(root.ColocateWith(options_.global_step.handle().op()));
}

absl::StatusOr<int64_t> TrainingLoop::Run(Session& session) {
  RETURN_IF_ERROR(Start(session));
  for (const auto& hook : options_.hooks) RETURN_IF_ERROR(hook->Begin(session, global_step_));
  bool stop = false;
  while (!stop) {
    auto report = Step(session);
    absl::Status status = report.status();
    if (status.ok()) status = SaveIfDue(session);
    if (!status.ok()) {
      if (!IsTaskLoss(status)) return status;
      RETURN_IF_ERROR(Recover(session, status));
      continue;
    }
    EndRecovery();
    for (const auto& hook : options_.hooks) {
      ASSIGN_OR_RETURN(bool asked, hook->AfterStep(session, *report));
      stop = stop || asked;
    }
  }
  if (saver_ != nullptr && last_saved_step_ != global_step_) RETURN_IF_ERROR(Save(session));
  for (const auto& hook : options_.hooks) RETURN_IF_ERROR(hook->End(session, global_step_));
  return global_step_;
}

absl::Status TrainingLoop::Start(Session& session) {
  std::string restored_from;
  RETURN_IF_ERROR(RestoreOrInitialize(session, &restored_from));
  RETURN_IF_ERROR(ReadGlobalStep(session));
  last_saved_step_ = restored_from.empty() ? -1 : global_step_;
  last_saved_time_ = absl::Now();
  // A checkpoint from the start: whatever fails later, there is a state to go back to.
  return saver_ != nullptr && restored_from.empty() ? Save(session) : absl::OkStatus();
}

absl::Status TrainingLoop::RestoreOrInitialize(Session& session, std::string* restored_from) {
  if (saver_ != nullptr) {
    auto latest = saver_->Latest(options_.checkpoint_dir);
    if (latest.ok()) {
      *restored_from = *latest;
      // The variables come last: while one is missing, nothing counts as restored.
      for (const auto& state : options_.states) RETURN_IF_ERROR(state->Restore(session, *latest));
      return saver_->Restore(session, *latest);
    }
    if (!absl::IsNotFound(latest.status())) return latest.status();
  }
  for (const auto& state : options_.states) RETURN_IF_ERROR(state->Initialize(session));
  return session.RunTargets({initialize_});
}

absl::StatusOr<StepReport> TrainingLoop::Step(Session& session) {
  FeedList feeds;
  if (options_.feeds) {
    ASSIGN_OR_RETURN(feeds, options_.feeds(global_step_));
  }
  const absl::Time start = absl::Now();
  StepReport report;
  ASSIGN_OR_RETURN(report.fetches, session.Run(feeds, options_.fetches, {options_.train}));
  report.duration = absl::Now() - start;
  report.global_step = ++global_step_;
  return report;
}

absl::Status TrainingLoop::SaveIfDue(Session& session) {
  if (saver_ == nullptr) return absl::OkStatus();
  const bool by_steps = options_.checkpoint_steps > 0 && global_step_ - last_saved_step_ >= options_.checkpoint_steps;
  const bool by_time = absl::Now() - last_saved_time_ >= options_.checkpoint_interval;
  return by_steps || by_time ? Save(session) : absl::OkStatus();
}

absl::Status TrainingLoop::Save(Session& session) {
  const std::string prefix = JoinPath(options_.checkpoint_dir, "model.ckpt");
  for (const auto& state : options_.states) {
    RETURN_IF_ERROR(state->Save(session, absl::StrCat(prefix, "-", global_step_)));
  }
  RETURN_IF_ERROR(saver_->Save(session, prefix, global_step_).status());
  last_saved_step_ = global_step_;
  last_saved_time_ = absl::Now();
  return absl::OkStatus();
}

absl::Status TrainingLoop::Recover(Session& session, const absl::Status& failure) {
  if (!recovery_.has_value()) {
    recovery_ = Recovery{.start = absl::Now(), .pause = kFirstPause};
    recovery_->report.cause = failure;
    recovery_->report.failed_at = global_step_;
    for (const auto& hook : options_.hooks) hook->Failed(failure, global_step_);
  }
  absl::Status status = failure;
  do {
    if (absl::Now() + recovery_->pause > recovery_->start + options_.recovery_timeout) {
      return errors::DeadlineExceeded(
          "The cluster did not come back within ", absl::FormatDuration(options_.recovery_timeout),
          " after: ", recovery_->report.cause.message(), ". Last error: ", status.message());
    }
    absl::SleepFor(recovery_->pause);
    recovery_->pause = std::min(recovery_->pause * 2, kLongestPause);
    status = TryRecover(session, &recovery_->report.restored_from);
    if (!status.ok() && !IsTaskLoss(status)) return status;
  } while (!status.ok());
  recovery_->report.resumed_at = global_step_;
  return absl::OkStatus();
}

void TrainingLoop::EndRecovery() {
  if (!recovery_.has_value()) return;
  recovery_->report.duration = absl::Now() - recovery_->start;
  for (const auto& hook : options_.hooks) hook->Recovered(recovery_->report);
  recovery_.reset();
}

absl::Status TrainingLoop::TryRecover(Session& session, std::string* restored_from) {
  ASSIGN_OR_RETURN(bool whole, StateIsWhole(session));
  if (!whole) {
    RETURN_IF_ERROR(RestoreOrInitialize(session, restored_from));
    last_saved_time_ = absl::Now();
  }
  RETURN_IF_ERROR(ReadGlobalStep(session));
  if (!whole) last_saved_step_ = global_step_;
  return absl::OkStatus();
}

absl::StatusOr<bool> TrainingLoop::StateIsWhole(Session& session) {
  ASSIGN_OR_RETURN(std::vector<Tensor> result, session.Run({all_initialized_}));
  if (!result[0].scalar<bool>()) return false;
  for (const auto& state : options_.states) {
    ASSIGN_OR_RETURN(const bool whole, state->IsWhole(session));
    if (!whole) return false;
  }
  return true;
}

absl::Status TrainingLoop::ReadGlobalStep(Session& session) {
  ASSIGN_OR_RETURN(std::vector<Tensor> result, session.Run({read_global_step_}));
  global_step_ = result[0].scalar<int64_t>();
  return absl::OkStatus();
}

}  // namespace weir
