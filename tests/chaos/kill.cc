#include <algorithm>
#include <filesystem>
#include <future>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/job.h"
#include "tests/chaos/job_run.h"
#include "tests/chaos/measures.h"
#include "tests/chaos/report.h"

namespace weir::chaos {
namespace {

constexpr int64_t kSteps = 60, kCheckpointSteps = 7;
constexpr absl::Duration kPatience = absl::Seconds(60);
// About as long as a step and a save take, so that faults hit every part of both.
constexpr absl::Duration kDelay = absl::Milliseconds(12);
// Long enough for faults to overlap.
constexpr absl::Duration kAbsence = absl::Milliseconds(200);

struct Kill {
  int64_t step = 0;        // after which it happens
  absl::Duration delay;    // from then on
  absl::Duration absence;  // until the process is started again
  std::string job;         // empty: the chief
  int index = 0;

  std::string ToString() const {
    const std::string victim = job.empty() ? "the chief" : absl::StrCat("/job:", job, "/task:", index);
    return absl::StrCat(victim, " for ", absl::FormatDuration(absence), ", ", absl::FormatDuration(delay),
                        " after step ", step);
  }
};

// Of each role once, in random order.
std::vector<Kill> Kills(Dice& dice) {
  std::vector<Kill> kills = {{.job = "worker", .index = static_cast<int>(dice.Below(kWorkers))},
                             {.job = "ps", .index = static_cast<int>(dice.Below(kServers))},
                             {.job = "master"},
                             {}};
  for (Kill& kill : kills) {
    kill.step = dice.Below(kSteps);
    kill.delay = dice.Time(kDelay);
    kill.absence = dice.Time(kAbsence);
  }
  std::stable_sort(kills.begin(), kills.end(), [](const Kill& a, const Kill& b) { return a.step < b.step; });
  return kills;
}

class KilledTraining {
 public:
  KilledTraining(const Settings& settings, std::string directory, std::vector<Kill> kills, bool background)
      : settings_(settings), directory_(std::move(directory)), kills_(std::move(kills)), background_(background) {}

  // Returns the final variables.
  absl::StatusOr<std::string> Run() {
    std::filesystem::create_directories(directory_);
    ASSIGN_OR_RETURN(cluster_, JobCluster::Start(settings_.weir, directory_));
    ASSIGN_OR_RETURN(run_, JobRun::Start({.target = cluster_->target(),
                                          .directory = directory_ + "/job",
                                          .steps = kSteps,
                                          .checkpoint_steps = kCheckpointSteps,
                                          .background = background_}));
    RETURN_IF_ERROR(Disturb());
    for (std::future<absl::Status>& task : returning_) RETURN_IF_ERROR(task.get());
    return run_->Result();
  }

 private:
  absl::Status Disturb() {
    auto next = kills_.begin();
    while (true) {
      ASSIGN_OR_RETURN(const Progress progress, run_->Next(kPatience));
      if (progress.kind == Progress::kEnded) break;
      if (progress.kind != Progress::kBegun && progress.kind != Progress::kStep) continue;
      for (; next != kills_.end() && progress.step >= next->step; ++next) RETURN_IF_ERROR(Strike(*next));
    }
    if (next == kills_.end()) return absl::OkStatus();
    return errors::Internal("the job ended before ", kills_.end() - next, " of the kills");
  }

  absl::Status Strike(const Kill& kill) {
    absl::SleepFor(kill.delay);
    if (kill.job.empty()) {
      RETURN_IF_ERROR(run_->KillChief());
      absl::SleepFor(kill.absence);
      return run_->LaunchChief();
    }
    if (cluster_->tasks().Kill(kill.job, kill.index) < 0)
      return errors::Internal(kill.ToString(), ": it had ended by itself");
    returning_.push_back(std::async(std::launch::async, [this, kill] {
      absl::SleepFor(kill.absence);
      return cluster_->tasks().Restart(kill.job, kill.index);
    }));
    return absl::OkStatus();
  }

  const Settings& settings_;
  const std::string directory_;
  const std::vector<Kill> kills_;
  const bool background_;  // saves
  std::unique_ptr<JobCluster> cluster_;
  std::unique_ptr<JobRun> run_;
  std::vector<std::future<absl::Status>> returning_;  // waits in its destructor: before the cluster's
};

}  // namespace

absl::StatusOr<Verdict> MeasureKill(const Settings& settings) {
  const int64_t runs = settings.runs > 0 ? settings.runs : settings.brief ? 2 : 200;
  const absl::Time start = MonotonicNow();
  ASSIGN_OR_RETURN(const std::string expected,
                   KilledTraining(settings, settings.directory + "/undisturbed", {}, false).Run());
  int64_t num_kills = 0, differ = 0, failed = 0;
  for (int64_t i = 0; i < runs; ++i) {
    Dice dice(settings.seed, static_cast<uint64_t>(i));
    const std::vector<Kill> kills = Kills(dice);
    num_kills += static_cast<int64_t>(kills.size());
    const std::string directory = absl::StrCat(settings.directory, "/kill-", i);
    const absl::StatusOr<std::string> result = KilledTraining(settings, directory, kills, i % 2 == 1).Run();
    const std::string difference = result.ok() ? Difference(expected, *result) : result.status().ToString();
    if (difference.empty()) {
      std::filesystem::remove_all(directory);
      continue;
    }
    ++(result.ok() ? differ : failed);
    Explain(absl::StrCat(
        "kill: run ", i, " of seed ", settings.seed, ", files in ", directory, " (",
        absl::StrJoin(kills, "; ", [](std::string* out, const Kill& kill) { out->append(kill.ToString()); }),
        "): ", difference));
  }
  return Print({.measure = "kill",
                .runs = absl::StrCat(runs, " runs, ", num_kills, " kills, ", Seconds(MonotonicNow() - start)),
                .figure = absl::StrCat(failed, " failed, ", differ, " differ in a bit"),
                .bound = "0, 0",
                .ok = failed + differ == 0});
}

}  // namespace weir::chaos
