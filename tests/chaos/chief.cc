#include "tests/chaos/chief.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "absl/time/clock.h"
#include "client/session.h"
#include "client/training_loop.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/clock.h"
#include "tests/chaos/job.h"

namespace weir::chaos {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr absl::Duration kPause = absl::Milliseconds(20);  // between attempts to connect

class ProgressPipe {
 public:
  explicit ProgressPipe(const std::string& directory)
      : file_(open((directory + "/progress").c_str(), O_WRONLY | O_CLOEXEC)) {}
  ~ProgressPipe() {
    if (file_ >= 0) close(file_);
  }
  ProgressPipe(const ProgressPipe&) = delete;

  absl::Status Send(Progress::Kind kind, int64_t step) {
    const Progress message{.kind = kind, .step = step};
    if (write(file_, &message, sizeof(message)) == sizeof(message)) return absl::OkStatus();
    return errors::Internal("cannot write to the pipe \"progress\"");
  }

 private:
  const int file_;
};

class ProgressHook : public TrainingHook {
 public:
  explicit ProgressHook(ProgressPipe* pipe) : pipe_(pipe) {}
  absl::Status Begin(Session&, int64_t step) override { return pipe_->Send(Progress::kBegun, step); }
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    RETURN_IF_ERROR(pipe_->Send(Progress::kStep, report.global_step));
    return false;
  }
  absl::Status AfterSave(Session&, int64_t step) override { return pipe_->Send(Progress::kSaved, step); }
  void Recovered(const RecoveryReport& report) override {
    std::printf("recovered in %lld ms at step %lld from \"%s\" after: %s\n",
                static_cast<long long>(absl::ToInt64Milliseconds(report.duration)),
                static_cast<long long>(report.resumed_at), report.restored_from.c_str(),
                report.cause.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
    std::fflush(stdout);
  }

 private:
  ProgressPipe* const pipe_;
};

// No state, but a save begins with it.
class SaveNotice : public TrainingState {
 public:
  explicit SaveNotice(ProgressPipe* pipe) : pipe_(pipe) {}
  absl::Status Initialize(Session&) override { return absl::OkStatus(); }
  absl::StatusOr<bool> IsWhole(Session&) override { return true; }
  absl::Status Save(Session&, const std::string& checkpoint, const CheckpointLease*) override {
    const auto split = SplitCheckpointStep(checkpoint);
    return pipe_->Send(Progress::kSaving, split ? split->second : -1);
  }
  absl::StatusOr<std::vector<std::string>> SavedAs(const std::string&) override { return std::vector<std::string>(); }
  absl::Status Restore(Session&, const std::string&) override { return absl::OkStatus(); }

 private:
  ProgressPipe* const pipe_;
};

// The master may be starting again.
absl::StatusOr<std::unique_ptr<Session>> Connect(const std::string& target, const Scope& scope) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Connect(target, scope);
  for (const absl::Time end = MonotonicNow() + kPatience; absl::IsUnavailable(session.status());
       session = Session::Connect(target, scope)) {
    if (MonotonicNow() > end) break;
    absl::SleepFor(kPause);
  }
  return session;
}

}  // namespace

absl::Status RunChief(const ChiefOptions& options) {
  ProgressPipe pipe(options.directory);
  const Scope scope = Scope::NewRoot();
  const Job job = BuildJob(scope, options.steps);
  TrainingLoopOptions loop_options;
  loop_options.train = job.train;
  loop_options.global_step = job.global_step;
  loop_options.max_steps = options.steps;
  loop_options.checkpoint_dir = options.directory + "/checkpoints";
  loop_options.checkpoint_steps = options.checkpoint_steps;
  loop_options.saves_in_background = options.background;
  loop_options.max_to_keep = 3;
  loop_options.recovery_timeout = kPatience;
  loop_options.hooks = {std::make_shared<ProgressHook>(&pipe)};
  loop_options.states = {std::make_shared<SaveNotice>(&pipe)};
  loop_options.feeds = [&job](int64_t step) -> absl::StatusOr<FeedList> { return FeedsOf(job, step); };
  TrainingLoop loop(scope, loop_options);
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Connect(options.target, scope));
  ASSIGN_OR_RETURN(const int64_t reached, loop.Run(*session));
  RETURN_IF_ERROR(pipe.Send(Progress::kEnded, reached));
  return session->Close();
}

}  // namespace weir::chaos
