// Element-wise ops with broadcasting.
#include <algorithm>

#include "graph/spmd/op_rule.h"

namespace weir::spmd {
namespace {

std::optional<OpRule> Elementwise(const RuleContext& c) {
  OpRule rule;
  const TensorShape& shape = c.outputs[0];
  OpRule::Dims all;
  for (int d = 0; d < shape.dims(); ++d) all.push_back({rule.AddFactor(shape.dim_size(d))});
  for (const TensorShape& input : c.inputs) {
    if (input.dims() > shape.dims()) return std::nullopt;
    OpRule::Dims dims(input.dims());
    for (int d = 0; d < input.dims(); ++d) {
      const int at = shape.dims() - input.dims() + d;
      if (input.dim_size(d) == shape.dim_size(at)) dims[d] = all[at];
    }
    rule.inputs.push_back(std::move(dims));
  }
  for (const TensorShape& output : c.outputs) {
    if (output != shape) return std::nullopt;
    rule.outputs.push_back(all);
  }
  return rule;
}

std::optional<OpRule> LinearInOne(const RuleContext& c) {
  std::optional<OpRule> rule = Elementwise(c);
  if (rule) rule->linear = {0};
  return rule;
}

std::optional<OpRule> LinearInAll(const RuleContext& c) {
  std::optional<OpRule> rule = Elementwise(c);
  for (int i = 0; rule && i < static_cast<int>(c.inputs.size()); ++i) rule->linear.push_back(i);
  return rule;
}

// Linear in one factor if the other is a scalar. An integer quotient rounds.
std::optional<OpRule> Product(const RuleContext& c) {
  std::optional<OpRule> rule = Elementwise(c);
  if (!rule || (c.node.op() != "Mul" && IsInteger(c.node.output_type(0)))) return rule;
  if (c.inputs[1].dims() == 0) {
    rule->linear = {0};
  } else if (c.inputs[0].dims() == 0 && c.node.op() == "Mul") {
    rule->linear = {1};
  }
  return rule;
}

// The condition may be a vector of rows, which does not broadcast.
std::optional<OpRule> Select(const RuleContext& c) {
  if (c.inputs[0].dims() != 0 && c.inputs[0] != c.inputs[1]) return std::nullopt;
  return Elementwise(c);
}

}  // namespace

void AddElementwiseRules(OpRules& rules) {
  rules.SetElementwise(Elementwise);
  rules.Add({"Identity", "Neg", "PreventGradient", "Snapshot", "StopGradient"}, LinearInOne);
  rules.Add({"Add", "AddN", "AddV2", "Sub"}, LinearInAll);
  rules.Add({"Div", "Mul", "RealDiv"}, Product);
  rules.Add({"Select"}, Select);
}

}  // namespace weir::spmd
