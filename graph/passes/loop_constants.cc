#include "graph/passes/loop_constants.h"

#include "core/op/attr_value.h"

namespace weir {
namespace {

bool IsConstantEnter(const Node& node) {
  bool is_constant = false;
  return node.IsEnter() && GetNodeAttr(node.def(), "is_constant", &is_constant).ok() && is_constant;
}

const Node* InputOf(const Node& node, int i) {
  const Edge* const edge = i < node.num_inputs() ? node.input_edge(i) : nullptr;
  return edge != nullptr ? edge->src : nullptr;
}

// What is pushed onto the stack that `pop` reads; nullptr unless one node pushes. Both loops get its handle by an
// Enter.
const Node* PushedFor(const Node& pop) {
  const Node* const enter = InputOf(pop, 0);
  const Node* const stack = enter != nullptr && enter->IsEnter() ? InputOf(*enter, 0) : nullptr;
  if (stack == nullptr) return nullptr;
  const Node* pushed = nullptr;
  for (const Edge* into_loop : stack->out_edges()) {
    if (!into_loop->dst->IsEnter()) continue;
    for (const Edge* use : into_loop->dst->out_edges()) {
      if (use->dst->op() != "StackPushV2" || use->is_control()) continue;
      if (pushed != nullptr) return nullptr;
      pushed = InputOf(*use->dst, 1);
    }
  }
  return pushed;
}

bool IsLikelyConstant(const Node* node) {
  // A value that a loop's gradient needs is popped once; what it was may have passed an Identity or be read each time.
  if (node != nullptr && node->op() == "StackPopV2") node = PushedFor(*node);
  while (node != nullptr && node->op() == "Identity") node = InputOf(*node, 0);
  if (node != nullptr && node->op() == "ReadVariableOp") node = InputOf(*node, 0);
  return node != nullptr && IsConstantEnter(*node);
}

}  // namespace

void MarkLoopConstants(Graph* graph) {
  for (Node* node : graph->nodes()) {
    if (node->op() != "MatMul" && node->op() != "_FusedMatMul") continue;
    if (IsLikelyConstant(InputOf(*node, 1))) SetNodeAttr(kLoopConstantAttr, true, node->mutable_def());
  }
}

}  // namespace weir
