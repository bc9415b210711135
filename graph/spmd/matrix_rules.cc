// Matrix products, biases, and classification losses.
#include "graph/spmd/op_rule.h"

namespace weir::spmd {
namespace {

std::optional<OpRule> MatMul(const RuleContext& c) {
  const char* a = c.Attr<bool>("transpose_a") ? "km" : "mk";
  const char* b = c.Attr<bool>("transpose_b") ? "nk" : "kn";
  return RuleFromLabels(c, absl::StrCat(a, ",", b, "->mn"));
}

std::optional<OpRule> BatchMatMul(const RuleContext& c) {
  OpRule rule;
  const TensorShape &a = c.inputs[0], &b = c.inputs[1], &y = c.outputs[0];
  if (a.dims() < 2 || b.dims() < 2) return std::nullopt;
  const int batch = y.dims() - 2;
  OpRule::Dims batch_dims;
  for (int d = 0; d < batch; ++d) batch_dims.push_back({rule.AddFactor(y.dim_size(d))});
  const int m = rule.AddFactor(y.dim_size(batch)), n = rule.AddFactor(y.dim_size(batch + 1));
  const bool adj_x = c.Attr<bool>("adj_x"), adj_y = c.Attr<bool>("adj_y");
  const int k = rule.AddFactor(a.dim_size(a.dims() - (adj_x ? 2 : 1)), /*is_reduced=*/true);
  const auto operand = [&](const TensorShape& shape, int rows, int columns) {
    OpRule::Dims dims;
    for (int d = 0; d < shape.dims() - 2; ++d) {
      const int at = batch - (shape.dims() - 2) + d;
      dims.push_back(shape.dim_size(d) == y.dim_size(at) ? batch_dims[at] : OpRule::Dim{});
    }
    dims.push_back({rows});
    dims.push_back({columns});
    return dims;
  };
  rule.inputs = {adj_x ? operand(a, k, m) : operand(a, m, k), adj_y ? operand(b, n, k) : operand(b, k, n)};
  rule.outputs = {operand(y, m, n)};
  return rule;
}

// The dimension of the channels, or -1.
int ChannelDim(const RuleContext& c, int rank) {
  const std::string format = c.Attr<std::string>("data_format");
  if (rank < 2) return -1;
  return format.size() > 1 && format[1] == 'C' ? 1 : rank - 1;
}

std::optional<OpRule> BiasAdd(const RuleContext& c) {
  const TensorShape& shape = c.outputs[0];
  const int channels = ChannelDim(c, shape.dims());
  if (channels < 0) return std::nullopt;
  OpRule rule;
  OpRule::Dims all;
  for (int d = 0; d < shape.dims(); ++d) all.push_back({rule.AddFactor(shape.dim_size(d))});
  rule.inputs = {all, {all[channels]}};
  rule.outputs = {all};
  return rule;
}

std::optional<OpRule> BiasAddGrad(const RuleContext& c) {
  const TensorShape& shape = c.inputs[0];
  const int channels = ChannelDim(c, shape.dims());
  if (channels < 0) return std::nullopt;
  OpRule rule;
  OpRule::Dims all;
  for (int d = 0; d < shape.dims(); ++d) all.push_back({rule.AddFactor(shape.dim_size(d), d != channels)});
  rule.inputs = {all};
  rule.outputs = {{all[channels]}};
  rule.linear = {0};
  return rule;
}

std::optional<OpRule> Softmax(const RuleContext& c) {
  const TensorShape& shape = c.inputs[0];
  OpRule rule;
  OpRule::Dims all;
  for (int d = 0; d < shape.dims(); ++d) {
    all.push_back({rule.AddFactor(shape.dim_size(d), /*is_reduced=*/false, d == shape.dims() - 1)});
  }
  rule.inputs = {all};
  rule.outputs = {all};
  return rule;
}

std::optional<OpRule> SparseSoftmaxLoss(const RuleContext& c) { return RuleFromLabels(c, "bc,b->b,bc", "c"); }
std::optional<OpRule> SoftmaxLoss(const RuleContext& c) {
  return c.inputs[0] == c.inputs[1] ? RuleFromLabels(c, "bc,bc->b,bc", "c") : std::nullopt;
}

}  // namespace

void AddMatrixRules(OpRules& rules) {
  rules.Add({"MatMul"}, MatMul);
  rules.Add({"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}, BatchMatMul);
  rules.Add({"BiasAdd"}, BiasAdd);
  rules.Add({"BiasAddGrad"}, BiasAddGrad);
  rules.Add({"LogSoftmax", "Softmax"}, Softmax);
  rules.Add({"SparseSoftmaxCrossEntropyWithLogits"}, SparseSoftmaxLoss);
  rules.Add({"SoftmaxCrossEntropyWithLogits"}, SoftmaxLoss);
}

}  // namespace weir::spmd
