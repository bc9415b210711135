// Hyper-parameter trials, run concurrently on one cluster.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/scope.h"
#include "client/session.h"
#include "client/trials/search_space.h"
#include "core/api.h"
#include "core/mutex.h"

namespace WEIR_API weir {

class TrialRunner;

// The environment of a trial's function. Used only by the trial's thread.
class TrialContext {
 public:
  const HyperParameters& parameters() const { return *parameters_; }
  // NaN if there is no such parameter; the trial then fails with InvalidArgument.
  double Get(const std::string& name);
  int index() const { return index_; }
  // The amount of training, in the runner's unit (steps, say), from the beginning. With successive halving a surviving
  // trial is called again with a larger budget, and continues from the checkpoint in its directory.
  int64_t budget() const { return budget_; }
  // The trial's own directory, for checkpoints; empty if the runner has none.
  const std::string& directory() const { return directory_; }
  // A task for the trial's ops: TrialOptions' devices in turn. "" without a cluster.
  const std::string& device() const { return device_; }

  // The trial's own session: variables and other state are not shared with other trials.
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope& scope) const;
  // Reports the objective after `step`; returns true if the trial should stop, because it is worse than others were.
  bool Report(int64_t step, double objective);

 private:
  friend class TrialRunner;
  TrialRunner* runner_ = nullptr;
  const HyperParameters* parameters_ = nullptr;
  int index_ = 0;
  int64_t budget_ = 0;
  std::string directory_, device_;
  bool stopped_ = false;
  absl::Status error_;
};

// Returns the objective: smaller is better.
using TrialFunction = std::function<absl::StatusOr<double>(TrialContext& context)>;

struct TrialOptions {
  std::string target;                // "grpc://host:port" of a cluster; empty: each trial has its own runtime
  std::vector<std::string> devices;  // "/job:worker/task:0" …, assigned to trials in turn
  int parallel_trials = 2;
  std::string directory;  // trials get "<directory>/trial-<index>"
  SessionOptions session;
  int64_t budget = 1;  // of each trial; not for successive halving
  // A trial should stop when its objective exceeds the median of what at least this many others reported at that step;
  // 0: never.
  int median_stopping_after = 0;
};

struct TrialResult {
  int index = 0;
  HyperParameters parameters;
  absl::Status status;  // of its last run
  std::optional<double> objective;
  int64_t budget = 0;
  bool stopped_early = false;
  absl::Duration duration;
};

// One line per trial, the best first, failed ones last: an aligned table.
std::string ResultTable(const std::vector<TrialResult>& results);

// Runs each trial on its own thread, with limited concurrency. A trial that fails, or returns NaN, is reported in its
// result and does not affect the others.
class TrialRunner {
 public:
  TrialRunner(TrialFunction function, TrialOptions options)
      : function_(std::move(function)), options_(std::move(options)) {}

  // Ordered by index.
  std::vector<TrialResult> Run(const std::vector<HyperParameters>& trials);

  struct Halving {
    int64_t least_budget = 1, most_budget = 1;
    int factor = 3;
  };
  // Successive halving (Jamieson and Talwalkar 2016): all trials start with the smallest budget; the best 1/`factor` of
  // them continue with `factor` times as much, and so on up to the largest. InvalidArgument for invalid budgets.
  absl::StatusOr<std::vector<TrialResult>> RunHalving(const std::vector<HyperParameters>& trials,
                                                      const Halving& halving);

 private:
  friend class TrialContext;
  void RunRound(const std::vector<int>& indices, int64_t budget, std::vector<TrialResult>* results);
  void RunOne(int64_t budget, TrialResult* result);
  bool IsWorseThanMedian(int index, int64_t step, double objective);

  const TrialFunction function_;
  const TrialOptions options_;
  Mutex mu_;
  std::map<int64_t, std::map<int, double>> reports_ GUARDED_BY(mu_);  // by step and trial
};

}  // namespace weir
