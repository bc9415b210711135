#include "client/elastic/slow_workers.h"

#include <algorithm>

namespace weir {

std::set<SlowWorkers::Worker> SlowWorkers::Add(const TrainingGeneration& generation,
                                               const std::vector<absl::Duration>& own) {
  std::set<Worker> slow;
  if (policy_.factor <= 0 || own.empty()) return slow;
  // The lower one of two: a worker is compared with the faster half.
  std::vector<absl::Duration> sorted = own;
  std::nth_element(sorted.begin(), sorted.begin() + (sorted.size() - 1) / 2, sorted.end());
  const absl::Duration median = sorted[(sorted.size() - 1) / 2];
  std::map<Worker, int> slow_for;
  for (int rank = 0; rank < generation.member_size(); ++rank) {
    if (own[rank] <= policy_.factor * median) continue;
    const Worker worker(generation.member(rank).task(), generation.member(rank).run());
    const auto before = slow_for_.find(worker);
    slow_for[worker] = before == slow_for_.end() ? 1 : before->second + 1;
    if (slow_for[worker] < policy_.window) continue;
    if (generation.member_size() - static_cast<int>(slow.size()) > min_workers_) slow.insert(worker);
  }
  slow_for_ = std::move(slow_for);
  return slow;
}

}  // namespace weir
