// Checkpoints and recovery, with a session that fails on demand.

#include "client/training_loop.h"

#include <deque>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "client/forwarding_session_testing.h"
#include "client/initializers.h"
#include "client/lookup/static_hash_table.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "core/checkpoint/checkpoint_state.h"
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
                                          const std::vector<Operation>& targets, const RunOptions& options,
                                          tensorflow::RunMetadata* metadata) override {
    if (!next_failures_.empty()) {
      const absl::Status failure = next_failures_.front();
      next_failures_.pop_front();
      return failure;
    }
    const bool saves = !targets.empty() && absl::StrContains(targets[0].name(), "MergeV2Checkpoints");
    if (saves && --saves_before_loss_ == 0) {
      LoseVariables();
      return errors::Unavailable("task /job:ps/task:1 is gone");
    }
    if (saves && disk_is_full_) {
      return errors::ResourceExhausted("No space left on device");
    }
    return ForwardingSession::Run(feeds, fetches, targets, options, metadata);
  }

  void Fail(int runs) { next_failures_.assign(runs, errors::Unavailable("task /job:ps/task:1 is gone")); }
  void Fail(std::deque<absl::Status> next_runs) { next_failures_ = std::move(next_runs); }
  void FillDisk(bool full) { disk_is_full_ = full; }
  void LoseVariables() { session_ = Session::Local(scope_).value(); }
  // Loses the variables in this save, counted from 1.
  void LoseVariablesInSave(int save) { saves_before_loss_ = save; }

 private:
  const Scope scope_;
  std::deque<absl::Status> next_failures_;
  bool disk_is_full_ = false;
  int saves_before_loss_ = 0;
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
  void SaveFailed(const absl::Status& cause, int64_t) override {
    failed_saves.push_back(cause);
    if (after_failed_save) after_failed_save();
  }

  std::vector<int64_t> steps;
  std::vector<RecoveryReport> recoveries;
  std::vector<absl::Status> failed_saves;
  std::function<void()> after_failed_save;

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
    options_.recovery_timeout = absl::Minutes(1);
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
  // Trains on to step 11 with another loop.
  absl::StatusOr<int64_t> Resume() {
    hook_ = std::make_shared<AtStep>(0, [] {});
    options_.hooks = {hook_, StopAtStepHook(11)};
    TrainingLoop loop(scope_, options_);
    return loop.Run(*session_);
  }
  void FlipBit(const std::string& checkpoint) {
    std::fstream file(directory_.Path(checkpoint + ".data-00000-of-00001"),
                      std::ios::in | std::ios::out | std::ios::binary);
    char byte = 0;
    file.get(byte);
    file.seekp(0);
    file.put(static_cast<char>(byte ^ 4));
    ASSERT_TRUE(file.flush());
  }
  float Total() { return session_->Run({total_.value()}).value()[0].scalar<float>(); }

  Scope scope_ = Scope::NewRoot();
  ResourceVariable step_, total_;
  TrainingLoopOptions options_;
  ScratchDirectory directory_;
  const std::shared_ptr<FileSystemRegistry> registry_ = FileSystemRegistry::Default();
  FileSystem* const files_ = registry_->Find("/").value();
  std::unique_ptr<FlakySession> session_;
  std::shared_ptr<AtStep> hook_;
};

TEST_F(TrainingLoopTest, TablesAreFilledAtTheStartAndAfterALoss) {
  const auto table = StaticHashTable::FromTensors(scope_, Tensor::Vector<int64_t>({1}), Tensor::Vector<float>({2}), 0);
  const Output value = table.Lookup(scope_, Tensor::Scalar<int64_t>(1));
  options_.train = total_.AssignAdd(scope_.WithControlDependencies({options_.train}), value);
  ASSERT_OK_AND_ASSIGN(int64_t reached, Train([&] {
                         session_->LoseVariables();
                         session_->Fail(1);
                       }));
  EXPECT_EQ(reached, 10);
  EXPECT_EQ(hook_->recoveries.size(), 1u);
  EXPECT_EQ(Total(), 30);
}

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

TEST_F(TrainingLoopTest, RestoresStateThatIsStillThereIfTheOptionsSaySo) {
  for (const TrainingRole role : {TrainingRole::kOnly, TrainingRole::kChief}) {
    session_ = nullptr;
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directory(directory_.path());
    options_.restore_after_failure = true;
    options_.role = role;
    ASSERT_THAT(Train([this] { session_->Fail(3); }), IsOk());
    EXPECT_EQ(Total(), 10);
    ASSERT_EQ(hook_->recoveries.size(), 1);
    EXPECT_THAT(hook_->recoveries[0].restored_from, HasSubstr("model.ckpt-4"));
    EXPECT_THAT(hook_->steps, ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 5, 6, 7, 8, 9, 10));
  }
}

// With collectives, the peer's loop restores them.
TEST_F(TrainingLoopTest, VariablesThatAPeerHasLostAreAwaitedOnce) {
  const absl::Status lost = errors::FailedPrecondition("From collective member 1: variable 'total' has no value");
  const absl::Status gone = errors::Unavailable("task /job:ps/task:1 is gone");
  const auto train = [&](const std::deque<absl::Status>& failures) {
    session_ = nullptr;
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directory(directory_.path());
    return Train([&] { session_->Fail(failures); });
  };
  EXPECT_THAT(train({lost}), StatusIs(absl::StatusCode::kFailedPrecondition));
  options_.resume = ops::NoOp(scope_.WithName("resume"));
  for (const std::deque<absl::Status>& failures : {std::deque<absl::Status>{lost}, {gone, lost}}) {
    ASSERT_THAT(train(failures), IsOk());
    EXPECT_EQ(Total(), 10);
    EXPECT_EQ(hook_->recoveries.size(), 1);
  }
  EXPECT_THAT(train({gone, lost, lost}), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(TrainingLoopTest, ATaskThatIsLostInTheLastSaveCostsNoStep) {
  // The saves before are those of steps 0, 4 and 8.
  session_ = std::make_unique<FlakySession>(scope_, Session::Local(scope_).value());
  session_->LoseVariablesInSave(4);
  ASSERT_OK_AND_ASSIGN(const int64_t reached, Train([] {}));
  EXPECT_EQ(reached, 10);
  EXPECT_EQ(Total(), 10);
  EXPECT_THAT(hook_->steps, ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9, 10));
  EXPECT_THAT(*LatestCheckpoint(files_, directory_.path()), HasSubstr("model.ckpt-10"));
}

TEST_F(TrainingLoopTest, ATaskThatIsLostAtTheStartIsAwaited) {
  session_ = std::make_unique<FlakySession>(scope_, Session::Local(scope_).value());
  session_->Fail(3);
  ASSERT_THAT(Train([] {}), IsOk());
  EXPECT_EQ(Total(), 10);
}

TEST_F(TrainingLoopTest, ATaskThatIsLostInTheFirstSaveIsAwaited) {
  session_ = std::make_unique<FlakySession>(scope_, Session::Local(scope_).value());
  session_->LoseVariablesInSave(1);
  ASSERT_THAT(Train([] {}), IsOk());
  EXPECT_EQ(Total(), 10);
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

TEST_F(TrainingLoopTest, ADamagedCheckpointIsPassedOver) {
  ASSERT_THAT(Train([] {}), IsOk());
  session_->LoseVariables();
  FlipBit("model.ckpt-10");
  FlipBit("model.ckpt-8");
  ASSERT_OK_AND_ASSIGN(int64_t reached, Resume());
  EXPECT_EQ(reached, 11);
  EXPECT_EQ(hook_->steps.front(), 5);
  EXPECT_EQ(Total(), 11);
}

TEST_F(TrainingLoopTest, DamagedCheckpointsDoNotStartFromInitialValues) {
  ASSERT_THAT(Train([] {}), IsOk());
  session_->LoseVariables();
  for (const char* checkpoint : {"model.ckpt-0", "model.ckpt-4", "model.ckpt-8", "model.ckpt-10"}) FlipBit(checkpoint);
  EXPECT_THAT(Resume(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("None of the 4 checkpoints in")));
}

TEST_F(TrainingLoopTest, AFullDiskDoesNotEndTheTraining) {
  ASSERT_THAT(Train([this] {
                session_->FillDisk(true);
                hook_->after_failed_save = [this] { session_->FillDisk(false); };
              }),
              IsOk());
  EXPECT_EQ(Total(), 10);
  ASSERT_EQ(hook_->failed_saves.size(), 1);
  EXPECT_THAT(hook_->failed_saves[0], StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(*LatestCheckpoint(files_, directory_.path()), HasSubstr("model.ckpt-10"));
}

TEST_F(TrainingLoopTest, TheLastSaveMustSucceed) {
  EXPECT_THAT(Train([this] { session_->FillDisk(true); }), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(TrainingLoopTest, ARestoreThatWasCutShortIsRepeated) {
  options_.role = TrainingRole::kChief;
  ASSERT_THAT(Train([] {}), IsOk());
  // The state that a chief leaves if it dies in the middle of a restore.
  ASSERT_THAT(session_->RunNamed({{"restore_mark/value:0", Tensor::Scalar<tstring>("cut short")}}, {},
                                 {"restore_mark/begin"}, {}, nullptr),
              IsOk());
  ASSERT_THAT(session_->RunTargets({total_.Assign(scope_, 3.0f)}), IsOk());
  ASSERT_THAT(Resume(), IsOk());
  EXPECT_EQ(Total(), 11);
}

TEST_F(TrainingLoopTest, LeftoversOfAKilledSaveAreRemoved) {
  const std::string left = directory_.Path("model.ckpt-3_temp_0123456789abcdef");
  const std::string other = directory_.Path("model.ckpt-three_temp_0123456789abcdef");
  const std::string data = directory_.Path("model.ckpt-3.data-00000-of-00001");
  std::ofstream(data) << "renamed before the index was";
  for (const std::string& folder : {left, other}) std::filesystem::create_directory(folder);
  std::ofstream(left + "/part-00000-of-00001.index") << "x";
  ASSERT_THAT(Train([] {}), IsOk());
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_FALSE(std::filesystem::exists(data));
  EXPECT_TRUE(std::filesystem::exists(other));
}

// The number of examples that were read, kept by each loop for itself.
Saveable Position(const Scope& scope) {
  const Output position = ops::VarHandleOp(scope.WithName("position"), DT_INT64, TensorShape(), {.shared_name = "p"});
  Saveable saveable;
  saveable.name = "position";
  saveable.dtype = DT_INT64;
  saveable.save = [position](const Scope& at) { return ops::ReadVariableOp(at, position, DT_INT64); };
  saveable.restore = [position](const Scope& at, const Output& value) {
    return ops::AssignVariableOp(at, position, value);
  };
  saveable.is_initialized = ops::VarIsInitializedOp(scope, position);
  saveable.initializer = ops::AssignVariableOp(scope, position, Tensor::Scalar<int64_t>(0));
  return saveable;
}

TEST_F(TrainingLoopTest, AnInputPositionIsNeverNewerThanTheVariables) {
  options_.role = TrainingRole::kChief;
  options_.saveables = {Position(scope_)};
  const Output position =
      ops::VarHandleOp(scope_.WithName("position_too"), DT_INT64, TensorShape(), {.shared_name = "p"});
  const Operation read = ops::AssignAddVariableOp(scope_, position, Tensor::Scalar<int64_t>(1));
  options_.train = ops::NoOp(scope_.WithControlDependencies({options_.train, read}));
  ASSERT_THAT(Train([] {}), IsOk());
  session_->LoseVariables();
  // As if the process had been killed between the two saves.
  ASSERT_THAT(DeleteCheckpoint(files_, directory_.Path("model.ckpt-10")), IsOk());
  ASSERT_THAT(Resume(), IsOk());
  EXPECT_EQ(Total(), 11);
  const Output value = ops::ReadVariableOp(scope_, position, DT_INT64);
  EXPECT_EQ(session_->Run({value}).value()[0].scalar<int64_t>(), 11);
}

TEST_F(TrainingLoopTest, GivesUpAfterTheRecoveryTimeout) {
  options_.recovery_timeout = absl::Milliseconds(200);
  EXPECT_THAT(Train([this] { session_->Fail(1000); }),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("did not come back")));
}

}  // namespace
}  // namespace weir
