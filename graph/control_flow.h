// The loop frame of each node.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// The context of a while loop, entered by Enter nodes with its name. Frame 0 is the root (no loop).
struct LoopFrame {
  std::string name;  // attribute frame_name of its Enter nodes; empty for the root
  int parent = 0;    // index of the enclosing frame
  int64_t parallel_iterations = 10;
  Node* loop_cond = nullptr;  // one of the frame's; nullptr if it has none
};

struct ControlFlowInfo {
  std::vector<LoopFrame> frames;
  // By node id: the frame of the node's outputs, before an Exit leaves it. An Enter belongs to the frame that it opens,
  // an Exit to the one that it leaves.
  std::vector<int> frame_of;

  // The frame of the inputs of `node`: for an Enter the parent of its frame.
  int InputFrame(const Node& node) const;
  // The frame of the consumers of `node`: for an Exit the parent of its frame.
  int OutputFrame(const Node& node) const;
};

// InvalidArgument, naming the node, if frames do not nest: inputs from different frames, an Exit outside of a loop, or
// one frame name entered from two parents.
absl::StatusOr<ControlFlowInfo> AnalyzeControlFlow(const Graph& graph);

}  // namespace weir
