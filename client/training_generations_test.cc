// Checkpoints of training loops: two writers of one directory, kills at every write, positions that follow variables.

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "client/checkpoint/recoverable_state.h"
#include "client/forwarding_session_testing.h"
#include "client/initializers.h"
#include "client/local_runtime.h"
#include "client/master_session_client.h"
#include "client/ops.h"
#include "client/training_loop.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/manifest.h"
#include "core/files/fault_injecting_file_system.h"
#include "core/testing.h"
#include "kernels/device/gpu/machine_gpus.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kDir[] = "/d";

constexpr int64_t kMany = 5000;

Tensor Ones(float value = 1) {
  Tensor ones(DT_FLOAT, TensorShape({kMany}));
  std::fill_n(ones.data<float>(), kMany, value);
  return ones;
}

Tensor FirstElement(float value) {
  Tensor elements = Ones(0);
  elements.data<float>()[0] = value;
  return elements;
}

// Example k is the number k: the position counts the examples that were read, the total adds them up. Two larger
// variables count the steps in each element and in the first.
struct Program {
  explicit Program(TrainingRole role, std::shared_ptr<FileSystemRegistry> files) {
    step = GlobalStep(scope);
    total = ResourceVariable::Make(scope.WithName("total"), TensorShape(), DT_INT64,
                                   initializers::Value(Tensor::Scalar<int64_t>(0)));
    position = ops::VarHandleOp(scope.WithName("position"), DT_INT64, TensorShape(), {.shared_name = "position"});
    read_position = ops::ReadVariableOp(scope, position, DT_INT64);
    const Operation add = total.AssignAdd(scope, read_position);
    const Operation advance =
        ops::AssignAddVariableOp(scope.WithControlDependencies({add}), position, Tensor::Scalar<int64_t>(1));
    many = ResourceVariable::Make(scope.WithName("many"), TensorShape({kMany}), DT_FLOAT, initializers::Zeros());
    const Operation add_many = many.AssignAdd(scope, scope.Constant(Ones()));
    rows = ResourceVariable::Make(scope.WithName("rows"), TensorShape({kMany}), DT_FLOAT, initializers::Zeros());
    const Operation add_row =
        ops::ResourceScatterAdd(scope, rows.handle(), Tensor::Vector<int32_t>({0}), Tensor::Vector<float>({1}));
    options.train = step.AssignAdd(scope.WithControlDependencies({advance, add_many, add_row}), int64_t{1});
    options.global_step = step;
    options.checkpoint_dir = kDir;
    options.checkpoint_steps = 2;
    options.max_to_keep = 2;
    options.role = role;
    options.recovery_timeout = absl::Seconds(5);
    options.files = files;
    Saveable saveable;
    saveable.name = "position";
    saveable.dtype = DT_INT64;
    saveable.save = [this](const Scope& at) { return ops::ReadVariableOp(at, position, DT_INT64); };
    saveable.restore = [this](const Scope& at, const Output& value) {
      return ops::AssignVariableOp(at, position, value);
    };
    saveable.is_initialized = ops::VarIsInitializedOp(scope, position);
    saveable.initializer = ops::AssignVariableOp(scope, position, Tensor::Scalar<int64_t>(0));
    options.saveables = {saveable};
  }

  RecoverableStateOptions StateOptions(const std::string& name) const {
    return {.role = options.role,
            .checkpoint_dir = kDir,
            .saveables = options.saveables,
            .name = name,
            .global_step = step,
            .files = options.files};
  }

  Scope scope = Scope::NewRoot();
  ResourceVariable step, total, many, rows;
  Output position, read_position;
  TrainingLoopOptions options;
};

// Global step, position and total.
struct Counts {
  int64_t step = 0, position = 0, total = 0;
  // Whether each example before the position was seen exactly once.
  bool AreExact() const { return position == step && total == step * (step - 1) / 2; }
};

absl::StatusOr<Counts> Read(const Program& program, Session& session) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> read,
                   session.Run({program.step.value(), program.read_position, program.total.value()}));
  return Counts{read[0].scalar<int64_t>(), read[1].scalar<int64_t>(), read[2].scalar<int64_t>()};
}

// Calls something before or after the tasks write a checkpoint.
class HeldSession : public ForwardingSession {
 public:
  using ForwardingSession::ForwardingSession;
  using Session::Run;
  absl::StatusOr<std::vector<Tensor>> Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                          const std::vector<Operation>& targets, const RunOptions& options,
                                          tensorflow::RunMetadata* metadata) override {
    const bool saves = !targets.empty() && absl::StrContains(targets[0].name(), "MergeV2Checkpoints");
    if (saves && before_save) before_save();
    auto result = ForwardingSession::Run(feeds, fetches, targets, options, metadata);
    if (saves && after_save) after_save();
    return result;
  }
  std::function<void()> before_save, after_save;
};

class AtStep : public TrainingHook {
 public:
  AtStep(int64_t step, std::function<void()> action) : step_(step), action_(std::move(action)) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    if (report.global_step == step_) action_();
    return false;
  }

 private:
  const int64_t step_;
  const std::function<void()> action_;
};

class AtBegin : public TrainingHook {
 public:
  explicit AtBegin(std::function<void(Session&)> action) : action_(std::move(action)) {}
  absl::Status Begin(Session& session, int64_t) override {
    action_(session);
    return absl::OkStatus();
  }

 private:
  const std::function<void(Session&)> action_;
};

class TrainingGenerationsTest : public ::testing::Test {
 protected:
  TrainingGenerationsTest() { EXPECT_THAT(registry_->Register("", faulty_), IsOk()); }

  // A session whose tasks use the same files as the client.
  absl::StatusOr<std::unique_ptr<Session>> Open(const Scope& scope) {
    ASSIGN_OR_RETURN(std::shared_ptr<LocalRuntime> runtime, LocalRuntime::Create({}, MachineGpus()));
    for (const auto& device : runtime->devices()) device->set_file_systems(registry_);
    std::shared_ptr<MasterInterface> master(runtime, runtime->master());
    return MasterSessionClient::Create(std::move(master), std::move(runtime), scope, {});
  }
  absl::StatusOr<Counts> Train(Program& program, int64_t last, Session* session = nullptr) {
    program.options.hooks.push_back(StopAtStepHook(last));
    TrainingLoop loop(program.scope, program.options);
    std::unique_ptr<Session> own;
    if (session == nullptr) {
      ASSIGN_OR_RETURN(own, Open(program.scope));
      session = own.get();
    }
    RETURN_IF_ERROR(loop.Run(*session).status());
    return Read(program, *session);
  }
  void LoseTheLease(TrainingRole role, bool before, bool background);
  void Clear() { memory_->DeleteRecursively(kDir).IgnoreError(); }
  std::vector<std::string> Content() { return memory_->List(kDir).value(); }

  const std::shared_ptr<FileSystem> memory_ = NewMemoryFileSystem();
  const std::shared_ptr<FaultInjectingFileSystem> faulty_ = std::make_shared<FaultInjectingFileSystem>(memory_.get());
  const std::shared_ptr<FileSystemRegistry> registry_ = std::make_shared<FileSystemRegistry>();
};

// The third save of a loop, of step 4, is held until another loop has taken over and finished.
void TrainingGenerationsTest::LoseTheLease(TrainingRole role, bool before, bool background) {
  Clear();
  Program loser(role, registry_), winner(role, registry_);
  loser.options.saves_in_background = background;
  winner.options.task_name = "chief-of-the-other-side";
  ASSERT_OK_AND_ASSIGN(auto inner, Open(loser.scope));
  HeldSession held(std::move(inner));
  int saves = 0;
  std::vector<std::string> left;
  CheckpointState state;
  const auto hold = [&] {
    if (++saves != 3) return;
    ASSERT_OK_AND_ASSIGN(const Counts counts, Train(winner, 9));
    EXPECT_TRUE(counts.AreExact());
    ASSERT_OK_AND_ASSIGN(state, ReadCheckpointState(memory_.get(), kDir));
    left = Content();
  };
  (before ? held.before_save : held.after_save) = hold;
  const absl::Status lost = Train(loser, 100, &held).status();
  EXPECT_TRUE(IsLeaseLost(lost)) << lost;
  EXPECT_THAT(lost, StatusIs(absl::StatusCode::kFailedPrecondition,
                             HasSubstr(role == TrainingRole::kOnly ? "training" : "chief-of-the-other-side")));
  EXPECT_EQ(saves, 3);
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(Content(), left);
  EXPECT_EQ(ReadCheckpointState(memory_.get(), kDir)->latest, state.latest);
  EXPECT_THAT(state.latest, HasSubstr("model.ckpt-9"));
  for (const std::string& prefix : state.all) {
    ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, ReadManifest(memory_.get(), prefix));
    EXPECT_THAT(VerifyManifest(memory_.get(), prefix, manifest), IsOk());
    EXPECT_EQ(manifest.token(), 2);
  }
}

TEST_F(TrainingGenerationsTest, TheLoserOfTwoChiefsStopsAndLeavesTheWinnersFiles) {
  for (const TrainingRole role : {TrainingRole::kOnly, TrainingRole::kChief}) {
    for (const bool before : {true, false}) {
      for (const bool background : {false, true}) LoseTheLease(role, before, background);
    }
  }
}

TEST_F(TrainingGenerationsTest, AChiefThatLostTheLeaseRestoresNothing) {
  Program program(TrainingRole::kChief, registry_);
  ASSERT_OK_AND_ASSIGN(const auto session, Open(program.scope));
  RecoverableState old(program.scope, program.StateOptions("chief-0"));
  ASSERT_THAT(old.TakeLease(), IsOk());
  std::string from;
  ASSERT_THAT(old.Establish(*session, &from), IsOk());
  ASSERT_THAT(old.Save(*session, 0), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto taken, CheckpointLease::Take(memory_.get(), kDir, {.holder = "chief-0"}));
  ASSERT_THAT(session->RunTargets({ops::DestroyResourceOp(program.scope, program.position)}), IsOk());
  ASSERT_THAT(session->RunTargets({ops::DestroyResourceOp(program.scope, program.total.handle())}), IsOk());
  EXPECT_TRUE(IsLeaseLost(old.Establish(*session, &from)));
  EXPECT_THAT(session->Run({program.total.value()}).status(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

struct Kill {
  TrainingRole role;
  bool machine;  // loses what was not synced
};

class KilledSaveTest : public TrainingGenerationsTest, public ::testing::WithParamInterface<Kill> {};
INSTANTIATE_TEST_SUITE_P(All, KilledSaveTest,
                         ::testing::Values(Kill{TrainingRole::kOnly, false}, Kill{TrainingRole::kChief, true}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.role == TrainingRole::kOnly ? "Only" : "Chief",
                                               info.param.machine ? "Machine" : "Process");
                         });

// A loop is killed at each write of its save of step 4. The next one continues at a step, with exactly the examples
// that belong to it.
TEST_P(KilledSaveTest, EachExampleIsSeenOnce) {
  std::set<int64_t> restored;
  bool killed = true;
  int64_t kills = 0;
  for (; killed; ++kills) {
    Clear();
    Program first(GetParam().role, registry_);
    first.options.hooks = {std::make_shared<AtStep>(
        3, [&] { faulty_->Inject({.at = kills, .error = errors::InvalidArgument("killed")}); })};
    const absl::Status end = Train(first, 4).status();
    killed = faulty_->fault_happened();
    EXPECT_TRUE(end.ok() || killed) << end;
    faulty_->Heal();
    if (GetParam().machine) {
      ASSERT_THAT(faulty_->DropUnsyncedData(), IsOk());
    }

    Program second(GetParam().role, registry_);
    second.options.hooks = {std::make_shared<AtBegin>([&](Session& session) {
      ASSERT_OK_AND_ASSIGN(const Counts counts, Read(second, session));
      EXPECT_TRUE(counts.AreExact()) << counts.step << " " << counts.position << " " << counts.total;
      restored.insert(counts.step);
    })};
    ASSERT_OK_AND_ASSIGN(const Counts counts, Train(second, 9));
    EXPECT_EQ(counts.step, 9);
    EXPECT_TRUE(counts.AreExact()) << kills;
    // Two generations of three files, the list, the lease and its lock.
    EXPECT_EQ(Content().size(), 9) << kills << ": " << absl::StrJoin(Content(), " ");
  }
  EXPECT_GT(kills, 20);
  EXPECT_THAT(restored, ::testing::ElementsAre(2, 4));
}

// The save of step 2 waits for step 3, once before it has copied what it shares with the variables, once afterwards.
TEST_F(TrainingGenerationsTest, ABackgroundSaveIsOfOneMomentThoughStepsGoOn) {
  Program program(TrainingRole::kOnly, registry_);
  program.options.saves_in_background = true;
  std::promise<void> fourth;
  std::atomic<int> saves = 0;
  program.options.hooks = {std::make_shared<AtStep>(4, [&] { fourth.set_value(); })};
  ASSERT_OK_AND_ASSIGN(auto inner, Open(program.scope));
  HeldSession held(std::move(inner));
  held.before_save = [&] {
    if (++saves != 2) return;
    EXPECT_EQ(fourth.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
  };
  ASSERT_OK_AND_ASSIGN(const Counts counts, Train(program, 5, &held));
  EXPECT_TRUE(counts.AreExact());
  EXPECT_GE(saves, 3);
  for (const int64_t step : {2, 5}) {
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         BundleReader::Open(memory_.get(), absl::StrCat(kDir, "/model.ckpt-", step)));
    EXPECT_EQ(reader->Read("position")->scalar<int64_t>(), step);
    EXPECT_EQ(reader->Read("total")->scalar<int64_t>(), step * (step - 1) / 2);
    ExpectTensorEqual(*reader->Read("many"), Ones(static_cast<float>(step)));
    ExpectTensorEqual(*reader->Read("rows"), FirstElement(static_cast<float>(step)));
  }
}

TEST_F(TrainingGenerationsTest, VariablesBeyondTheLimitAreSavedBetweenSteps) {
  Program program(TrainingRole::kOnly, registry_);
  program.options.saves_in_background = true;
  program.options.background_save_limit = kMany;  // bytes; each of two variables has four times as many
  ASSERT_OK_AND_ASSIGN(auto inner, Open(program.scope));
  HeldSession held(std::move(inner));
  const std::thread::id caller = std::this_thread::get_id();
  int saves = 0;
  held.before_save = [&] {
    ++saves;
    EXPECT_EQ(std::this_thread::get_id(), caller);
  };
  ASSERT_OK_AND_ASSIGN(const Counts counts, Train(program, 4, &held));
  EXPECT_TRUE(counts.AreExact());
  EXPECT_EQ(saves, 3);
}

TEST_F(TrainingGenerationsTest, AFullDiskInTheBackgroundDoesNotEndTheTraining) {
  Program program(TrainingRole::kOnly, registry_);
  program.options.saves_in_background = true;
  ASSERT_OK_AND_ASSIGN(auto inner, Open(program.scope));
  HeldSession held(std::move(inner));
  std::atomic<int> saves = 0;
  held.before_save = [&] {
    if (++saves != 2) return;  // of step 2: the loop makes the first before its steps
    faulty_->Inject({.kinds = {FaultInjectingFileSystem::kAppend},
                     .crash = false,
                     .error = errors::ResourceExhausted("No space left on device")});
  };
  ASSERT_OK_AND_ASSIGN(const Counts counts, Train(program, 8, &held));
  EXPECT_TRUE(faulty_->fault_happened());
  EXPECT_TRUE(counts.AreExact());
  EXPECT_EQ(*LatestCheckpoint(memory_.get(), kDir), absl::StrCat(kDir, "/model.ckpt-8"));
  EXPECT_FALSE(memory_->Exists(absl::StrCat(kDir, "/model.ckpt-2.index")));
}

TEST_F(TrainingGenerationsTest, AChiefsPositionIsInTheCheckpointOfTheVariables) {
  Program program(TrainingRole::kChief, registry_);
  ASSERT_THAT(Train(program, 6), IsOk());
  EXPECT_FALSE(memory_->Exists(absl::StrCat(kDir, "/input")));
  ASSERT_OK_AND_ASSIGN(const auto reader, BundleReader::Open(memory_.get(), absl::StrCat(kDir, "/model.ckpt-6")));
  EXPECT_EQ(reader->Read("position")->scalar<int64_t>(), 6);
}

TEST_F(TrainingGenerationsTest, AChiefStartsFromACheckpointWithoutPositions) {
  Program with(TrainingRole::kChief, registry_), without(TrainingRole::kChief, registry_);
  without.options.saveables.clear();
  without.options.hooks = {std::make_shared<AtBegin>([&](Session& session) {
    EXPECT_THAT(
        session.RunTargets({ops::AssignVariableOp(without.scope, without.position, Tensor::Scalar<int64_t>(0))}),
        IsOk());
  })};
  ASSERT_THAT(Train(without, 4), IsOk());
  ASSERT_OK_AND_ASSIGN(const Counts counts, Train(with, 6));
  EXPECT_EQ(counts.step, 6);
  EXPECT_EQ(counts.position, 2);
}

TEST_F(TrainingGenerationsTest, AWorkersInputGoesBackWithTheVariables) {
  Program chief_program(TrainingRole::kChief, registry_);
  chief_program.options.saveables.clear();
  Program program(TrainingRole::kWorker, registry_);
  RecoverableState worker(program.scope, program.StateOptions("worker-0"));
  auto chief_options = program.StateOptions("chief-0");
  chief_options.role = TrainingRole::kChief;
  chief_options.saveables.clear();
  RecoverableState chief(program.scope, chief_options);
  ASSERT_OK_AND_ASSIGN(const auto session, Open(program.scope));
  const auto train = [&](int steps) {
    for (int i = 0; i < steps; ++i) ASSERT_THAT(session->RunTargets({program.options.train}), IsOk());
  };
  std::string from;
  ASSERT_THAT(chief.TakeLease(), IsOk());
  ASSERT_THAT(worker.TakeLease(), IsOk());
  EXPECT_THAT(worker.Establish(*session, &from), StatusIs(absl::StatusCode::kUnavailable));
  ASSERT_THAT(chief.Establish(*session, &from), IsOk());
  ASSERT_THAT(worker.Establish(*session, &from), IsOk());
  train(4);
  ASSERT_THAT(worker.Save(*session, 4), IsOk());
  ASSERT_THAT(chief.Save(*session, 4), IsOk());
  train(2);
  ASSERT_THAT(worker.Save(*session, 6), IsOk());
  EXPECT_TRUE(worker.IsWhole(*session).value());
  ASSERT_THAT(session->RunTargets({ops::DestroyResourceOp(program.scope, program.total.handle())}), IsOk());
  ASSERT_THAT(chief.Establish(*session, &from), IsOk());
  EXPECT_THAT(from, HasSubstr("model.ckpt-4"));
  // Another worker has stepped beyond the lost steps since.
  ASSERT_THAT(session->RunTargets({program.step.AssignAdd(program.scope, int64_t{3})}), IsOk());
  EXPECT_FALSE(worker.IsWhole(*session).value());
  ASSERT_THAT(worker.Establish(*session, &from), IsOk());
  EXPECT_EQ(Read(program, *session)->position, 4);
  EXPECT_TRUE(worker.IsWhole(*session).value());
}

TEST_F(TrainingGenerationsTest, AReplicaTakesTheOtherLoopsVariablesWithAnInputPositionThatIsNotNewer) {
  Program of_loop(TrainingRole::kOnly, registry_), of_replica(TrainingRole::kReplica, registry_);
  RecoverableState loop(of_loop.scope, of_loop.StateOptions("worker-0"));
  RecoverableState replica(of_replica.scope, of_replica.StateOptions("worker-1"));
  ASSERT_OK_AND_ASSIGN(const auto loops, Open(of_loop.scope));
  ASSERT_OK_AND_ASSIGN(const auto replicas, Open(of_replica.scope));
  std::string from;
  const auto train = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      ASSERT_THAT(loops->RunTargets({of_loop.options.train}), IsOk());
      ASSERT_THAT(replicas->RunTargets({of_replica.options.train}), IsOk());
    }
  };
  const auto position = [&] { return Read(of_replica, *replicas)->position; };
  for (RecoverableState* const state : {&loop, &replica}) ASSERT_THAT(state->TakeLease(), IsOk());
  ASSERT_THAT(loop.Establish(*loops, &from), IsOk());
  ASSERT_THAT(replica.Establish(*replicas, &from), IsOk());
  EXPECT_EQ(from, "");
  for (const int64_t step : {2, 4}) {
    train(2);
    ASSERT_THAT(loop.Save(*loops, step), IsOk());
    ASSERT_THAT(replica.Save(*replicas, step), IsOk());
  }
  train(2);
  ASSERT_THAT(replica.Save(*replicas, 6), IsOk());
  EXPECT_TRUE(replica.IsWhole(*replicas).value());
  ASSERT_THAT(replica.Restore(*replicas, &from), IsOk());
  EXPECT_THAT(from, HasSubstr("/d/model.ckpt-4"));
  ASSERT_THAT(replica.FollowVariables(*replicas), IsOk());
  EXPECT_TRUE(Read(of_replica, *replicas)->AreExact());
  EXPECT_EQ(position(), 4);
  // The other loop was a step behind, after all.
  ASSERT_THAT(replicas->RunTargets({of_replica.step.Assign(of_replica.scope, int64_t{3})}), IsOk());
  ASSERT_THAT(replica.FollowVariables(*replicas), IsOk());
  EXPECT_EQ(position(), 2);
}

TEST_F(TrainingGenerationsTest, ARestoreThatAnotherOneOvertakesFails) {
  Program program(TrainingRole::kChief, registry_);
  const RestoreMarker marker(program.scope, {""}, "training");
  ASSERT_OK_AND_ASSIGN(const auto session, Open(program.scope));
  ASSERT_THAT(marker.Begin(*session, "first"), IsOk());
  ASSERT_THAT(marker.Begin(*session, "second"), IsOk());
  EXPECT_THAT(marker.End(*session, {.restore = "first"}), StatusIs(absl::StatusCode::kAborted, HasSubstr("second")));
  const RestoredGeneration second{.restore = "second", .generation = 7, .checkpoint = "/a dir/model.ckpt-9"};
  EXPECT_THAT(marker.End(*session, second), IsOk());
  EXPECT_THAT(marker.End(*session, second), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(*marker.Generation(*session), second);
}

}  // namespace
}  // namespace weir
