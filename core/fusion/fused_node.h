// The op that stands for a fused expression, and how its attributes tell which.
#pragma once

#include <string>
#include <vector>

#include "core/fusion/fused_expression.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

// Inputs of types Tin, outputs of types Tout. Attributes steps (FusedStep::ToString), outputs, fold, axes and keep_dims
// are FusedExpression's; nodes names those that it stands for, one a step, for errors. A worker puts it into its part
// of a graph; no client does.
inline constexpr char kFusedElementwiseOp[] = "_FusedElementwise";

struct FusedNode {
  FusedExpression expression;
  std::vector<std::string> names;  // of the nodes that were the steps, and of the one that was the reduction
};

// Sets op and attributes.
void SetFusedNode(const FusedNode& node, tensorflow::NodeDef* def);
// INVALID_ARGUMENT, naming the node, unless the attributes are those of an expression that CheckFusedExpression
// accepts.
absl::StatusOr<FusedNode> ReadFusedNode(const tensorflow::NodeDef& def);

}  // namespace weir
