#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/job.h"
#include "tests/chaos/job_run.h"
#include "tests/chaos/measures.h"

namespace weir::chaos {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);
// In the short form, which runs beside other tests.
constexpr absl::Duration kBriefBound = absl::Seconds(5);
constexpr absl::Duration kShortestAbsence = absl::Milliseconds(300), kLongestAbsence = absl::Seconds(3);

struct Role {
  std::string job;
  int tasks = 1;
  absl::Duration bound;
};

const std::vector<Role>& Roles() {
  static const auto* const roles = new std::vector<Role>{{"worker", kWorkers, absl::Milliseconds(300)},
                                                         {"ps", kServers, absl::Milliseconds(300)},
                                                         {"master", 1, absl::Seconds(1)}};
  return *roles;
}

class Returns {
 public:
  explicit Returns(const Settings& settings) : settings_(settings), dice_(settings.seed, 0) {}

  absl::Status Start() {
    ASSIGN_OR_RETURN(cluster_, JobCluster::Start(settings_.weir, settings_.directory));
    // More steps than it ever makes.
    ASSIGN_OR_RETURN(run_, JobRun::Start({.target = cluster_->target(),
                                          .directory = settings_.directory + "/job",
                                          .steps = 100'000,
                                          .checkpoint_steps = 50}));
    return AwaitStep();
  }

  // From the return of a task of the role to the next step that ends.
  absl::StatusOr<absl::Duration> Time(const Role& role) {
    for (int64_t steps = dice_.Between(60, 80); steps > 0; --steps) RETURN_IF_ERROR(AwaitStep());
    const int index = static_cast<int>(dice_.Below(role.tasks));
    cluster_->tasks().Kill(role.job, index);
    absl::SleepFor(kShortestAbsence + dice_.Time(kLongestAbsence - kShortestAbsence));
    RETURN_IF_ERROR(run_->Drain());
    RETURN_IF_ERROR(cluster_->tasks().Restart(role.job, index));
    const absl::Time returned = MonotonicNow();
    RETURN_IF_ERROR(AwaitStep());
    return MonotonicNow() - returned;
  }

 private:
  absl::Status AwaitStep() {
    while (true) {
      ASSIGN_OR_RETURN(const Progress progress, run_->Next(kPatience));
      if (progress.kind == Progress::kStep) return absl::OkStatus();
      if (progress.kind == Progress::kEnded) return errors::Internal("the job ended too early");
    }
  }

  const Settings& settings_;
  Dice dice_;
  std::unique_ptr<JobCluster> cluster_;
  std::unique_ptr<JobRun> run_;
};

// TensorFlow's times for the same: lines of "ROLE SECONDS" from the program.
absl::StatusOr<std::map<std::string, std::vector<absl::Duration>>> TensorFlowTimes(int64_t rounds) {
  const char* const python = getenv("WEIR_TF_PYTHON");
  if (python == nullptr) return errors::FailedPrecondition("WEIR_TF_PYTHON is not set");
  const std::string command = absl::StrCat(python, " ", WEIR_TENSORFLOW_RETURN, " ", rounds, " 2>/dev/null");
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return errors::Internal("cannot run ", command);
  std::map<std::string, std::vector<absl::Duration>> times;
  std::array<char, 200> line;
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    const std::vector<std::string> words = absl::StrSplit(line.data(), ' ');
    double seconds = 0;
    if (words.size() == 2 && absl::SimpleAtod(words[1], &seconds)) times[words[0]].push_back(absl::Seconds(seconds));
  }
  if (pclose(pipe) != 0) return errors::Internal(command, " failed");
  return times;
}

}  // namespace

absl::StatusOr<Verdict> MeasureReturn(const Settings& settings) {
  const int64_t rounds = settings.runs > 0 ? settings.runs : settings.brief ? 3 : 20;
  std::map<std::string, std::vector<absl::Duration>> tensorflow;
  if (!settings.brief) {
    const auto times = TensorFlowTimes(5);
    if (times.ok()) tensorflow = *times;
    if (!times.ok()) Explain(absl::StrCat("return: without TensorFlow's times: ", times.status().message()));
  }
  Returns returns(settings);
  RETURN_IF_ERROR(returns.Start());
  Verdict verdict = Verdict::kHeld;
  for (const Role& role : Roles()) {
    std::vector<absl::Duration> times;
    for (int64_t i = 0; i < rounds; ++i) {
      ASSIGN_OR_RETURN(times.emplace_back(), returns.Time(role));
    }
    const absl::Duration bound = settings.brief ? kBriefBound : role.bound;
    std::string figure = absl::StrCat("median ", Seconds(Median(times)), ", at most ", Seconds(Largest(times)));
    if (const auto& theirs = tensorflow[role.job]; !theirs.empty()) {
      absl::StrAppend(&figure, "; TensorFlow: ", Seconds(Median(theirs)), ", ", Seconds(Largest(theirs)));
    }
    verdict = Worse(verdict, Print({.measure = absl::StrCat("return ", role.job),
                                    .runs = absl::StrCat(rounds, " kills"),
                                    .figure = figure,
                                    .bound = absl::StrCat("median ", Seconds(bound)),
                                    .ok = Median(times) <= bound}));
  }
  return verdict;
}

}  // namespace weir::chaos
