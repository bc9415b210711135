// Assigns nodes to loop frames.
#pragma once

#include <vector>

#include "core/status.h"
#include "worker/executor/plan.h"

namespace weir {

struct FrameAssignment {
  std::vector<uint32_t> of_node;         // by node id
  std::vector<uint32_t> child_of_enter;  // by node id: the frame that an Enter opens
  std::vector<PlanFrame> frames;
};

// `settled` (by node id): constants without control inputs, which any frame may read. InvalidArgument, with the names
// of nodes and frames, if a node's inputs come from different frames, an Exit is outside any loop, a frame is entered
// from two frames, or a node is unreachable.
absl::StatusOr<FrameAssignment> AssignFrames(const Graph& graph, const std::vector<bool>& settled);

// InvalidArgument, with a node's name, for a cycle that does not pass through NextIteration.
absl::Status CheckAcyclic(const Graph& graph);

}  // namespace weir
