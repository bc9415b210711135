// Which parts of a graph for one GPU can be captured.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace weir {

// What a node is to a capture.
enum class CaptureRole : uint8_t {
  kOutside,  // it copies, keeps state on the host or steers: it runs in each step
  kWaits,    // so does what may wait for others, who may wait for what this graph sends
  kHost,     // looks at shapes and host memory alone, or hands tensors on
  kEnqueues,
};

struct SegmentOptions {
  // Segments that enqueue less are not worth the launch of a graph and the copies of what goes in and out.
  int min_kernels = 4;
  // Runs with inputs alike before they are captured: they fill the caches of libraries, and show that such inputs come
  // again.
  int warm_ups = 2;
};

// `roles` by node id. Parts that can each be one node of the graph: what leaves a segment does not come back into it by
// way of other nodes, here or elsewhere, and either all of its nodes are dead in a step (and frame and iteration), or
// none. A segment's nodes are in an order that their edges allow. Constants without inputs are in none: whoever reads
// one has it.
std::vector<std::vector<Node*>> FindSegments(const Graph& graph, const std::vector<CaptureRole>& roles,
                                             const SegmentOptions& options);

}  // namespace weir
