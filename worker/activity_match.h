// Which node of a step asked a GPU for what it did.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/gpu/gpu_activities.h"
#include "graph/graph.h"

namespace weir {

// When, and on which thread of the operating system, a node ran on the host. Times are NowNanos'.
struct HostRun {
  const Node* node = nullptr;
  int64_t start_nanos = 0, end_nanos = 0;
  uint32_t thread = 0;
};

// For each activity the node that ran on the thread that asked for it, at that time; null where there is none: what
// completed a node elsewhere, or another step, asked for it. Of nodes within nodes the innermost.
std::vector<const Node*> MatchActivities(absl::Span<const GpuActivity> activities, absl::Span<const HostRun> runs);

}  // namespace weir
