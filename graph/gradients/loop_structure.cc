#include "graph/gradients/loop_structure.h"

#include "core/op/attr_value.h"

namespace weir {
namespace {

Node* Source(const Node& node, int input) {
  const Edge* edge = node.input_edge(input);
  return edge == nullptr ? nullptr : edge->src;
}

absl::StatusOr<LoopVariable> FindVariable(Node* enter) {
  LoopVariable variable{.enter = enter};
  for (const Edge* edge : enter->out_edges()) {
    if (!edge->is_control() && edge->dst->IsMerge()) variable.merge = edge->dst;
  }
  if (variable.merge != nullptr) {
    for (int i = 0; i < variable.merge->num_inputs(); ++i) {
      Node* source = Source(*variable.merge, i);
      if (source != nullptr && source->IsNextIteration()) variable.next = source;
    }
    for (const Edge* edge : variable.merge->out_edges()) {
      if (!edge->is_control() && IsLoopSwitch(*edge->dst)) variable.switch_node = edge->dst;
    }
  }
  if (variable.switch_node == nullptr || variable.next == nullptr) {
    return errors::InvalidArgument("Node '", enter->name(),
                                   "' enters a frame that is not a while loop: there is no "
                                   "Merge, Switch and NextIteration behind it");
  }
  for (const Edge* edge : variable.switch_node->out_edges()) {
    if (!edge->is_control() && edge->src_output == 0 && edge->dst->IsExit()) variable.exit = edge->dst;
  }
  return variable;
}

}  // namespace

bool IsConstantEnter(const Node& node) {
  bool constant = false;
  return node.IsEnter() && GetNodeAttr(node.def(), "is_constant", &constant).ok() && constant;
}

bool IsLoopMerge(const Node& node) {
  if (!node.IsMerge()) return false;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Node* source = Source(node, i);
    if (source != nullptr && (source->IsEnter() || source->IsNextIteration())) return true;
  }
  return false;
}

bool IsLoopSwitch(const Node& node) {
  if (!node.IsSwitch() || node.num_inputs() != 2) return false;
  const Node* predicate = Source(node, 1);
  return predicate != nullptr && predicate->IsLoopCond();
}

absl::StatusOr<LoopStructure> FindLoop(const Graph& graph, const ControlFlowInfo& info, int frame) {
  LoopStructure loop{.frame = frame, .condition = info.frames[frame].loop_cond};
  if (loop.condition == nullptr) {
    return errors::InvalidArgument("The loop frame '", info.frames[frame].name, "' has no LoopCond node");
  }
  for (int id = 0; id < static_cast<int>(info.frame_of.size()); ++id) {
    Node* node = graph.node(id);
    if (node == nullptr || info.frame_of[id] != frame || !node->IsEnter()) continue;
    if (IsConstantEnter(*node)) {
      loop.constants.push_back(node);
    } else {
      ASSIGN_OR_RETURN(LoopVariable variable, FindVariable(node));
      loop.variables.push_back(variable);
    }
  }
  return loop;
}

}  // namespace weir
