#include <signal.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/cluster/reserved_port.h"
#include "distribute/cluster/server_process.h"
#include "tests/chaos/await.h"
#include "tests/chaos/dice.h"
#include "tests/chaos/measures.h"
#include "tests/chaos/report.h"
#include "tests/elastic/worker_process.h"

namespace weir::chaos {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr absl::Duration kJoinBound = absl::Milliseconds(200), kLeaveBound = absl::Milliseconds(300);
constexpr absl::Duration kBriefBound = absl::Seconds(5);  // beside other tests
constexpr int64_t kSteps = 10;                            // of a generation, at least

struct Worker {
  std::unique_ptr<ServerProcess> process;
  std::string address, log, result_file;
};

// Two workers of the cluster definition train. Two others join, all but one die or leave, and the second one returns.
class RegroupingWorkers {
 public:
  explicit RegroupingWorkers(const Settings& settings) : settings_(settings), dice_(settings.seed, 0) {}

  absl::StatusOr<Verdict> Measure(int64_t rounds) {
    const absl::Time start = MonotonicNow();
    for (auto& port : ports_) {
      ASSIGN_OR_RETURN(port, ReservedPort::Create());
    }
    for (int i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(lasting_[i], Static(i, 2));
    }
    for (auto& worker : lasting_) RETURN_IF_ERROR(worker.process->AwaitReady(kPatience));
    RETURN_IF_ERROR(AwaitGeneration(2));
    const pid_t pid = lasting_[0].process->pid();
    for (int64_t round = 0; round < rounds; ++round) RETURN_IF_ERROR(Round(round));
    const bool is_same_process = lasting_[0].process->pid() == pid;
    lasting_[0].process->Signal(SIGUSR1);
    RETURN_IF_ERROR(AwaitTrue("the training does not finish", kPatience, [&] { return Finished(0) && Finished(1); }));
    absl::Status exact;
    int64_t steps = 0;
    for (const Worker& worker : lasting_) {
      ASSIGN_OR_RETURN(const WorkerResult result, ReadWorkerResult(worker.result_file));
      steps = result.step;
      ASSIGN_OR_RETURN(const WorkerResult expected, TrainUndisturbed(result.step));
      exact.Update(CompareResults(result, expected));
    }
    std::vector<absl::Duration> joins, leaves;
    for (const auto& change : ParseProgress(lasting_[0].process->Log()).regroupings) {
      (change.workers > change.before ? joins : leaves).push_back(change.pause);
    }
    Verdict verdict = Print({.measure = "regroup: weights",
                             .runs = absl::StrCat(rounds, " rounds, ", steps, " steps, ", killed_, " killed, ",
                                                  stopped_, " stopped, ", Seconds(MonotonicNow() - start)),
                             .figure = absl::StrCat(exact.ok() ? "as undisturbed" : exact.ToString(), "; ",
                                                    is_same_process ? 0 : 1, " other restarts"),
                             .bound = "as undisturbed; 0",
                             .ok = exact.ok() && is_same_process});
    verdict =
        Worse(verdict, PrintPauses("regroup: pause at a join", joins, settings_.brief ? kBriefBound : kJoinBound));
    return Worse(verdict,
                 PrintPauses("regroup: pause at a leave", leaves, settings_.brief ? kBriefBound : kLeaveBound));
  }

 private:
  absl::Status Round(int64_t round) {
    std::vector<Worker> joined(2);
    for (int i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(joined[i], Launch(absl::StrCat("joined-", round, "-", i), {"--join", lasting_[0].address}, ""));
      RETURN_IF_ERROR(joined[i].process->AwaitReady(kPatience));
      RETURN_IF_ERROR(AwaitGeneration(3 + i));
    }
    std::vector<Worker*> victims = {&joined[0], &joined[1], &lasting_[1]};
    for (int left = 4; left > 1; --left) {
      const auto chosen = victims.begin() + dice_.Below(static_cast<int64_t>(victims.size()));
      absl::SleepFor(dice_.Time(absl::Milliseconds(50)));
      if (dice_.Below(3) > 0) {
        ++killed_;
        (*chosen)->process->Kill();
      } else {
        ++stopped_;
        ASSIGN_OR_RETURN(const int code, (*chosen)->process->Terminate(kPatience));
        if (code != 0) return errors::Internal("a worker ended with ", code, ": see ", (*chosen)->log);
      }
      victims.erase(chosen);
      RETURN_IF_ERROR(AwaitGeneration(left - 1));
    }
    ASSIGN_OR_RETURN(lasting_[1], Static(1, 1));
    RETURN_IF_ERROR(lasting_[1].process->AwaitReady(kPatience));
    return AwaitGeneration(2);
  }

  absl::StatusOr<Worker> Static(int index, int initial_workers) {
    const std::string cluster =
        absl::StrCat(R"({"worker": [")", ports_[0]->address(), R"(", ")", ports_[1]->address(), R"("]})");
    return Launch(
        absl::StrCat("worker-", index, "-", launched_++),
        {"--cluster", cluster, "--index", absl::StrCat(index), "--initial-workers", absl::StrCat(initial_workers)},
        ports_[index]->address());
  }
  absl::StatusOr<Worker> Launch(const std::string& name, std::vector<std::string> arguments,
                                const std::string& address) const {
    const std::string path = absl::StrCat(settings_.directory, "/", name);
    Worker worker{.address = address, .log = path + ".log", .result_file = path + ".result"};
    arguments.insert(arguments.begin(), WEIR_ELASTIC_WORKER);
    arguments.insert(arguments.end(), {"--ready-file", path + ".ready", "--result-file", worker.result_file});
    worker.process = std::make_unique<ServerProcess>(ServerProcess::Options{
        .name = name, .arguments = arguments, .ready_file = path + ".ready", .log_file = worker.log});
    RETURN_IF_ERROR(worker.process->Launch());
    return worker;
  }

  bool Finished(int i) const { return ReadWorkerResult(lasting_[i].result_file).ok(); }
  // The first worker makes steps with so many.
  absl::Status AwaitGeneration(int workers) const {
    int64_t begin = -1;
    return AwaitTrue(absl::StrCat("no steps of ", workers, " workers: see ", lasting_[0].log), kPatience, [&] {
      const WorkerProgress progress = ParseProgress(lasting_[0].process->Log());
      if (progress.workers != workers) {
        begin = -1;
      } else if (begin < 0) {
        begin = progress.step;
      }
      return begin >= 0 && progress.step >= begin + kSteps;
    });
  }

  const Settings& settings_;
  Dice dice_;
  std::unique_ptr<ReservedPort> ports_[2];
  Worker lasting_[2];
  int launched_ = 0;
  int64_t killed_ = 0, stopped_ = 0;
};

}  // namespace

absl::StatusOr<Verdict> MeasureRegroup(const Settings& settings) {
  return RegroupingWorkers(settings).Measure(settings.runs > 0 ? settings.runs : settings.brief ? 1 : 20);
}

}  // namespace weir::chaos
