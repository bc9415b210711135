// Checkpoints and recovery, with a session that fails on demand.

#include "client/training_loop.h"

#include "client/forwarding_session_testing.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tensorflow/core/protobuf/master.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// A local session that fails selected runs, and can lose its variables like a restarted task.
class FlakySession : public ForwardingSession {
 public:
  FlakySession(const Scope& scope, std::unique_ptr<Session> session)
      : ForwardingSession(std::move(session)), scope_(scope) {}

  using Session::Run;
  absl::StatusOr<std::vector<Tensor>> Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                          const std::vector<Operation>& targets, const tensorflow::RunOptions& options,
                                          tensorflow::RunMetadata* metadata) override {
    if (fail_next_ > 0) {
      --fail_next_;
      return errors::Unavailable("task /job:ps/task:1 is gone");
    }
    return ForwardingSession::Run(feeds, fetches, targets, options, metadata);
  }

  void Fail(int runs) { fail_next_ = runs; }
  void LoseVariables() { session_ = Session::Local(scope_).value(); }

 private:
  const Scope scope_;
  int fail_next_ = 0;
};

class AtStep : public TrainingHook {
 public:
  AtStep(int64_t step, std::function<void()> action) : step_(step), action_(std::move(action)) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    steps.push_back(report.global_step);
    if (report.global_step == step_ && !done_) {
      done_ = true;
      action_();
    }
    return false;
  }
  void Recovered(const RecoveryReport& report) override { recoveries.push_back(report); }

  std::vector<int64_t> steps;
  std::vector<RecoveryReport> recoveries;

 private:
  const int64_t step_;
  const std::function<void()> action_;
  bool done_ = false;
};

// total += 1 with each step.
class TrainingLoopTest : public ::testing::Test {
 protected:
  TrainingLoopTest() {
    step_ = GlobalStep(scope_);
    total_ = ResourceVariable::Make(scope_.WithName("total"), TensorShape(), DT_FLOAT, initializers::Zeros());
    const Operation add = total_.AssignAdd(scope_, 1.0f);
    options_.train = step_.AssignAdd(scope_.WithControlDependencies({add}), int64_t{1});
    options_.global_step = step_;
    options_.recovery_timeout = absl::Seconds(5);
    options_.checkpoint_dir = directory_.path();
    options_.checkpoint_steps = 4;
  }

  // Trains to step 10; `action` happens after step 6.
  absl::StatusOr<int64_t> Train(std::function<void()> action) {
    hook_ = std::make_shared<AtStep>(6, std::move(action));
    options_.hooks = {hook_, StopAtStepHook(10)};
    TrainingLoop loop(scope_, options_);
    if (session_ == nullptr) session_ = std::make_unique<FlakySession>(scope_, Session::Local(scope_).value());
    return loop.Run(*session_);
  }
  float Total() { return session_->Run({total_.value()}).value()[0].scalar<float>(); }

  Scope scope_ = Scope::NewRoot();
  ResourceVariable step_, total_;
  TrainingLoopOptions options_;
  ScratchDirectory directory_;
  std::unique_ptr<FlakySession> session_;
  std::shared_ptr<AtStep> hook_;
};

TEST_F(TrainingLoopTest, RunsToTheLastStepAndSaves) {
  ASSERT_OK_AND_ASSIGN(int64_t reached, Train([] {}));
  EXPECT_EQ(reached, 10);
  EXPECT_EQ(Total(), 10);
}

class FailingSave : public TrainingHook {
 public:
  absl::Status AfterSave(Session&, int64_t global_step) override {
    return global_step == 4 ? errors::OutOfRange("no room for the export") : absl::OkStatus();
  }
};

TEST_F(TrainingLoopTest, AHooksErrorIsNotTheEndOfTheInput) {
  options_.hooks = {std::make_shared<FailingSave>(), StopAtStepHook(10)};
  TrainingLoop loop(scope_, options_);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope_));
  EXPECT_THAT(loop.Run(*session), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("no room for the export")));
}

TEST_F(TrainingLoopTest, GoesOnWhereItWasWhenTheStateIsStillThere) {
  ASSERT_THAT(Train([this] { session_->Fail(3); }), IsOk());
  EXPECT_EQ(Total(), 10);
  ASSERT_EQ(hook_->recoveries.size(), 1);
  EXPECT_EQ(hook_->recoveries[0].restored_from, "");
  EXPECT_THAT(hook_->recoveries[0].cause, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/job:ps/task:1")));
}

TEST_F(TrainingLoopTest, RestoresTheNewestCheckpointWhenTheStateIsLost) {
  ASSERT_THAT(Train([this] {
                session_->LoseVariables();
                session_->Fail(1);
              }),
              IsOk());
  EXPECT_EQ(Total(), 10);
  ASSERT_EQ(hook_->recoveries.size(), 1);
  EXPECT_THAT(hook_->recoveries[0].restored_from, HasSubstr("model.ckpt-4"));
  EXPECT_EQ(hook_->recoveries[0].resumed_at, 4);
  EXPECT_THAT(hook_->steps, ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 5, 6, 7, 8, 9, 10));
}

TEST_F(TrainingLoopTest, AnotherProgramResumesFromTheDirectory) {
  ASSERT_THAT(Train([] {}), IsOk());
  session_->LoseVariables();
  options_.hooks = {StopAtStepHook(11)};
  TrainingLoop loop(scope_, options_);
  ASSERT_OK_AND_ASSIGN(int64_t reached, loop.Run(*session_));
  EXPECT_EQ(reached, 11);
  EXPECT_EQ(Total(), 11);
}

TEST_F(TrainingLoopTest, GivesUpAfterTheRecoveryTimeout) {
  options_.recovery_timeout = absl::Milliseconds(200);
  EXPECT_THAT(Train([this] { session_->Fail(1000); }),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("did not come back")));
}

}  // namespace
}  // namespace weir
