// Trials of hyper-parameters, side by side on one cluster.
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
#include "core/mutex.h"

namespace weir {

class TrialRunner;

// What a trial's function works with. Used by the trial's thread alone.
class TrialContext {
 public:
  const HyperParameters& parameters() const { return *parameters_; }
  // Where there is no such parameter, not a number, and the trial fails with InvalidArgument.
  double Get(const std::string& name);
  int index() const { return index_; }
  // How far to go, in the runner's unit (steps, say), from the beginning. With successive halving a trial that is kept
  // is called again with more, and goes on where it was: from its directory's checkpoint.
  int64_t budget() const { return budget_; }
  // The trial's own, for checkpoints; empty where the runner has none.
  const std::string& directory() const { return directory_; }
  // A task for the trial's ops: the tasks of TrialOptions in turn. "" without a cluster.
  const std::string& device() const { return device_; }

  // A session of the trial's own: variables and other state of that name of other trials are not its.
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope& scope) const;
  // Says how well the trial does after `step`; true asks it to stop, for it does worse than others did.
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
  std::string target;                // "grpc://host:port" of a cluster; empty: a runtime of its own for each trial
  std::vector<std::string> devices;  // "/job:worker/task:0" …, dealt out to the trials
  int parallel_trials = 2;
  std::string directory;  // trials get "<directory>/trial-<index>"
  SessionOptions session;
  int64_t budget = 1;  // of each trial; without successive halving
  // A trial is to stop when it reports more than the median of what others had reported at that step, once as many have
  // as this; 0: never.
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

// Trial by trial, the best first, those that failed last: an aligned table for people.
std::string ResultTable(const std::vector<TrialResult>& results);

// Each trial runs on a thread of its own, as many at a time as the options say. A trial that fails, or gives what is
// not a number, is told in its result and ends none of the others.
class TrialRunner {
 public:
  TrialRunner(TrialFunction function, TrialOptions options)
      : function_(std::move(function)), options_(std::move(options)) {}

  // By index, whatever the order in which they end.
  std::vector<TrialResult> Run(const std::vector<HyperParameters>& trials);

  struct Halving {
    int64_t least_budget = 1, most_budget = 1;
    int factor = 3;
  };
  // Successive halving (Jamieson and Talwalkar 2016): all with the least budget; the best one of `factor` of them with
  // `factor` times as much, and so on up to the most. InvalidArgument for budgets that cannot be.
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
