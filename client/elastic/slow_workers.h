// Finds the slow workers of a training, by the times that all of them report.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/elastic/elastic_training.h"
#include "weir/regroup.pb.h"

namespace weir {

// Every worker sees the same times, and so finds the same ones. Not thread-safe.
class SlowWorkers {
 public:
  using Worker = std::pair<std::string, uint64_t>;  // task and run

  SlowWorkers(StragglerPolicy policy, int min_workers) : policy_(policy), min_workers_(min_workers) {}

  // own[rank]: of one measured step. Returns those that are slow from now on; never so many that fewer than the minimum
  // are left.
  std::set<Worker> Add(const TrainingGeneration& generation, const std::vector<absl::Duration>& own);

 private:
  const StragglerPolicy policy_;
  const int min_workers_;
  std::map<Worker, int> slow_for_;  // measured steps in turn
};

}  // namespace weir
