// The op of a fused expression, and its attributes.
#pragma once

#include <string>
#include <vector>

#include "core/fusion/fused_expression.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

// Inputs of types Tin, outputs of types Tout. The attributes steps (FusedStep::ToString), outputs, fold, axes and
// keep_dims are FusedExpression's; names lists the replaced nodes, one per step, for errors. Inserted by workers into
// their partitions, never by clients.
inline constexpr char kFusedElementwiseOp[] = "_FusedElementwise";

struct FusedNode {
  FusedExpression expression;
  std::vector<std::string> names;  // of the nodes of the steps, and of the reduction
};

// Sets op and attributes.
void SetFusedNode(const FusedNode& node, tensorflow::NodeDef* def);
// INVALID_ARGUMENT, naming the node, unless CheckFusedExpression accepts the expression that the attributes describe.
absl::StatusOr<FusedNode> ReadFusedNode(const tensorflow::NodeDef& def);

}  // namespace weir
