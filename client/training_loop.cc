#include "client/training_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "client/checkpoint/recoverable_state.h"
#include "client/task_loss.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/clock.h"
#include "core/logging.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kMaxPause = absl::Milliseconds(100);

// True for errors of a disk that may pass. A missing permission or directory does not.
bool IsTrouble(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsInternal(status) || absl::IsUnknown(status) ||
         absl::IsDataLoss(status);
}

// False for the first FAILED_PRECONDITION, which may come from a task that was lost and is back already; a program
// error recurs.
bool Recurs(const absl::Status& status, bool* repeated) {
  return !absl::IsFailedPrecondition(status) || IsLeaseLost(status) || std::exchange(*repeated, true);
}

TrainingLoopOptions WithHooksOfRole(TrainingLoopOptions options) {
  std::erase_if(options.hooks, [&](const auto& hook) { return !hook->RunsAs(options.role); });
  return options;
}

}  // namespace

TrainingLoop::TrainingLoop(const Scope& scope, TrainingLoopOptions options)
    : options_(WithHooksOfRole(std::move(options))),
      state_(std::make_unique<RecoverableState>(scope,
                                                RecoverableStateOptions{.role = options_.role,
                                                                        .checkpoint_dir = options_.checkpoint_dir,
                                                                        .max_to_keep = options_.max_to_keep,
                                                                        .keep_every = options_.keep_every,
                                                                        .saveables = options_.saveables,
                                                                        .states = options_.states,
                                                                        .name = options_.task_name,
                                                                        .global_step = options_.global_step,
                                                                        .checkpoint_tasks = options_.checkpoint_tasks,
                                                                        .snapshots = options_.saves_in_background,
                                                                        .files = options_.files})) {
  const Scope beside = scope.Root().ColocateWith(options_.global_step.handle().op());
  read_global_step_ = options_.global_step.Read(beside);
  if (shares_variables()) {
    global_step_after_ = options_.global_step.Read(beside.WithControlDependencies({options_.train}));
  }
}

TrainingLoop::~TrainingLoop() = default;

absl::StatusOr<int64_t> TrainingLoop::Run(Session& session) {
  // Background work uses the session, which the caller may destroy after this call.
  const absl::Cleanup end = [this] { AwaitBackgroundWork(); };
  RETURN_IF_ERROR(Start(session));
  for (const auto& hook : options_.hooks) RETURN_IF_ERROR(hook->Begin(session, global_step_));
  RETURN_IF_ERROR(StepToEnd(session));
  for (absl::Status status = SaveAtEnd(session); !status.ok(); status = SaveAtEnd(session)) {
    ASSIGN_OR_RETURN(const bool loss, IsLoss(session, status));
    if (!loss) return status;
    const int64_t reached = global_step_;
    RETURN_IF_ERROR(Recover(session, status));
    if (global_step_ < reached) RETURN_IF_ERROR(StepToEnd(session));
  }
  EndRecovery();
  for (const auto& hook : options_.hooks) RETURN_IF_ERROR(hook->End(session, global_step_));
  return global_step_;
}

absl::Status TrainingLoop::StepToEnd(Session& session) {
  bool stop = false;
  while (!stop && (options_.max_steps == 0 || global_step_ < options_.max_steps)) {
    auto report = Step(session);
    if (absl::IsOutOfRange(report.status())) break;  // the end of the input
    absl::Status status = report.status();
    if (status.ok()) status = SaveIfDue(session);
    if (!status.ok()) {
      ASSIGN_OR_RETURN(const bool loss, IsLoss(session, status));
      if (!loss) return status;
      RETURN_IF_ERROR(Recover(session, status));
      continue;
    }
    doubted_ = false;
    EndRecovery();
    ASSIGN_OR_RETURN(stop, CallAfterStep(session, std::move(*report)));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> TrainingLoop::CallAfterStep(Session& session, StepReport report) {
  const std::vector<Tensor> of_hooks = std::move(report.hook_fetches);
  auto next = of_hooks.begin();
  bool stop = false;
  for (size_t i = 0; i < options_.hooks.size(); ++i) {
    report.hook_fetches.assign(next, next + num_hook_fetches_[i]);
    next += num_hook_fetches_[i];
    ASSIGN_OR_RETURN(const bool asked, options_.hooks[i]->AfterStep(session, report));
    stop = stop || asked;
  }
  return stop;
}

absl::Status TrainingLoop::SaveAtEnd(Session& session) {
  RETURN_IF_ERROR(PollBackgroundSave(session, true));
  return state_->is_saved() && last_saved_step_ != global_step_ ? Save(session) : absl::OkStatus();
}

// A lost task may have been restarted, without its state, before the loss was detected, or another step of the session,
// such as a save in the background, may have met the loss first. If other processes step the variables, the chief may
// already have restored them when this loop checks; if they step copies together with this loop, theirs may be lost. So
// a failure while variables are whole then counts as an error only if it recurs.
absl::StatusOr<bool> TrainingLoop::IsLoss(Session& session, const absl::Status& status) {
  if (IsTaskLoss(status)) return true;
  if (IsLeaseLost(status)) return false;
  if (!MayBeStateLoss(status)) return false;
  const absl::StatusOr<bool> whole = state_->IsWhole(session);
  if (!whole.ok()) return IsTaskLoss(whole.status());
  if (!*whole) return true;
  return steps_with_others() && !std::exchange(doubted_, true);
}

absl::Status TrainingLoop::Start(Session& session) {
  RETURN_IF_ERROR(state_->TakeLease());
  const absl::Time deadline = MonotonicNow() + options_.recovery_timeout;
  bool repeated = false;
  for (absl::Duration pause = kFirstPause;; pause = std::min(pause * 2, kMaxPause)) {
    const absl::Status status = TryStart(session);
    if (status.ok()) return status;
    if ((!IsTaskLoss(status) && Recurs(status, &repeated)) || MonotonicNow() + pause > deadline) return status;
    if (pause == kFirstPause) WEIR_LOG(INFO) << "Training waits to start: " << status.message();
    absl::SleepFor(pause);
  }
}

absl::Status TrainingLoop::TryStart(Session& session) {
  std::string restored_from;
  RETURN_IF_ERROR(state_->FillTables(session));
  RETURN_IF_ERROR(state_->Establish(session, &restored_from));
  RETURN_IF_ERROR(Resume(session));
  RETURN_IF_ERROR(ReadGlobalStep(session));
  last_saved_step_ = last_tried_step_ = restored_from.empty() ? -1 : global_step_;
  last_tried_time_ = MonotonicNow();
  // An initial checkpoint: a later failure can then always be recovered from.
  return state_->is_saved() && restored_from.empty() ? Save(session) : absl::OkStatus();
}

absl::Status TrainingLoop::Resume(Session& session) {
  if (options_.resume.valid()) RETURN_IF_ERROR(session.RunTargets({options_.resume}));
  return options_.role == TrainingRole::kReplica ? state_->FollowVariables(session) : absl::OkStatus();
}

absl::StatusOr<StepReport> TrainingLoop::Step(Session& session) {
  FeedList feeds;
  if (options_.feeds) {
    ASSIGN_OR_RETURN(feeds, options_.feeds(global_step_));
  }
  const absl::Time start = MonotonicNow();
  StepReport report;
  std::vector<Output> fetches = options_.fetches;
  RunOptions run_options;
  tensorflow::RunMetadata metadata;
  bool is_traced = false;
  num_hook_fetches_.clear();
  for (const auto& hook : options_.hooks) {
    is_traced |= hook->TracesStep(global_step_ + 1);
    const std::vector<Output> own = hook->FetchesOfStep(global_step_ + 1);
    num_hook_fetches_.push_back(static_cast<int>(own.size()));
    fetches.insert(fetches.end(), own.begin(), own.end());
  }
  if (shares_variables()) fetches.push_back(global_step_after_);
  if (is_traced) run_options->set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  ASSIGN_OR_RETURN(report.fetches,
                   session.Run(feeds, fetches, {options_.train}, run_options, is_traced ? &metadata : nullptr));
  if (is_traced) report.trace = std::make_shared<tensorflow::StepStats>(std::move(*metadata.mutable_step_stats()));
  report.duration = MonotonicNow() - start;
  ++global_step_;
  if (shares_variables()) {
    global_step_ = report.fetches.back().scalar<int64_t>();
    report.fetches.pop_back();
  }
  const auto first_of_hooks = report.fetches.begin() + static_cast<int64_t>(options_.fetches.size());
  report.hook_fetches.assign(first_of_hooks, report.fetches.end());
  report.fetches.erase(first_of_hooks, report.fetches.end());
  report.global_step = global_step_;
  return report;
}

absl::Status TrainingLoop::SaveIfDue(Session& session) {
  if (!state_->is_saved()) return absl::OkStatus();
  RETURN_IF_ERROR(PollBackgroundSave(session, false));
  if (saving_.valid()) return absl::OkStatus();
  BeginReserving(session);
  const bool by_steps = options_.checkpoint_steps > 0 && global_step_ - last_tried_step_ >= options_.checkpoint_steps;
  const bool by_time = MonotonicNow() - last_tried_time_ >= options_.checkpoint_interval;
  return by_steps || by_time ? SaveOrWarn(session) : absl::OkStatus();
}

// A full disk must not end the training: the variables are intact, and there may be room at the next save.
absl::Status TrainingLoop::SaveOrWarn(Session& session) {
  last_tried_step_ = global_step_;
  last_tried_time_ = MonotonicNow();
  return options_.saves_in_background && EndReserving() ? BeginBackgroundSave(session) : SaveBetweenSteps(session);
}

absl::Status TrainingLoop::SaveBetweenSteps(Session& session) {
  return SaveEnded(session, state_->Save(session, global_step_), global_step_);
}

absl::Status TrainingLoop::SaveEnded(Session& session, const absl::Status& status, int64_t step) {
  if (status.ok()) return Saved(session, step);
  if (!IsTrouble(status)) return status;
  WEIR_LOG(WARNING) << "Training goes on without a checkpoint of step " << step << ": " << status.message();
  for (const auto& hook : options_.hooks) hook->SaveFailed(status, step);
  return absl::OkStatus();
}

absl::Status TrainingLoop::Save(Session& session) {
  RETURN_IF_ERROR(state_->Save(session, global_step_));
  last_tried_step_ = global_step_;
  return Saved(session, global_step_);
}

absl::Status TrainingLoop::Saved(Session& session, int64_t step) {
  last_saved_step_ = step;
  last_tried_time_ = MonotonicNow();
  for (const auto& hook : options_.hooks) RETURN_IF_ERROR(hook->AfterSave(session, step));
  return absl::OkStatus();
}

absl::Status TrainingLoop::BeginBackgroundSave(Session& session) {
  const absl::Status begun = state_->BeginSave(session, global_step_);
  if (absl::IsResourceExhausted(begun)) {
    WEIR_LOG(WARNING) << "The checkpoint of step " << global_step_ << " is saved between steps: " << begun.message();
    return SaveBetweenSteps(session);
  }
  if (!begun.ok()) return SaveEnded(session, begun, global_step_);
  saving_step_ = global_step_;
  saving_ = std::async(std::launch::async, [this, &session] { return state_->FinishSave(session); });
  return absl::OkStatus();
}

// After a step: updates have shown which variables need a second buffer.
void TrainingLoop::BeginReserving(Session& session) {
  if (!options_.saves_in_background || reserving_.valid()) return;
  if (options_.background_save_limit > 0 && state_->snapshot_bytes() > options_.background_save_limit) return;
  reserving_ = std::async(std::launch::async, [this, &session] { return state_->ReserveSnapshot(session); });
}

bool TrainingLoop::EndReserving() {
  absl::Status reserved;
  if (reserving_.valid()) {
    reserved = reserving_.get();
  } else {
    reserved =
        errors::ResourceExhausted("a device has ", state_->snapshot_bytes(),
                                  " bytes of variables, but background_save_limit is ", options_.background_save_limit);
  }
  if (!absl::IsResourceExhausted(reserved)) return true;  // other errors are the save's to find
  WEIR_LOG(WARNING) << "The checkpoint of step " << global_step_ << " is saved between steps: " << reserved.message();
  return false;
}

void TrainingLoop::AwaitBackgroundWork() {
  if (saving_.valid()) saving_.get().IgnoreError();
  if (reserving_.valid()) reserving_.get().IgnoreError();
}

absl::Status TrainingLoop::PollBackgroundSave(Session& session, bool wait) {
  if (!saving_.valid()) return absl::OkStatus();
  if (!wait && saving_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return absl::OkStatus();
  return SaveEnded(session, saving_.get(), saving_step_);
}

absl::Status TrainingLoop::Recover(Session& session, const absl::Status& failure) {
  // A background save needs the same tasks, and a restore must not change the variables during it.
  AwaitBackgroundWork();
  if (!recovery_.has_value()) {
    recovery_ = Recovery{.start = MonotonicNow(), .pause = kFirstPause};
    recovery_->report.cause = failure;
    recovery_->report.failed_at = global_step_;
    for (const auto& hook : options_.hooks) hook->Failed(failure, global_step_);
  }
  absl::Status status = failure;
  bool repeated = false;
  do {
    if (MonotonicNow() + recovery_->pause > recovery_->start + options_.recovery_timeout) {
      return errors::DeadlineExceeded(
          "The cluster did not come back within ", absl::FormatDuration(options_.recovery_timeout),
          " after: ", recovery_->report.cause.message(), ". Last error: ", status.message());
    }
    absl::SleepFor(recovery_->pause);
    recovery_->pause = std::min(recovery_->pause * 2, kMaxPause);
    status = TryRecover(session, &recovery_->report.restored_from);
    if (!status.ok() && !IsTaskLoss(status) && Recurs(status, &repeated)) return status;
  } while (!status.ok());
  recovery_->report.resumed_at = global_step_;
  return absl::OkStatus();
}

void TrainingLoop::EndRecovery() {
  if (!recovery_.has_value()) return;
  recovery_->report.duration = MonotonicNow() - recovery_->start;
  for (const auto& hook : options_.hooks) hook->Recovered(recovery_->report);
  recovery_.reset();
}

absl::Status TrainingLoop::TryRecover(Session& session, std::string* restored_from) {
  RETURN_IF_ERROR(state_->FillTables(session));
  ASSIGN_OR_RETURN(bool whole, state_->IsWhole(session));
  whole = whole && !must_restore();
  if (!whole) {
    RETURN_IF_ERROR(must_restore() ? state_->Restore(session, restored_from)
                                   : state_->Establish(session, restored_from));
    last_tried_time_ = MonotonicNow();
  }
  RETURN_IF_ERROR(Resume(session));
  RETURN_IF_ERROR(ReadGlobalStep(session));
  if (!whole || global_step_ < last_tried_step_) last_saved_step_ = last_tried_step_ = global_step_;
  return absl::OkStatus();
}

absl::Status TrainingLoop::ReadGlobalStep(Session& session) {
  const absl::StatusOr<std::vector<Tensor>> result = session.Run({read_global_step_});
  if (absl::IsFailedPrecondition(result.status()) && recovery_.has_value()) {
    return errors::Unavailable("The variables were lost during the recovery: ", result.status().message());
  }
  RETURN_IF_ERROR(result.status());
  global_step_ = (*result)[0].scalar<int64_t>();
  return absl::OkStatus();
}

}  // namespace weir
