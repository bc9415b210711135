// Moves a segment out of a graph, to be compiled separately.
#pragma once

#include <memory>
#include <vector>

#include "core/kernel/kernel_registry.h"
#include "graph/graph.h"

namespace weir {

struct ExtractedSegment {
  Node* node = nullptr;  // the kGpuGraphOp that replaced the segment's nodes in the graph
  // The segment's nodes, between _Arg and _Retval nodes for the inputs and outputs of `node`.
  std::unique_ptr<Graph> body;
  std::vector<bool> input_is_on_host, output_is_on_host;
};

// `segment` comes from FindSegments; its nodes are removed from `graph`.
absl::StatusOr<ExtractedSegment> ExtractSegment(const KernelRegistry& kernels, const std::vector<Node*>& segment,
                                                Graph* graph);

}  // namespace weir
