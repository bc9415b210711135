// Ops on resource variables. The shape of a handle is the variable's, and its layout is fixed: values move to it.
#include "graph/spmd/op_rule.h"

namespace weir::spmd {
namespace {

// Inputs and outputs of the variable's shape have its layout, others are whole.
std::optional<OpRule> LikeVariable(const RuleContext& c) {
  OpRule rule;
  OpRule::Dims dims;
  for (int64_t size : c.inputs[0].dim_sizes()) dims.push_back({rule.AddFactor(size)});
  const auto dims_of = [&](const TensorShape& shape) {
    return shape == c.inputs[0] ? dims : OpRule::Dims(shape.dims());
  };
  for (const TensorShape& shape : c.inputs) rule.inputs.push_back(dims_of(shape));
  for (const TensorShape& shape : c.outputs) rule.outputs.push_back(dims_of(shape));
  return rule;
}

// Updates of single rows; for a split table another op would have to select the device's rows.
std::optional<OpRule> SparseUpdate(const RuleContext& c) {
  const TensorShape& table = c.inputs[0];
  if (table.dims() < 1) return std::nullopt;
  OpRule rule;
  OpRule::Dims dims;
  for (int d = 0; d < table.dims(); ++d) dims.push_back({rule.AddFactor(table.dim_size(d), false, d == 0)});
  for (const TensorShape& shape : c.inputs) {
    OpRule::Dims in(shape.dims());
    if (shape == table) {
      in = dims;
    } else if (shape.dims() == table.dims()) {
      for (int d = 1; d < table.dims(); ++d) in[d] = dims[d];
    }
    rule.inputs.push_back(std::move(in));
  }
  return rule;
}

std::optional<OpRule> ScatterSum(const RuleContext& c) {
  const TensorShape &table = c.inputs[0], &ids = c.inputs[1], &updates = c.inputs[2];
  if (table.dims() < 1 || updates.dims() != ids.dims() + table.dims() - 1) return std::nullopt;
  OpRule rule;
  OpRule::Dims rows = {{rule.AddFactor(table.dim_size(0))}}, in(ids.dims());
  for (int d = 1; d < table.dims(); ++d) {
    rows.push_back({rule.AddFactor(table.dim_size(d))});
    in.push_back(rows.back());
  }
  rule.inputs = {rows, OpRule::Dims(ids.dims()), in};
  rule.rows = OpRule::Rows{.indices = 1, .updates = 2};
  return rule;
}

}  // namespace

void AddVariableRules(OpRules& rules) {
  rules.Add({"AssignAddVariableOp",
             "AssignSubVariableOp",
             "AssignVariableOp",
             "ReadVariableOp",
             "ResourceApplyAdaMax",
             "ResourceApplyAdadelta",
             "ResourceApplyAdagrad",
             "ResourceApplyAdagradV2",
             "ResourceApplyAdam",
             "ResourceApplyAdamWithAmsgrad",
             "ResourceApplyAddSign",
             "ResourceApplyCenteredRMSProp",
             "ResourceApplyFtrl",
             "ResourceApplyFtrlV2",
             "ResourceApplyGradientDescent",
             "ResourceApplyKerasMomentum",
             "ResourceApplyMomentum",
             "ResourceApplyPowerSign",
             "ResourceApplyProximalAdagrad",
             "ResourceApplyProximalGradientDescent",
             "ResourceApplyRMSProp"},
            LikeVariable);
  rules.Add({"ResourceScatterAdd", "ResourceScatterSub"}, ScatterSum);
  rules.Add({"ResourceSparseApplyAdadelta", "ResourceSparseApplyAdagrad", "ResourceSparseApplyAdagradV2",
             "ResourceSparseApplyFtrl", "ResourceSparseApplyKerasMomentum", "ResourceSparseApplyMomentum",
             "ResourceSparseApplyRMSProp", "ResourceScatterUpdate"},
            SparseUpdate);
}

}  // namespace weir::spmd
