#include "core/fusion/fused_node.h"

#include "core/op/attr_value.h"

namespace weir {
namespace {

absl::StatusOr<FusedNode> Read(const tensorflow::NodeDef& def) {
  FusedNode node;
  FusedExpression& expression = node.expression;
  std::vector<std::string> steps;
  std::vector<int64_t> outputs;
  DataTypeVector types;
  RETURN_IF_ERROR(GetNodeAttr(def, "Tin", &expression.inputs));
  RETURN_IF_ERROR(GetNodeAttr(def, "Tout", &types));
  RETURN_IF_ERROR(GetNodeAttr(def, "steps", &steps));
  RETURN_IF_ERROR(GetNodeAttr(def, "outputs", &outputs));
  RETURN_IF_ERROR(GetNodeAttr(def, "nodes", &node.names));
  RETURN_IF_ERROR(GetNodeAttr(def, "fold", &expression.fold));
  RETURN_IF_ERROR(GetNodeAttr(def, "axes", &expression.axes));
  RETURN_IF_ERROR(GetNodeAttr(def, "keep_dims", &expression.keep_dims));
  if (expression.inputs.size() > FusedExpression::kMostInputs || steps.size() > FusedExpression::kMostSteps) {
    return errors::InvalidArgument("A fused expression has at most ", FusedExpression::kMostInputs, " inputs and ",
                                   FusedExpression::kMostSteps, " steps");
  }
  DataTypeVector values = expression.inputs;
  for (const std::string& text : steps) {
    ASSIGN_OR_RETURN(expression.steps.emplace_back(), ParseFusedStep(text, values));
    values.push_back(expression.steps.back().type);
  }
  for (const int64_t output : outputs) {
    if (output < 0 || output >= static_cast<int64_t>(values.size())) {
      return errors::InvalidArgument("A fused expression has no value ", output);
    }
    expression.outputs.push_back(static_cast<int>(output));
  }
  RETURN_IF_ERROR(CheckFusedExpression(expression));
  if (types.size() != outputs.size()) return errors::InvalidArgument("A fused expression has a type for each output");
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != expression.type_of(expression.outputs[i])) {
      return errors::InvalidArgument("A fused expression gives ",
                                     DataTypeName(expression.type_of(expression.outputs[i])), " as output ", i,
                                     ", not ", DataTypeName(types[i]));
    }
  }
  const size_t num_names = expression.steps.size() + (expression.fold.empty() ? 0 : 1);
  if (node.names.size() == num_names) return node;
  return errors::InvalidArgument("A fused expression has ", num_names, " names of nodes, not ", node.names.size());
}

}  // namespace

void SetFusedNode(const FusedNode& node, tensorflow::NodeDef* def) {
  const FusedExpression& expression = node.expression;
  DataTypeVector types;
  std::vector<std::string> steps;
  for (const FusedStep& step : expression.steps) steps.push_back(step.ToString());
  for (const int output : expression.outputs) types.push_back(expression.type_of(output));
  def->set_op(kFusedElementwiseOp);
  SetNodeAttr("Tin", expression.inputs, def);
  SetNodeAttr("Tout", types, def);
  SetNodeAttr("steps", steps, def);
  SetNodeAttr("outputs", std::vector<int64_t>(expression.outputs.begin(), expression.outputs.end()), def);
  SetNodeAttr("nodes", node.names, def);
  SetNodeAttr("fold", expression.fold, def);
  SetNodeAttr("axes", expression.axes, def);
  SetNodeAttr("keep_dims", expression.keep_dims, def);
}

absl::StatusOr<FusedNode> ReadFusedNode(const tensorflow::NodeDef& def) {
  absl::StatusOr<FusedNode> node = Read(def);
  if (node.ok()) return node;
  return Annotate(node.status(), absl::StrCat("Node '", def.name(), "' (", def.op(), ")"));
}

}  // namespace weir
