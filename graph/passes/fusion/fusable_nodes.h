// Decides which nodes can be part of a fused expression.
#pragma once

#include <optional>
#include <vector>

#include "core/fusion/fused_expression.h"
#include "graph/graph.h"

namespace weir {

// `node` as a step, without its operands, which are its data inputs in order. nullopt if expressions do not support its
// op, types or attributes, for references, and if an input is not connected.
std::optional<FusedStep> StepOf(const Node& node);

struct FusedFold {
  std::string op;
  std::vector<int64_t> axes;
  bool keep_dims = false;
};
// The reduction of its first input that `node` computes; nullopt if an expression cannot end with it, or if its axes
// are not constant.
std::optional<FusedFold> FoldOf(const Node& node);

}  // namespace weir
