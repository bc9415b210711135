// Workers of real processes that train together while others join, leave, die and hang.
#include <signal.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/reserved_port.h"
#include "distribute/cluster/server_process.h"
#include "distribute/transport/membership/membership_client.h"
#include "tests/elastic/worker_process.h"

namespace weir {
namespace {

class ElasticTrainingTest : public testing::Test {
 protected:
  struct Worker {
    std::string name, result_file;
    std::unique_ptr<ServerProcess> process;
    std::string address;

    WorkerProgress progress() const { return ParseProgress(process->Log()); }
  };

  // Workers of the cluster definition; flags[i] are further ones of worker i.
  void Start(int count, const std::vector<std::string>& common = {},
             const std::vector<std::vector<std::string>>& flags = {}) {
    std::vector<std::string> addresses;
    for (int i = 0; i < count; ++i) {
      ASSERT_OK_AND_ASSIGN(ports_.emplace_back(), ReservedPort::Create());
      addresses.push_back(ports_.back()->address());
    }
    const std::string cluster = absl::StrCat(R"({"worker": [")", absl::StrJoin(addresses, R"(", ")"), R"("]})");
    for (int i = 0; i < count; ++i) {
      std::vector<std::string> arguments = {
          "--cluster", cluster, "--index", absl::StrCat(i), "--initial-workers", absl::StrCat(count)};
      arguments.insert(arguments.end(), common.begin(), common.end());
      if (i < static_cast<int>(flags.size())) arguments.insert(arguments.end(), flags[i].begin(), flags[i].end());
      Launch(absl::StrCat("worker-", i), arguments, addresses[i]);
    }
    for (const auto& worker : workers_) ASSERT_THAT(worker->process->AwaitReady(absl::Seconds(60)), IsOk());
  }
  Worker& Join(const std::vector<std::string>& flags = {}, int through = 0) {
    std::vector<std::string> arguments = {"--join", workers_[through]->address};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    Worker& worker = Launch(absl::StrCat("joined-", workers_.size()), arguments, "");
    EXPECT_THAT(worker.process->AwaitReady(absl::Seconds(60)), IsOk());
    return worker;
  }
  Worker& Launch(const std::string& name, std::vector<std::string> arguments, const std::string& address) {
    auto worker = std::make_unique<Worker>();
    worker->name = name;
    worker->address = address;
    worker->result_file = directory_.Path(name + ".result");
    const std::string ready = directory_.Path(name + ".ready");
    arguments.insert(arguments.begin(), WEIR_ELASTIC_WORKER);
    arguments.insert(arguments.end(), {"--ready-file", ready, "--result-file", worker->result_file});
    worker->process = std::make_unique<ServerProcess>(ServerProcess::Options{
        .name = name, .arguments = arguments, .ready_file = ready, .log_file = directory_.Path(name + ".log")});
    EXPECT_THAT(worker->process->Launch(), IsOk());
    workers_.push_back(std::move(worker));
    return *workers_.back();
  }

  bool Comes(const std::function<bool()>& condition) {
    const absl::Time deadline = MonotonicNow() + absl::Seconds(60);
    while (!condition()) {
      if (MonotonicNow() > deadline) {
        for (const auto& worker : workers_) {
          const std::string log = worker->process->Log();
          ADD_FAILURE() << worker->name << ": " << log.substr(log.size() - std::min<size_t>(log.size(), 3000));
        }
        return false;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }
  // The worker makes steps in a generation of so many.
  bool Trains(const Worker& worker, int workers, int64_t steps = 5) {
    int64_t begin = -1;
    return Comes([&] {
      const WorkerProgress progress = worker.progress();
      if (progress.workers != workers) {
        begin = -1;
      } else if (begin < 0) {
        begin = progress.step;
      }
      return begin >= 0 && progress.step >= begin + steps;
    });
  }
  // All finish, and have the variables of an undisturbed training.
  void FinishAndCompare(const std::vector<Worker*>& workers) {
    workers[0]->process->Signal(SIGUSR1);
    for (Worker* const worker : workers) {
      ASSERT_TRUE(Comes([&] { return ReadWorkerResult(worker->result_file).ok(); })) << worker->name;
    }
    for (Worker* const worker : workers) {
      ASSERT_OK_AND_ASSIGN(const WorkerResult result, ReadWorkerResult(worker->result_file));
      ASSERT_OK_AND_ASSIGN(const WorkerResult expected, TrainUndisturbed(result.step));
      EXPECT_THAT(CompareResults(result, expected), IsOk()) << worker->name;
    }
  }
  Worker& worker(int i) { return *workers_[i]; }

  const ScratchDirectory directory_;
  std::vector<std::unique_ptr<ReservedPort>> ports_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

TEST_F(ElasticTrainingTest, AWorkerJoinsAndHasTheOthersVariables) {
  Start(2);
  ASSERT_TRUE(Trains(worker(0), 2));
  Worker& joined = Join();
  ASSERT_TRUE(Trains(worker(0), 3) && Trains(joined, 3));
  FinishAndCompare({&worker(0), &worker(1), &joined});
}

TEST_F(ElasticTrainingTest, AWorkerThatIsKilledInAStepCostsThatStep) {
  Start(3, {}, {{}, {"--kill-at", "20"}});
  ASSERT_TRUE(Trains(worker(0), 2));
  EXPECT_EQ(worker(1).process->pid(), -1);
  FinishAndCompare({&worker(0), &worker(2)});
}

TEST_F(ElasticTrainingTest, TheDecidingWorkerIsKilledInAStep) {
  Start(3, {}, {{"--kill-at", "20"}});
  ASSERT_TRUE(Trains(worker(1), 2));
  FinishAndCompare({&worker(1), &worker(2)});
}

TEST_F(ElasticTrainingTest, OneWorkerGoesOnAlone) {
  Start(3, {}, {{"--kill-at", "20"}, {}, {"--kill-at", "20"}});
  ASSERT_TRUE(Trains(worker(1), 1));
  FinishAndCompare({&worker(1)});
}

TEST_F(ElasticTrainingTest, TooFewWorkersWaitForAnother) {
  Start(2, {"--min-workers", "2"}, {{}, {"--kill-at", "20"}});
  ASSERT_TRUE(Comes([&] { return worker(1).process->pid() == -1; }));
  Worker& joined = Join({"--min-workers", "2"});
  ASSERT_TRUE(Trains(joined, 2) && Trains(worker(0), 2));
  FinishAndCompare({&worker(0), &joined});
}

TEST_F(ElasticTrainingTest, ADrainingWorkerLeavesAfterAStep) {
  Start(2);
  Worker& joined = Join();
  ASSERT_TRUE(Trains(joined, 3));
  MembershipClient client(worker(0).address);
  ASSERT_THAT(client.Drain({.deadline = MonotonicNow() + absl::Seconds(30)}, "/job:worker/replica:0/task:2").status(),
              IsOk());
  ASSERT_TRUE(Comes([&] { return joined.process->pid() == -1; }));
  EXPECT_THAT(joined.process->Log(), testing::HasSubstr("end 1 step "));
  ASSERT_TRUE(Trains(worker(0), 2));
  FinishAndCompare({&worker(0), &worker(1)});
}

TEST_F(ElasticTrainingTest, TheDecidingWorkerLeaves) {
  Start(3);
  ASSERT_TRUE(Trains(worker(0), 3));
  worker(0).process->Signal(SIGTERM);
  ASSERT_TRUE(Trains(worker(1), 2));
  ASSERT_TRUE(Comes([&] { return worker(0).process->pid() == -1; }));
  EXPECT_THAT(worker(0).process->Log(), testing::HasSubstr("end 1 step "));
  FinishAndCompare({&worker(1), &worker(2)});
}

TEST_F(ElasticTrainingTest, AWorkerThatWasSuspendedDisturbsNobodyAndComesBack) {
  Start(3, {}, {{"--stop-at", "20"}});
  ASSERT_TRUE(Trains(worker(1), 2));
  worker(0).process->Signal(SIGCONT);
  ASSERT_TRUE(Trains(worker(0), 3));
  FinishAndCompare({&worker(0), &worker(1), &worker(2)});
}

TEST_F(ElasticTrainingTest, AKilledWorkersTaskIsStartedAgain) {
  Start(2, {}, {{}, {"--kill-at", "20"}});
  ASSERT_TRUE(Trains(worker(0), 1));
  Worker& again =
      Launch("again",
             {"--cluster", absl::StrCat(R"({"worker": [")", worker(0).address, R"(", ")", worker(1).address, R"("]})"),
              "--index", "1"},
             worker(1).address);
  ASSERT_TRUE(Trains(again, 2) && Trains(worker(0), 2));
  FinishAndCompare({&worker(0), &again});
}

TEST_F(ElasticTrainingTest, ASlowWorkerIsLeftOut) {
  Start(3, {"--straggler-factor", "4", "--min-workers", "2"}, {{}, {"--slow-millis", "1000"}});
  ASSERT_TRUE(Trains(worker(0), 2));
  ASSERT_TRUE(Comes([&] { return worker(1).process->pid() == -1; }));
  EXPECT_THAT(worker(1).process->Log(), testing::HasSubstr("end 2 step "));
  FinishAndCompare({&worker(0), &worker(2)});
}

TEST_F(ElasticTrainingTest, WithABatchOfEachWorkerTheLearningRateIsScaled) {
  Start(2, {"--per-worker-batch"});
  Worker& joined = Join({"--per-worker-batch", "--initial-workers", "2"});
  ASSERT_TRUE(Trains(joined, 3));
  EXPECT_THAT(joined.process->Log(), testing::HasSubstr("scale 1.5"));
  EXPECT_THAT(worker(0).process->Log(), testing::HasSubstr("scale 1\n"));
}

TEST(WorkerResultTest, TheComparisonShowsASingleStep) {
  for (const int64_t steps : {10, 100, 1000}) {
    ASSERT_OK_AND_ASSIGN(const WorkerResult result, TrainUndisturbed(steps));
    ASSERT_OK_AND_ASSIGN(WorkerResult other, TrainUndisturbed(steps + 1));
    other.step = steps;
    EXPECT_THAT(CompareResults(other, result), StatusIs(absl::StatusCode::kInternal, testing::HasSubstr("ledger")));
  }
}

}  // namespace
}  // namespace weir
