#include <algorithm>
#include <filesystem>
#include <future>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/job_run.h"
#include "tests/chaos/measures.h"
#include "tests/soak/process_usage.h"

namespace weir::chaos {
namespace {

constexpr int64_t kSteps = 400, kBriefSteps = 100, kCheckpointSteps = 20;
constexpr int64_t kFewestJobs = 3;
constexpr int kFaults = 4;  // of a job
constexpr absl::Duration kPatience = absl::Minutes(2), kSettling = absl::Seconds(30), kLook = absl::Milliseconds(50);
constexpr absl::Duration kLongestFault = absl::Seconds(9), kLongestBriefFault = absl::Seconds(3),
                         kDelay = absl::Milliseconds(12);
// Longer than a client is cut off. What a killed chief leaves must be gone by the time that memory is compared.
constexpr absl::Duration kLease = absl::Minutes(1);
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kBytes = 24 * kMiB;
constexpr int kThreads = 8, kFiles = 8;

using TaskId = std::pair<std::string, int>;

// Are never killed, so that what they use can be compared.
const std::vector<TaskId>& Survivors() {
  static const auto* const tasks = new std::vector<TaskId>{{"master", 0}, {"ps", 0}, {"worker", 0}};
  return *tasks;
}

// Trains the job again and again on one cluster.
class Soak {
 public:
  explicit Soak(const Settings& settings) : settings_(settings), steps_(settings.brief ? kBriefSteps : kSteps) {
    absl::StatusOr<std::unique_ptr<EmulatedNetwork>> network = EmulatedNetwork::Create(JobCluster::kHosts);
    if (network.ok()) {
      network_ = *std::move(network);
    } else {
      Explain(absl::StrCat("soak: without cuts: ", network.status().message()));
    }
  }

  absl::StatusOr<Verdict> Measure(absl::Duration duration) {
    const absl::Time start = MonotonicNow();
    ASSIGN_OR_RETURN(cluster_, JobCluster::Start(settings_.weir, settings_.directory, network_.get(),
                                                 {absl::StrCat("--session-lease=", absl::FormatDuration(kLease))}));
    ASSIGN_OR_RETURN(const std::string expected, Train("undisturbed", nullptr));
    std::vector<ProcessUsage> early;
    for (int64_t i = 0; i < (settings_.brief ? 1 : kFewestJobs) || MonotonicNow() - start < duration; ++i) {
      if (MonotonicNow() - start < duration / 4 || early.empty()) early = Usage();
      Dice dice(settings_.seed, static_cast<uint64_t>(i));
      const std::string name = absl::StrCat("job-", i);
      ASSIGN_OR_RETURN(const std::string result, Train(name, &dice));
      const std::string difference = Difference(expected, result);
      if (difference.empty()) {
        std::filesystem::remove_all(settings_.directory + "/" + name);
      } else {
        ++differ_;
        Explain(absl::StrCat("soak: job ", i, ": ", difference));
      }
      ++jobs_;
    }
    std::string growth;
    bool flat = IsFlat(early, &growth);
    // A server may release a session's threads and memory a moment after the session has ended.
    for (const absl::Time end = MonotonicNow() + kSettling; !flat && MonotonicNow() < end; absl::SleepFor(kLook)) {
      flat = IsFlat(early, &growth);
    }
    return Print({.measure = "soak",
                  .runs = absl::StrCat(jobs_, " jobs of ", steps_, " steps, ", kills_, " kills, ", stops_, " stops, ",
                                       cuts_, " cuts, ", Seconds(MonotonicNow() - start)),
                  .figure = absl::StrCat(differ_, " differ in a bit; ", growth),
                  .bound = absl::StrCat("0; +", kBytes / kMiB, " MiB, +", kThreads, ", +", kFiles),
                  .ok = differ_ == 0 && flat});
  }

 private:
  // Returns the job's result. Without dice there are no faults.
  absl::StatusOr<std::string> Train(const std::string& name, Dice* dice) {
    ASSIGN_OR_RETURN(run_, JobRun::Start({.target = cluster_->target(),
                                          .directory = absl::StrCat(settings_.directory, "/", name),
                                          .steps = steps_,
                                          .checkpoint_steps = kCheckpointSteps,
                                          .background = dice != nullptr && dice->Below(2) == 1}));
    std::vector<int64_t> steps;
    for (int i = 0; dice != nullptr && i < kFaults; ++i) steps.push_back(dice->Below(steps_ - 1));
    std::sort(steps.begin(), steps.end());
    auto next = steps.begin();
    while (true) {
      ASSIGN_OR_RETURN(const Progress progress, run_->Next(kPatience));
      if (progress.kind == Progress::kEnded) return run_->Result();
      if (progress.kind != Progress::kBegun && progress.kind != Progress::kStep) continue;
      for (; next != steps.end() && progress.step >= *next; ++next) RETURN_IF_ERROR(Strike(*dice));
    }
  }

  absl::Status Strike(Dice& dice) {
    absl::SleepFor(dice.Time(kDelay));
    const int64_t kind = dice.Below(network_ ? 6 : 4);
    const absl::Duration duration = dice.Time(settings_.brief ? kLongestBriefFault : kLongestFault);
    if (kind == 0) {
      ++kills_;
      RETURN_IF_ERROR(run_->KillChief());
      return run_->LaunchChief();
    }
    if (kind == 1) {
      ++kills_;
      const std::string job = dice.Pick(std::vector<std::string>{"ps", "worker"});
      cluster_->tasks().Kill(job, 1);
      absl::SleepFor(duration / 10);
      return cluster_->tasks().Restart(job, 1);
    }
    std::vector<TaskId> tasks;
    for (const auto& [job, count] : JobCluster::Jobs()) {
      for (int index = 0; index < count; ++index) tasks.emplace_back(job, index);
    }
    const auto [job, index] = dice.Pick(tasks);
    return kind < 4 ? Stop(job, index, duration) : Cut(JobCluster::HostOf(job, index), dice, duration);
  }

  absl::Status Stop(const std::string& job, int index, absl::Duration duration) {
    ++stops_;
    cluster_->tasks().Pause(job, index);
    absl::SleepFor(duration);
    cluster_->tasks().Resume(job, index);
    return absl::OkStatus();
  }

  absl::Status Cut(int host, Dice& dice, absl::Duration duration) {
    ++cuts_;
    const int64_t direction = dice.Below(3);
    if (direction != 0) RETURN_IF_ERROR(network_->Cut(host, EmulatedNetwork::kAny));
    if (direction != 1) RETURN_IF_ERROR(network_->Cut(EmulatedNetwork::kAny, host));
    absl::SleepFor(duration);
    return network_->Heal();
  }

  std::vector<ProcessUsage> Usage() {
    std::vector<ProcessUsage> usage;
    for (const auto& [job, index] : Survivors()) {
      const auto one = UsageOf(cluster_->tasks().pid(job, index));
      usage.push_back(one.ok() ? *one : ProcessUsage());
    }
    return usage;
  }

  bool IsFlat(const std::vector<ProcessUsage>& early, std::string* growth) {
    growth->clear();
    const std::vector<ProcessUsage> late = Usage();
    bool flat = true;
    for (size_t i = 0; i < late.size(); ++i) {
      const TaskId& task = Survivors()[i];
      const int64_t bytes = late[i].resident_bytes - early[i].resident_bytes;
      flat = flat && late[i].threads > 0 && bytes <= kBytes && late[i].threads <= early[i].threads + kThreads &&
             late[i].files <= early[i].files + kFiles;
      absl::StrAppend(growth, i > 0 ? "; " : "", task.first, " ", task.second, ": ", bytes / kMiB, " MiB, ",
                      late[i].threads - early[i].threads, " threads, ", late[i].files - early[i].files, " files");
    }
    return flat;
  }

  const Settings& settings_;
  const int64_t steps_;  // of a job
  std::unique_ptr<EmulatedNetwork> network_;
  std::unique_ptr<JobCluster> cluster_;
  std::unique_ptr<JobRun> run_;
  int64_t jobs_ = 0, kills_ = 0, stops_ = 0, cuts_ = 0, differ_ = 0;
};

}  // namespace

absl::StatusOr<Verdict> MeasureSoak(const Settings& settings) {
  const double minutes = settings.minutes > 0 ? settings.minutes : settings.brief ? 0.02 : 120;
  return Soak(settings).Measure(absl::Minutes(minutes));
}

}  // namespace weir::chaos
