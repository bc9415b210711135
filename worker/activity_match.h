// Maps GPU activities to the nodes that launched them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/gpu/gpu_activities.h"
#include "graph/graph.h"

namespace weir {

// When a node ran on the host, and on which OS thread. Times are NowNanos'.
struct HostRun {
  const Node* node = nullptr;
  int64_t start_nanos = 0, end_nanos = 0;
  uint32_t thread = 0;
};

// For each activity the node that ran on the launching thread at that time, the innermost of nested nodes; null if
// there is none: another step launched it, or a completion that ran elsewhere.
std::vector<const Node*> MatchActivities(absl::Span<const GpuActivity> activities, absl::Span<const HostRun> runs);

}  // namespace weir
