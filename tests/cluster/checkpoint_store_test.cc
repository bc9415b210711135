// Parameter servers that keep checkpoints on disks of their own, and lose one with its disk.
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/training_loop.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int64_t kElements = 3 << 20;  // of a variable: a copy takes several pieces
constexpr int kServers = 3, kVariables = 3, kStepsBetweenSaves = 5;
constexpr const char* kFileEnds[] = {".manifest", ".index", ".data-00000-of-00001"};

// Remembers the recoveries that restored a checkpoint. A server that stood still is recovered from too, but has lost
// nothing to restore.
class RestoresHook : public TrainingHook {
 public:
  void Recovered(const RecoveryReport& report) override {
    if (!report.restored_from.empty()) restores.push_back(report);
  }

  std::vector<RecoveryReport> restores;
};

class DoAtStep : public RestoresHook {
 public:
  explicit DoAtStep(std::map<int64_t, std::function<void()>> actions) : actions_(std::move(actions)) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    const auto action = actions_.find(report.global_step);
    if (action == actions_.end()) return false;
    const std::function<void()> act = std::exchange(action->second, nullptr);
    if (act) act();
    return false;
  }

 private:
  std::map<int64_t, std::function<void()>> actions_;
};

// Remembers the first step that it sees.
class FirstStep : public TrainingHook {
 public:
  absl::Status Begin(Session&, int64_t global_step) override {
    first = global_step;
    return absl::OkStatus();
  }
  int64_t first = -1;
};

std::string Server(int index) { return absl::StrCat("/job:ps/task:", index); }

// Variables whose elements all count the steps, on the first `servers` servers in turns.
struct Program {
  explicit Program(int servers = kServers) {
    std::vector<Operation> updates;
    step = GlobalStep(scope.WithDevice(Server(0)));
    for (int i = 0; i < kVariables; ++i) {
      const Scope at = scope.WithDevice(Server(i % servers));
      counts.push_back(ResourceVariable::Make(at.WithName(absl::StrCat("count", i)), TensorShape({kElements}), DT_FLOAT,
                                              initializers::Zeros()));
      const Output ones = ops::Fill(at, Tensor::Vector<int32_t>({kElements}), Tensor::Scalar<float>(1));
      updates.push_back(counts.back().AssignAdd(at, ones));
    }
    for (int i = 0; i < servers; ++i) options.checkpoint_tasks.push_back(Server(i));
    options.train = step.AssignAdd(scope.WithControlDependencies(updates), int64_t{1});
    options.global_step = step;
    options.checkpoint_dir = "model";
    options.checkpoint_steps = kStepsBetweenSaves;
    options.max_to_keep = 3;
    options.recovery_timeout = absl::Minutes(1);
    options.hooks = {begin};
  }

  Scope scope = Scope::NewRoot();
  ResourceVariable step;
  std::vector<ResourceVariable> counts;
  std::shared_ptr<FirstStep> begin = std::make_shared<FirstStep>();
  TrainingLoopOptions options;
};

class CheckpointStoreTest : public ::testing::Test {
 protected:
  void StartCluster(bool with_stores = true) {
    ProcessCluster::Options options{.program = WEIR_PROGRAM, .jobs = {{"worker", 1}, {"ps", kServers}}};
    if (with_stores) options.flags = {"--checkpoint-store", directory_.path()};
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start(options));
  }
  void TearDown() override {
    if (!HasFailure() || cluster_ == nullptr) return;
    for (int i = 0; i < kServers; ++i) ADD_FAILURE() << cluster_->Log("ps", i);
  }

  std::string Store(int server) const { return directory_.Path(absl::StrCat("ps-", server)); }
  void LoseServer(int server, bool with_disk) {
    cluster_->Kill("ps", server);
    if (with_disk) std::filesystem::remove_all(Store(server));
    ASSERT_THAT(cluster_->Restart("ps", server), IsOk());
  }
  // In a server's store, those whose names end so: paths of directories.
  std::vector<std::string> Generations(int server, const std::string& end = "") const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(Store(server) + "/model")) {
      const std::string name = entry.path().filename();
      if (entry.is_directory() && absl::EndsWith(name, end)) paths.push_back(entry.path());
    }
    return paths;
  }
  // Calls with the paths of a shard, without its endings, of a step's generation in all stores that have it.
  void ForEachCopy(int64_t step, int shard, const std::function<void(const std::string&)>& call) const {
    int copies = 0;
    for (int server = 0; server < kServers; ++server) {
      for (const std::string& generation : Generations(server, absl::StrCat("-", step))) {
        const std::string path = absl::StrCat(generation, "/shard-0000", shard, "-of-00003");
        if (!std::filesystem::exists(path + ".index")) continue;
        call(path);
        ++copies;
      }
    }
    EXPECT_EQ(copies, 2);
  }
  // Trains until a step, in a session of its own.
  absl::StatusOr<int64_t> Train(Program& program, int64_t steps) {
    program.options.max_steps = steps;
    TrainingLoop loop(program.scope, program.options);
    RETURN_IF_ERROR(program.scope.status());
    ASSIGN_OR_RETURN(const auto session, Session::Connect(cluster_->Target("worker", 0), program.scope));
    ASSIGN_OR_RETURN(const int64_t reached, loop.Run(*session));
    RETURN_IF_ERROR(CheckCounts(*session, program, reached));
    return reached;
  }
  static absl::Status CheckCounts(Session& session, const Program& program, int64_t reached) {
    for (const ResourceVariable& count : program.counts) {
      ASSIGN_OR_RETURN(const std::vector<Tensor> value, session.Run({count.value()}));
      for (const float element : value[0].flat<float>()) {
        if (element != static_cast<float>(reached)) {
          return errors::Internal(count.name(), " has ", element, " after ", reached, " steps");
        }
      }
    }
    return absl::OkStatus();
  }
  void TrainFirst(int64_t steps) {
    Program program;
    ASSERT_OK_AND_ASSIGN(const int64_t reached, Train(program, steps));
    ASSERT_EQ(reached, steps);
  }

  ScratchDirectory directory_;
  std::unique_ptr<ProcessCluster> cluster_;
};

class LostDiskTest : public CheckpointStoreTest, public ::testing::WithParamInterface<bool> {};

TEST_P(LostDiskTest, TrainingResumesFromThePeersCopy) {
  StartCluster();
  Program program;
  program.options.saves_in_background = GetParam();
  const auto hook = std::make_shared<DoAtStep>(std::map<int64_t, std::function<void()>>{
      {18, [&] { LoseServer(0, true); }}, {38, [&] { LoseServer(1, true); }}, {58, [&] { LoseServer(2, true); }}});
  program.options.hooks.push_back(hook);
  ASSERT_OK_AND_ASSIGN(const int64_t reached, Train(program, 60));
  EXPECT_EQ(reached, 60);
  ASSERT_THAT(hook->restores, SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    const RecoveryReport& recovery = hook->restores[i];
    EXPECT_THAT(recovery.restored_from, StartsWith("model/"));
    const int64_t newest = 15 + 20 * i;
    if (GetParam()) {  // it may not have been complete
      EXPECT_LE(recovery.resumed_at, newest + 2);
    } else {
      EXPECT_EQ(recovery.resumed_at, newest);
    }
  }
  for (int server = 0; server < kServers; ++server) EXPECT_THAT(Generations(server, "-60"), SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(Background, LostDiskTest, ::testing::Bool());

TEST_F(CheckpointStoreTest, ALostStoreIsFilledAgainBeforeTheNextSave) {
  StartCluster();
  Program program;
  const auto hook = std::make_shared<DoAtStep>(std::map<int64_t, std::function<void()>>{
      {16, [&] { LoseServer(1, true); }}, {17, [&] { LoseServer(0, true); }}, {18, [&] { LoseServer(2, true); }}});
  program.options.hooks.push_back(hook);
  ASSERT_OK_AND_ASSIGN(const int64_t reached, Train(program, 20));
  EXPECT_EQ(reached, 20);
  ASSERT_THAT(hook->restores, SizeIs(3));
  for (const RecoveryReport& recovery : hook->restores) EXPECT_EQ(recovery.resumed_at, 15);
}

// Loses a server after a step, and lets other steps of the session meet the loss, and its end.
class LossThatOtherStepsMeet : public RestoresHook {
 public:
  LossThatOtherStepsMeet(const Output& on_server, std::function<void()> lose)
      : on_server_(on_server), lose_(std::move(lose)) {}
  absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) override {
    if (report.global_step != 7 || lose_ == nullptr) return false;
    std::exchange(lose_, nullptr)();
    const absl::Time deadline = MonotonicNow() + absl::Seconds(30);
    while (!session.Run({on_server_}).ok()) {
      if (MonotonicNow() > deadline) return errors::DeadlineExceeded("The server does not come back");
    }
    return false;
  }

 private:
  const Output on_server_;
  std::function<void()> lose_;
};

TEST_F(CheckpointStoreTest, ALossThatOtherStepsMeetFirstIsRecoveredFrom) {
  StartCluster();
  Program program;
  const auto hook =
      std::make_shared<LossThatOtherStepsMeet>(program.counts[1].is_initialized(), [&] { LoseServer(1, false); });
  program.options.hooks.push_back(hook);
  ASSERT_OK_AND_ASSIGN(const int64_t reached, Train(program, 12));
  EXPECT_EQ(reached, 12);
  ASSERT_THAT(hook->restores, SizeIs(1));
  EXPECT_TRUE(absl::IsNotFound(hook->restores[0].cause)) << hook->restores[0].cause;
  EXPECT_EQ(hook->restores[0].resumed_at, 5);
}

TEST_F(CheckpointStoreTest, AGenerationWithoutAllPartsIsSkippedAsAWhole) {
  StartCluster();
  TrainFirst(10);
  ForEachCopy(10, 1, [](const std::string& shard) {
    for (const char* end : kFileEnds) EXPECT_TRUE(std::filesystem::remove(shard + end)) << shard << end;
  });
  LoseServer(0, false);
  Program program;
  ASSERT_OK_AND_ASSIGN(const int64_t reached, Train(program, 12));
  EXPECT_EQ(reached, 12);
  EXPECT_EQ(program.begin->first, 5);
}

TEST_F(CheckpointStoreTest, FilesOfAnotherGenerationAreNotRestored) {
  StartCluster();
  TrainFirst(10);
  // All copies of one shard: the generation is skipped.
  std::string older;
  ForEachCopy(5, 1, [&](const std::string& shard) { older = shard; });
  ForEachCopy(10, 1, [&](const std::string& shard) {
    for (const char* end : {".index", ".data-00000-of-00001"}) {
      std::filesystem::copy_file(older + end, shard + end, std::filesystem::copy_options::overwrite_existing);
    }
  });
  LoseServer(0, false);
  Program program;
  ASSERT_OK_AND_ASSIGN(const int64_t reached, Train(program, 12));
  EXPECT_EQ(reached, 12);
  EXPECT_EQ(program.begin->first, 5);
}

TEST_F(CheckpointStoreTest, ADamagedPartIsReplacedByItsCopy) {
  StartCluster();
  TrainFirst(10);
  int copies = 0;
  ForEachCopy(10, 1, [&](const std::string& shard) {
    if (copies++ > 0) return;  // bytes that no quick check reads
    std::FILE* const file = std::fopen((shard + ".data-00000-of-00001").c_str(), "r+");
    ASSERT_NE(file, nullptr);
    std::fseek(file, 1 << 20, SEEK_SET);
    std::fputc(0x5a, file);
    std::fclose(file);
  });
  LoseServer(0, false);
  Program program;
  ASSERT_OK_AND_ASSIGN(const int64_t reached, Train(program, 12));
  EXPECT_EQ(reached, 12);
  EXPECT_EQ(program.begin->first, 10);
}

TEST_F(CheckpointStoreTest, LostPartsAreAnErrorNotANewStart) {
  StartCluster();
  TrainFirst(5);
  for (const int64_t step : {0, 5}) {
    ForEachCopy(step, 1, [](const std::string& shard) { std::filesystem::remove(shard + ".manifest"); });
  }
  LoseServer(0, false);
  Program program;
  EXPECT_THAT(Train(program, 10), StatusIs(absl::StatusCode::kDataLoss,
                                           AllOf(HasSubstr("of model"), HasSubstr("only 2 of its 3 shards are left"))));
}

TEST_F(CheckpointStoreTest, OtherNumbersOfTasksRestoreIt) {
  StartCluster();
  TrainFirst(10);
  std::filesystem::remove_all(Store(2));  // gone with its task: a copy of its shard is on the first
  for (int server = 0; server < kServers; ++server) LoseServer(server, false);
  Program fewer(2);
  ASSERT_OK_AND_ASSIGN(int64_t reached, Train(fewer, 20));
  EXPECT_EQ(reached, 20);
  EXPECT_EQ(fewer.begin->first, 10);
  for (int server = 0; server < kServers; ++server) LoseServer(server, false);
  Program more(3);
  ASSERT_OK_AND_ASSIGN(reached, Train(more, 30));
  EXPECT_EQ(reached, 30);
  EXPECT_EQ(more.begin->first, 20);
  for (int server = 0; server < kServers; ++server) EXPECT_THAT(Generations(server, "-30"), SizeIs(1));
}

TEST_F(CheckpointStoreTest, TheLoserOfTwoLoopsStops) {
  StartCluster();
  Program first;
  first.options.hooks.push_back(std::make_shared<DoAtStep>(
      std::map<int64_t, std::function<void()>>{{7, [&] {
                                                  Program second;
                                                  EXPECT_THAT(Train(second, 9).status(), IsOk());
                                                }}}));
  const absl::Status lost = Train(first, 20).status();
  EXPECT_TRUE(IsLeaseLost(lost)) << lost;
  EXPECT_THAT(Generations(0, "-9"), SizeIs(1));
}

TEST_F(CheckpointStoreTest, ATaskWithoutAStoreIsNamed) {
  StartCluster(false);
  Program program;
  EXPECT_THAT(Train(program, 5), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          AllOf(HasSubstr("--checkpoint-store"), HasSubstr("/job:ps"))));
}

TEST_F(CheckpointStoreTest, TasksThatCannotHoldCopiesAreErrors) {
  const auto status_of = [](const std::function<void(TrainingLoopOptions&)>& change) {
    Program program;
    change(program.options);
    const TrainingLoop loop(program.scope, program.options);
    return program.scope.status();
  };
  EXPECT_THAT(status_of([](auto& options) { options.checkpoint_tasks = {Server(0)}; }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two tasks")));
  EXPECT_THAT(status_of([](auto& options) {
                options.checkpoint_tasks = {Server(0), "/job:ps/replica:0/task:0"};
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("each named once")));
  EXPECT_THAT(status_of([](auto& options) { options.checkpoint_tasks.pop_back(); }),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("task:2"), HasSubstr("count2"))));
  for (const char* name : {"", "/model", "../model", "hdfs://model"}) {
    EXPECT_THAT(status_of([&](auto& options) { options.checkpoint_dir = name; }),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("relative path")))
        << name;
  }
}

}  // namespace
}  // namespace weir
