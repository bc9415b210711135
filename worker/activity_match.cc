#include "worker/activity_match.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace weir {

std::vector<const Node*> MatchActivities(absl::Span<const GpuActivity> activities, absl::Span<const HostRun> runs) {
  absl::flat_hash_map<uint32_t, std::vector<HostRun>> by_thread;
  for (const HostRun& run : runs) by_thread[run.thread].push_back(run);
  for (auto& [thread, of_thread] : by_thread) {
    std::sort(of_thread.begin(), of_thread.end(),
              [](const HostRun& a, const HostRun& b) { return a.start_nanos < b.start_nanos; });
  }
  std::vector<const Node*> nodes;
  for (const GpuActivity& activity : activities) {
    const Node*& node = nodes.emplace_back(nullptr);
    const auto found = by_thread.find(activity.thread);
    if (found == by_thread.end()) continue;
    const std::vector<HostRun>& of_thread = found->second;
    auto run = std::upper_bound(of_thread.begin(), of_thread.end(), activity.enqueued_nanos,
                                [](int64_t time, const HostRun& other) { return time < other.start_nanos; });
    // The latest run that had begun, or one that encloses it.
    while (node == nullptr && run != of_thread.begin()) {
      --run;
      if (activity.enqueued_nanos <= run->end_nanos) node = run->node;
    }
  }
  return nodes;
}

}  // namespace weir
