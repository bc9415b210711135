// Decides when variables move because of the load that was measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/state_moves/rebalance.h"

namespace weir {

// A move makes steps wait, and what was measured may not last: so variables move only if it is worth it, and then stay.
struct LoadRules {
  absl::Duration window = absl::Seconds(10);  // of each measurement
  double uneven = 1.25;  // act if the most loaded task has this multiple of the mean load, or more,
  int windows = 2;       // in so many windows in succession,
  double gain = 0.1;     // and moves take this part of the load, or more, off the most loaded task
  int rest = 3;          // windows for which a variable that was moved stays
  double least = 1e6;    // bytes a second (BalanceMeasure::kLoad): tasks with less are not loaded
};

// A BalancePolicy with a memory. Not thread-safe.
class LoadWatch {
 public:
  explicit LoadWatch(const LoadRules& rules) : rules_(rules) {}

  // `state` counts the steps of one more window. Returns nothing unless loads have been uneven for some windows.
  std::vector<PlannedMove> Next(const ClusterState& state, const std::vector<std::string>& tasks);

 private:
  bool IsUneven(const ClusterState& state, const std::vector<std::string>& tasks) const;

  const LoadRules rules_;
  int uneven_windows_ = 0;
  int64_t window_ = 0;
  std::map<StateKey, int64_t> moved_in_;  // by a group's first variable: the window in which it moved
};

}  // namespace weir
