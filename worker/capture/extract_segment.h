// Cuts a part out of a graph, to be compiled by itself.
#pragma once

#include <memory>
#include <vector>

#include "core/kernel_registry.h"
#include "graph/graph.h"

namespace weir {

struct ExtractedSegment {
  Node* node = nullptr;  // kGpuGraphOp, in the graph: it has taken the place of the segment's nodes
  // These, between _Arg and _Retval nodes for the inputs and outputs of `node`.
  std::unique_ptr<Graph> body;
  std::vector<bool> input_is_on_host, output_is_on_host;
};

// `segment` is one of FindSegments; its nodes are removed from `graph`.
absl::StatusOr<ExtractedSegment> ExtractSegment(const KernelRegistry& kernels, const std::vector<Node*>& segment,
                                                Graph* graph);

}  // namespace weir
