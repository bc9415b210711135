// Finds the parts of a GPU's graph that can be captured.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace weir {

// A node's role in a capture.
enum class CaptureRole : uint8_t {
  kOutside,  // copies, keeps host state or controls flow: runs in each step
  kWaits,    // as kOutside, and it may wait for other tasks that wait for this graph
  kHost,     // reads only shapes and host memory, or passes tensors on
  kEnqueues,
};

struct SegmentOptions {
  // Smaller segments do not pay for the graph launch and for copying inputs and outputs.
  int min_kernels = 4;
  // Runs with equal inputs before a capture: they fill library caches and show that such inputs recur.
  int warm_ups = 2;
};

// Finds the parts of the graph that one node each can replace; `roles` is by node id.
// - No path leaves a segment and re-enters it, in this graph or through other tasks.
// - The nodes of a segment are all dead or all alive in each step, frame and iteration, and are listed in topological
//   order.
// - Constants without inputs are in no segment; each reader's segment gets a copy.
std::vector<std::vector<Node*>> FindSegments(const Graph& graph, const std::vector<CaptureRole>& roles,
                                             const SegmentOptions& options);

}  // namespace weir
