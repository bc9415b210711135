// The structure of a while loop.
#pragma once

#include <vector>

#include "core/status.h"
#include "graph/control_flow.h"
#include "graph/graph.h"

namespace weir {

// Enter -> Merge -> Switch -> body -> NextIteration -> Merge, and Switch -> Exit.
struct LoopVariable {
  Node* enter = nullptr;
  Node* merge = nullptr;
  Node* switch_node = nullptr;
  Node* next = nullptr;
  Node* exit = nullptr;  // nullptr if its last value is not used
};

struct LoopStructure {
  int frame = 0;
  Node* condition = nullptr;  // LoopCond
  std::vector<LoopVariable> variables;
  std::vector<Node*> constants;  // Enter nodes of loop-invariant values
};

// InvalidArgument, naming a node, for a frame that is not a while loop.
absl::StatusOr<LoopStructure> FindLoop(const Graph& graph, const ControlFlowInfo& info, int frame);

bool IsConstantEnter(const Node& node);
// A Merge of a loop variable's initial and next values.
bool IsLoopMerge(const Node& node);
// A Switch that exits the loop or continues it.
bool IsLoopSwitch(const Node& node);

}  // namespace weir
