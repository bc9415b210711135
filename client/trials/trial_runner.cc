#include "client/trials/trial_runner.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

bool IsBetter(const TrialResult& a, const TrialResult& b) {
  if (a.objective.has_value() != b.objective.has_value()) return a.objective.has_value();
  if (a.objective.has_value() && *a.objective != *b.objective) return *a.objective < *b.objective;
  return a.index < b.index;
}

std::string Outcome(const TrialResult& result) {
  if (!result.status.ok()) return result.status.ToString();
  return result.stopped_early ? "stopped early" : "done";
}

}  // namespace

double TrialContext::Get(const std::string& name) {
  const auto found = parameters_->find(name);
  if (found != parameters_->end()) return found->second;
  error_.Update(errors::InvalidArgument("The trial has no parameter '", name, "'"));
  return std::numeric_limits<double>::quiet_NaN();
}

absl::StatusOr<std::unique_ptr<Session>> TrialContext::Connect(const Scope& scope) const {
  SessionOptions options = runner_->options_.session;
  options.config->set_isolate_session_state(true);
  // The trial does not depend on other tasks.
  if (!device_.empty()) options.config->add_device_filters(device_);
  const std::string& target = runner_->options_.target;
  return target.empty() ? Session::Local(scope, std::move(options))
                        : Session::Connect(target, scope, std::move(options));
}

bool TrialContext::Report(int64_t step, double objective) {
  stopped_ = runner_->IsWorseThanMedian(index_, step, objective);
  return stopped_;
}

bool TrialRunner::IsWorseThanMedian(int index, int64_t step, double objective) {
  if (options_.median_stopping_after <= 0) return false;
  MutexLock lock(mu_);
  std::vector<double> others;
  for (const auto& [trial, reported] : reports_[step]) {
    if (trial != index) others.push_back(reported);
  }
  // Diverged trials have no order, and would distort the median.
  if (std::isfinite(objective)) reports_[step][index] = objective;
  if (static_cast<int>(others.size()) < options_.median_stopping_after) return false;
  const auto middle = others.begin() + static_cast<int64_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  return !(objective <= *middle);
}

void TrialRunner::RunOne(int64_t budget, TrialResult* result) {
  TrialContext context;
  context.runner_ = this;
  context.parameters_ = &result->parameters;
  context.index_ = result->index;
  context.budget_ = budget;
  if (!options_.directory.empty()) {
    context.directory_ = JoinPath(options_.directory, absl::StrCat("trial-", result->index));
  }
  if (!options_.devices.empty()) context.device_ = options_.devices[result->index % options_.devices.size()];
  const absl::Time start = MonotonicNow();
  absl::StatusOr<double> objective = function_(context);
  if (!context.error_.ok()) objective = context.error_;
  result->duration += MonotonicNow() - start;
  result->budget = budget;
  result->status = objective.status();
  result->stopped_early = context.stopped_;
  result->objective.reset();
  if (!objective.ok()) return;
  if (std::isfinite(*objective)) {
    result->objective = *objective;
  } else {
    result->status = errors::InvalidArgument("The objective is ", *objective);
  }
}

void TrialRunner::RunRound(const std::vector<int>& indices, int64_t budget, std::vector<TrialResult>* results) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < indices.size(); i = next++) RunOne(budget, &(*results)[indices[i]]);
  };
  std::vector<std::thread> threads;
  const size_t count = std::min<size_t>(std::max(options_.parallel_trials, 1), indices.size());
  for (size_t i = 0; i < count; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

std::vector<TrialResult> TrialRunner::Run(const std::vector<HyperParameters>& trials) {
  std::vector<TrialResult> results(trials.size());
  std::vector<int> indices(trials.size());
  std::iota(indices.begin(), indices.end(), 0);
  for (const int i : indices) results[i] = {.index = i, .parameters = trials[i]};
  {
    MutexLock lock(mu_);
    reports_.clear();
  }
  RunRound(indices, options_.budget, &results);
  return results;
}

absl::StatusOr<std::vector<TrialResult>> TrialRunner::RunHalving(const std::vector<HyperParameters>& trials,
                                                                 const Halving& halving) {
  if (halving.factor < 2 || halving.least_budget < 1 || halving.most_budget < halving.least_budget) {
    return errors::InvalidArgument("Successive halving from ", halving.least_budget, " to ", halving.most_budget,
                                   " by factors of ", halving.factor);
  }
  std::vector<TrialResult> results(trials.size());
  std::vector<int> kept(trials.size());
  std::iota(kept.begin(), kept.end(), 0);
  for (const int i : kept) results[i] = {.index = i, .parameters = trials[i]};
  {
    MutexLock lock(mu_);
    reports_.clear();
  }
  for (int64_t budget = halving.least_budget; !kept.empty();) {
    RunRound(kept, budget, &results);
    if (budget == halving.most_budget) break;
    std::sort(kept.begin(), kept.end(), [&](int a, int b) { return IsBetter(results[a], results[b]); });
    kept.resize(std::max<size_t>(1, kept.size() / halving.factor));
    kept.erase(std::remove_if(kept.begin(), kept.end(), [&](int i) { return !results[i].objective.has_value(); }),
               kept.end());
    budget = budget > halving.most_budget / halving.factor ? halving.most_budget : budget * halving.factor;
  }
  return results;
}

std::string ResultTable(const std::vector<TrialResult>& results) {
  std::vector<TrialResult> sorted = results;
  std::sort(sorted.begin(), sorted.end(), IsBetter);
  size_t width = 10;
  for (const TrialResult& result : sorted) width = std::max(width, ToString(result.parameters).size());
  std::string table = absl::StrFormat("%5s  %-*s  %12s  %8s  %9s  %s\n", "trial", static_cast<int>(width), "parameters",
                                      "objective", "budget", "seconds", "outcome");
  for (const TrialResult& result : sorted) {
    const std::string objective = result.objective.has_value() ? absl::StrFormat("%.6g", *result.objective) : "-";
    absl::StrAppendFormat(&table, "%5d  %-*s  %12s  %8d  %9.2f  %s\n", result.index, static_cast<int>(width),
                          ToString(result.parameters), objective, result.budget, absl::ToDoubleSeconds(result.duration),
                          Outcome(result));
  }
  return table;
}

}  // namespace weir
