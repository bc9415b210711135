// Chief, workers, parameter servers and evaluator, as processes of one program with real TF_CONFIGs.

#include <signal.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "core/checkpoint/checkpoint_lease.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/manifest.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/environment.h"
#include "distribute/cluster/reserved_port.h"
#include "distribute/cluster/server_process.h"
#include "distribute/cluster/tf_config.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kPatience = absl::Seconds(120);
constexpr absl::Duration kPoll = absl::Milliseconds(20);

class EstimatorProcessTest : public ::testing::Test {
 protected:
  // The cluster of the tasks that Start starts, and their flags.
  void Configure(const std::vector<std::pair<std::string, int>>& jobs, std::vector<std::string> flags) {
    for (const auto& [job, tasks] : jobs) {
      for (int i = 0; i < tasks; ++i) {
        ASSERT_OK_AND_ASSIGN(std::unique_ptr<ReservedPort> port, ReservedPort::Create());
        ASSERT_THAT(config_.cluster.AddTask(job, i, port->address()), IsOk());
        ports_.push_back(std::move(port));
      }
    }
    flags_ = std::move(flags);
  }
  void TearDown() override {
    if (HasFailure()) {
      for (const auto& [name, process] : processes_) ADD_FAILURE() << name << ":\n" << process->Log();
    }
    processes_.clear();
  }

  void Start(const std::string& job, int index, const std::vector<std::string>& more_flags = {}) {
    const std::string name = absl::StrCat(job, "-", index);
    TfConfig config = config_;
    config.task_type = job;
    config.task_index = index;
    ServerProcess::Options options;
    options.name = name;
    options.arguments = {WEIR_ESTIMATOR, "--data", WEIR_DATASET, "--model-dir", model_dir()};
    options.arguments.insert(options.arguments.end(), flags_.begin(), flags_.end());
    options.arguments.insert(options.arguments.end(), more_flags.begin(), more_flags.end());
    options.environment = EnvironmentWith("TF_CONFIG", TfConfigJson(config));
    options.log_file = directory_.Path(absl::StrCat(name, ".log"));
    options.ready_file = directory_.Path(absl::StrCat(name, ".ready"));
    processes_[name] = std::make_unique<ServerProcess>(std::move(options));
    ASSERT_THAT(processes_[name]->Launch(), IsOk());
  }
  void StartAll() {
    for (const auto& [job, tasks] : config_.cluster.jobs()) {
      for (const auto& [index, address] : tasks) Start(job, index);
    }
  }
  void KillAndStartAgain(const std::string& name) {
    ASSERT_GT(processes_[name]->Kill(), 0);
    ASSERT_THAT(processes_[name]->Launch(), IsOk());
  }

  // Kills all tasks, which have no limit that they reach, and starts them again with one `more` steps after the newest
  // checkpoint. Returns the last step.
  int64_t KillAndLimit(const std::vector<std::string>& names, int64_t more) {
    for (const std::string& name : names) processes_[name]->Kill();
    const int64_t last = SavedStep() + more;
    for (const std::string& name : names) {
      const size_t dash = name.rfind('-');
      Start(name.substr(0, dash), name.back() - '0', {"--steps", std::to_string(last)});
    }
    return last;
  }

  static bool Await(const std::function<bool()>& condition) {
    const absl::Time deadline = MonotonicNow() + kPatience;
    while (!condition()) {
      if (MonotonicNow() > deadline) return false;
      absl::SleepFor(kPoll);
    }
    return true;
  }
  // The step of the newest checkpoint; -1: there is none.
  int64_t SavedStep() const {
    const auto latest = LatestCheckpoint(files_.get(), model_dir());
    int64_t saved = 0;
    return latest.ok() && absl::SimpleAtoi(latest->substr(latest->rfind('-') + 1), &saved) ? saved : -1;
  }
  bool AwaitCheckpoint(int64_t step) {
    return Await([&] { return SavedStep() >= step; });
  }
  bool AwaitText(const std::string& name, const std::string& text) {
    return Await([&] { return absl::StrContains(processes_[name]->Log(), text); });
  }
  bool AwaitEnd(const std::string& name) {
    return Await([&] { return processes_[name]->pid() == -1; });
  }
  std::string model_dir() const { return directory_.Path("model"); }

  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const ScratchDirectory directory_;
  TfConfig config_;
  std::vector<std::string> flags_;
  std::vector<std::unique_ptr<ReservedPort>> ports_;
  std::map<std::string, std::unique_ptr<ServerProcess>> processes_;
};

// Two trainers on one directory, as after a partition: the first one stands still while the second starts and finishes.
TEST_F(EstimatorProcessTest, AStoppedTrainerThatContinuesLeavesItsSuccessorsCheckpoints) {
  const auto start = [&](const std::string& name, int64_t steps) {
    ServerProcess::Options options;
    options.name = name;
    options.arguments = {WEIR_ESTIMATOR, "--data",  WEIR_DATASET,          "--model-dir",
                         model_dir(),    "--steps", std::to_string(steps), "--checkpoint-steps",
                         "100"};
    options.environment = EnvironmentWith("TF_CONFIG", std::nullopt);
    options.log_file = directory_.Path(absl::StrCat(name, ".log"));
    options.ready_file = directory_.Path(absl::StrCat(name, ".ready"));
    processes_[name] = std::make_unique<ServerProcess>(std::move(options));
    ASSERT_THAT(processes_[name]->Launch(), IsOk());
  };
  start("first", 1'000'000);  // more than it ever makes
  ASSERT_TRUE(AwaitCheckpoint(200));
  // Not in the short moment in which it holds the directory's lock: nothing could go on then.
  const auto stop = [&] {
    processes_["first"]->Signal(SIGSTOP);
    if (!Await([&] { return processes_["first"]->IsStopped(); })) return false;
    if (files_->Lock(JoinPath(model_dir(), kCheckpointLockFile), absl::ZeroDuration()).ok()) return true;
    processes_["first"]->Signal(SIGCONT);
    return false;
  };
  ASSERT_TRUE(Await(stop));
  start("second", SavedStep() + 1800);
  ASSERT_TRUE(AwaitEnd("second"));
  EXPECT_THAT(processes_["second"]->Log(), Not(HasSubstr("estimator: ")));
  ASSERT_OK_AND_ASSIGN(const CheckpointState state, ReadCheckpointState(files_.get(), model_dir()));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> left, files_->Glob(model_dir() + "/model.ckpt-*"));

  processes_["first"]->Signal(SIGCONT);
  ASSERT_TRUE(AwaitEnd("first"));
  EXPECT_THAT(processes_["first"]->Log(), HasSubstr("the checkpoint lease of training"));
  EXPECT_EQ(ReadCheckpointState(files_.get(), model_dir())->all, state.all);
  EXPECT_EQ(*files_->Glob(model_dir() + "/model.ckpt-*"), left);
  for (const std::string& prefix : state.all) {
    ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, ReadManifest(files_.get(), prefix));
    EXPECT_EQ(manifest.token(), 2);
    EXPECT_THAT(VerifyManifest(files_.get(), prefix, manifest), IsOk());
  }
}

TEST_F(EstimatorProcessTest, ReachesItsAccuracyThoughAChiefAWorkerAndAParameterServerAreKilled) {
  Configure({{"chief", 1}, {"worker", 2}, {"ps", 2}},
            {"--strategy", "none", "--steps", "2000", "--checkpoint-steps", "50"});
  StartAll();
  Start("evaluator", 0);
  ASSERT_TRUE(AwaitCheckpoint(100));
  KillAndStartAgain("worker-1");
  ASSERT_TRUE(AwaitCheckpoint(400));
  KillAndStartAgain("chief-0");
  ASSERT_TRUE(AwaitCheckpoint(700));
  KillAndStartAgain("ps-1");
  EXPECT_TRUE(AwaitText("evaluator-0", "expected accuracy reached"));
  for (const char* name : {"chief-0", "worker-0", "worker-1", "evaluator-0"}) {
    EXPECT_TRUE(AwaitEnd(name)) << name;
    EXPECT_THAT(processes_[name]->Log(), Not(HasSubstr("estimator: "))) << name;
  }
  for (const char* name : {"ps-0", "ps-1"}) {
    ASSERT_OK_AND_ASSIGN(const int code, processes_[name]->Terminate(absl::Seconds(15)));
    EXPECT_EQ(code, 0);
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> best,
                       files_->Glob(model_dir() + "/export/best/*/saved_model.pb"));
  EXPECT_EQ(best.size(), 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> events,
                       files_->Glob(model_dir() + "/eval/events.out.tfevents.*"));
  EXPECT_EQ(events.size(), 1);
}

// With SIGKILL, as a supervisor would find it: the same command and TF_CONFIG start again.
TEST_F(EstimatorProcessTest, WorkersThatStepTogetherGoOnThoughEachOfThemIsKilled) {
  Configure({{"worker", 2}}, {"--checkpoint-steps", "50", "--replicas", "2"});
  const std::vector<std::string> endless = {"--steps", "1000000"};
  for (int i = 0; i < 2; ++i) Start("worker", i, endless);
  ASSERT_TRUE(AwaitCheckpoint(100));
  for (const char* name : {"worker-1", "worker-0"}) {
    KillAndStartAgain(name);
    ASSERT_TRUE(AwaitCheckpoint(SavedStep() + 100)) << name;
  }
  const int64_t last = KillAndLimit({"worker-0", "worker-1"}, 1000);
  for (const char* name : {"worker-0", "worker-1"}) {
    EXPECT_TRUE(AwaitEnd(name)) << name;
    EXPECT_THAT(processes_[name]->Log(), Not(HasSubstr("estimator: "))) << name;
  }
  EXPECT_EQ(SavedStep(), last);
  EXPECT_THAT(processes_["worker-0"]->Log(), HasSubstr("expected accuracy reached"));
  // Started again after the end, a task has nothing left to do.
  ASSERT_THAT(processes_["worker-1"]->Launch(), IsOk());
  EXPECT_TRUE(AwaitEnd("worker-1"));
}

TEST_F(EstimatorProcessTest, AChiefThatDrivesItsWorkersGoesOnThoughATaskOfEachJobIsKilled) {
  Configure({{"chief", 1}, {"worker", 2}, {"ps", 1}}, {"--checkpoint-steps", "50"});
  const std::vector<std::string> endless = {"--steps", "1000000"};
  for (const auto& [job, index] : {std::pair("chief", 0), {"worker", 0}, {"worker", 1}, {"ps", 0}, {"evaluator", 0}}) {
    Start(job, index, endless);
  }
  for (const char* name : {"worker-1", "ps-0", "chief-0"}) {
    ASSERT_TRUE(AwaitCheckpoint(SavedStep() + 100)) << name;
    KillAndStartAgain(name);
  }
  ASSERT_TRUE(AwaitCheckpoint(SavedStep() + 100));
  // Workers and parameter servers end by themselves when the training has ended.
  const int64_t last = KillAndLimit({"chief-0", "worker-0", "worker-1", "ps-0", "evaluator-0"}, 1000);
  for (const char* name : {"chief-0", "worker-0", "worker-1", "ps-0", "evaluator-0"}) {
    EXPECT_TRUE(AwaitEnd(name)) << name;
    EXPECT_THAT(processes_[name]->Log(), Not(HasSubstr("estimator: "))) << name;
  }
  EXPECT_EQ(SavedStep(), last);
  for (const char* name : {"chief-0", "evaluator-0"}) {
    EXPECT_THAT(processes_[name]->Log(), HasSubstr("expected accuracy reached")) << name;
  }
}

// Long before max_steps.
TEST_F(EstimatorProcessTest, AllTasksEndWhenTheInputEnds) {
  Configure({{"chief", 1}, {"worker", 2}, {"ps", 1}},
            {"--steps", "1000000", "--batches", "1200", "--checkpoint-steps", "500"});
  StartAll();
  Start("evaluator", 0);
  for (const char* name : {"chief-0", "worker-0", "worker-1", "ps-0", "evaluator-0"}) {
    EXPECT_TRUE(AwaitEnd(name)) << name;
    EXPECT_THAT(processes_[name]->Log(), Not(HasSubstr("estimator: "))) << name;
  }
  EXPECT_EQ(SavedStep(), 1200);
}

TEST_F(EstimatorProcessTest, WorkersThatStepTogetherEndIfTheirInputsAreOfDifferentLengths) {
  Configure({{"worker", 2}}, {"--steps", "1000000", "--recovery-timeout", "15"});
  Start("worker", 0, {"--batches", "20"});
  Start("worker", 1, {"--batches", "40"});
  EXPECT_TRUE(AwaitEnd("worker-0"));
  EXPECT_TRUE(AwaitEnd("worker-1"));
  EXPECT_THAT(processes_["worker-1"]->Log(), HasSubstr("did not come back within 15s"));
  EXPECT_EQ(SavedStep(), 20);
}

TEST_F(EstimatorProcessTest, AStrategyThatDoesNotSuitTheClusterIsNamed) {
  Configure({{"worker", 2}}, {"--strategy", "mirrored"});
  Start("worker", 0);
  EXPECT_TRUE(AwaitEnd("worker-0"));
  EXPECT_THAT(processes_["worker-0"]->Log(), HasSubstr("is for a single process"));
}

}  // namespace
}  // namespace weir
