#include <signal.h>

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/cluster/environment.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/cluster/server_process.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/measures.h"
#include "tests/soak/process_usage.h"

namespace weir::chaos {
namespace {

constexpr int kProcesses = 5;                     // killed together
constexpr int kBriefSessions = 16, kWaiting = 3;  // of a process, beside one that makes steps
constexpr int kSessions = kProcesses * (kBriefSessions + kWaiting + 1);
constexpr int kBatchesPerMaster = 5;  // one master is killed after so many batches of clients
constexpr absl::Duration kPatience = absl::Seconds(60), kLook = absl::Milliseconds(50);
constexpr absl::Duration kLeases = absl::Seconds(3);           // all have ended by then
constexpr absl::Duration kMostSteps = absl::Milliseconds(30);  // of processes that are ready

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kBytes = 24 * kMiB;
constexpr int kThreads = 8, kFiles = 4;

class DyingClients {
 public:
  explicit DyingClients(const Settings& settings) : settings_(settings), dice_(settings.seed, 0) {}

  absl::StatusOr<Verdict> Measure(int64_t count) {
    const absl::Time start = MonotonicNow();
    ASSIGN_OR_RETURN(cluster_, ProcessCluster::Start({.program = settings_.weir,
                                                      .jobs = {{"worker", 2}, {"ps", 1}},
                                                      .flags = {"--session-lease=1s", "--master-lease=1s"},
                                                      .directory = settings_.directory}));
    const int64_t batches = std::max<int64_t>(4, count / kSessions);
    // First with masters that live, then with masters that are killed too.
    ASSIGN_OR_RETURN(const bool clients_flat, StaysFlat(batches / 4, false, {{"worker", 0}, {"worker", 1}, {"ps", 0}}));
    ASSIGN_OR_RETURN(const bool masters_flat, StaysFlat(batches / 4, true, {{"worker", 1}, {"ps", 0}}));
    return Print({.measure = "clients",
                  .runs = absl::StrCat(sessions_, " sessions of ", clients_, " killed clients, ", masters_,
                                       " killed masters, ", Seconds(MonotonicNow() - start)),
                  .figure = absl::StrJoin(figures_, "; "),
                  .bound = absl::StrCat("+", kBytes / kMiB, " MiB, +", kThreads, ", +", kFiles),
                  .ok = clients_flat && masters_flat});
  }

 private:
  using Tasks = std::vector<std::pair<std::string, int>>;

  // Whether the tasks use no more after so many batches than they did after as many before.
  absl::StatusOr<bool> StaysFlat(int64_t batches, bool kill_masters, const Tasks& tasks) {
    RETURN_IF_ERROR(Batches(batches, kill_masters));
    absl::SleepFor(kLeases);
    const std::vector<ProcessUsage> before = Usage(tasks);
    RETURN_IF_ERROR(Batches(batches, kill_masters));
    return BecomesFlat(tasks, before);
  }

  absl::Status Batches(int64_t count, bool kill_masters) {
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(Batch(kill_masters && i % kBatchesPerMaster == 0));
    }
    return absl::OkStatus();
  }

  absl::Status Batch(bool kill_master) {
    std::vector<std::unique_ptr<ServerProcess>> processes;
    for (int i = 0; i < kProcesses; ++i) {
      const std::string path = absl::StrCat(settings_.directory, "/client-", i);
      processes.push_back(std::make_unique<ServerProcess>(
          ServerProcess::Options{.name = absl::StrCat("client ", i),
                                 .arguments = {"/proc/self/exe", "client", "--target", cluster_->Target("worker", 0),
                                               "--ready-file", path + ".ready", "--brief",
                                               std::to_string(kBriefSessions), "--waiting", std::to_string(kWaiting)},
                                 .environment = EnvironmentWith("TF_CONFIG", std::nullopt),
                                 .ready_file = path + ".ready",
                                 .log_file = path + ".log"}));
      RETURN_IF_ERROR(processes.back()->Launch());
    }
    for (const auto& process : processes) RETURN_IF_ERROR(process->AwaitReady(kPatience));
    absl::SleepFor(dice_.Time(kMostSteps));
    if (kill_master) {
      cluster_->Kill("worker", 0);
      ++masters_;
    }
    for (const auto& process : processes) process->Signal(SIGKILL);
    processes.clear();
    sessions_ += kSessions;
    clients_ += kProcesses;
    return kill_master ? cluster_->Restart("worker", 0) : absl::OkStatus();
  }

  std::vector<ProcessUsage> Usage(const Tasks& tasks) const {
    std::vector<ProcessUsage> usage;
    for (const auto& [job, index] : tasks) {
      const auto one = UsageOf(cluster_->pid(job, index));
      usage.push_back(one.ok() ? *one : ProcessUsage());
    }
    return usage;
  }

  // Sessions end with their leases, so that it takes seconds.
  bool BecomesFlat(const Tasks& tasks, const std::vector<ProcessUsage>& before) {
    std::vector<ProcessUsage> after;
    const auto is_flat = [&] {
      after = Usage(tasks);
      for (size_t i = 0; i < tasks.size(); ++i) {
        if (after[i].threads == 0 || after[i].resident_bytes > before[i].resident_bytes + kBytes ||
            after[i].threads > before[i].threads + kThreads || after[i].files > before[i].files + kFiles) {
          return false;
        }
      }
      return true;
    };
    const absl::Time end = MonotonicNow() + kPatience;
    bool flat = is_flat();
    while (!flat && MonotonicNow() < end) {
      absl::SleepFor(kLook);
      flat = is_flat();
    }
    for (size_t i = 0; i < tasks.size(); ++i) {
      figures_.push_back(absl::StrCat(
          tasks[i].first, " ", tasks[i].second, ": ", (after[i].resident_bytes - before[i].resident_bytes) / kMiB,
          " MiB, ", after[i].threads - before[i].threads, " threads, ", after[i].files - before[i].files, " files"));
      if (flat) continue;
      Explain(absl::StrCat("clients: /job:", tasks[i].first, "/task:", tasks[i].second, " went from ",
                           before[i].ToString(), " to ", after[i].ToString()));
    }
    return flat;
  }

  const Settings& settings_;
  Dice dice_;
  std::unique_ptr<ProcessCluster> cluster_;
  int64_t sessions_ = 0, clients_ = 0, masters_ = 0;
  std::vector<std::string> figures_;
};

}  // namespace

absl::StatusOr<Verdict> MeasureClients(const Settings& settings) {
  return DyingClients(settings).Measure(settings.runs > 0 ? settings.runs : settings.brief ? 400 : 10'000);
}

}  // namespace weir::chaos
