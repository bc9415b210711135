#include "client/layers/attention.h"

#include <cmath>
#include <utility>

#include "client/layers/regularization.h"
#include "client/layers/rows.h"
#include "client/ops.h"

namespace weir {
namespace layers {
namespace {

// Swaps steps and heads.
Tensor HeadsFirst() { return Tensor::Vector<int32_t>({0, 2, 1, 3}); }

// What Keras adds to a score that is masked.
double Masked(DataType dtype) { return dtype == DT_HALF ? -65504.0 : -1e9; }

Output AsBool(const Scope& scope, const Output& mask) {
  return mask.type() == DT_BOOL ? mask : ops::Cast(scope, mask, DT_BOOL);
}

// [queries, keys]
Output CausalMask(const Scope& scope, const Output& queries, const Output& keys) {
  const Tensor zero = Tensor::Scalar<int32_t>(0), one = Tensor::Scalar<int32_t>(1);
  const Output rows = ops::ExpandDims(scope, ops::Range(scope, zero, Dim(scope, queries, 1), one), one);
  const Output columns = ops::ExpandDims(scope, ops::Range(scope, zero, Dim(scope, keys, 1), one), zero);
  return ops::GreaterEqual(scope, rows, columns);
}

// The mask of all heads as a term of the scores; invalid if there is none.
Output MaskTerm(const Scope& scope, const Output& query, const Output& key, const AttentionInputs& inputs) {
  Output mask;
  if (inputs.mask.valid()) {
    mask = ops::ExpandDims(scope, AsBool(scope, inputs.mask), Tensor::Scalar<int32_t>(1));
  }
  if (inputs.causal) {
    const Output causal = CausalMask(scope, query, key);
    mask = mask.valid() ? ops::LogicalAnd(scope, mask, causal) : causal;
  }
  if (!mask.valid()) return Output();
  return ops::SelectV2(scope, mask, scope.Constant(0.0, query.type()),
                       scope.Constant(Masked(query.type()), query.type()));
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const OpScope& at, int64_t inputs, int64_t heads, int64_t head_dim,
                                       AttentionOptions options)
    : Layer(at, "multi_head_attention"),
      heads_(heads),
      head_dim_(head_dim),
      value_dim_(options.value_dim != 0 ? options.value_dim : head_dim),
      dropout_(options.dropout),
      options_(options.layer) {
  const int64_t key_inputs = options.key_inputs != 0 ? options.key_inputs : inputs;
  const int64_t value_inputs = options.value_inputs != 0 ? options.value_inputs : key_inputs;
  const int64_t outputs = options.outputs != 0 ? options.outputs : inputs;
  const TensorShape bias({heads, head_dim});
  query_ = MakeProjection(at, "query", TensorShape({inputs, heads, head_dim}), bias, inputs);
  key_ = MakeProjection(at, "key", TensorShape({key_inputs, heads, head_dim}), bias, key_inputs);
  value_ = MakeProjection(at, "value", TensorShape({value_inputs, heads, value_dim_}), TensorShape({heads, value_dim_}),
                          value_inputs);
  output_ = MakeProjection(at, "attention_output", TensorShape({heads, value_dim_, outputs}), TensorShape({outputs}),
                           heads * value_dim_);
}

MultiHeadAttention::Projection MultiHeadAttention::MakeProjection(const OpScope& at, absl::string_view name,
                                                                  const TensorShape& kernel, const TensorShape& bias,
                                                                  int64_t inputs) const {
  Projection projection;
  projection.inputs = inputs;
  projection.outputs = bias.num_elements();
  const Scope outer = scope().WithLine(at.line()).SubScope(name);
  const Scope on_device = options_.variable_device.empty() ? outer : outer.WithDevice(options_.variable_device);
  projection.kernel = ResourceVariable::Make(on_device.WithName("kernel"), kernel, options_.dtype,
                                             options_.weights ? options_.weights : initializers::GlorotUniform());
  if (options_.use_bias) {
    projection.bias = ResourceVariable::Make(on_device.WithName("bias"), bias, options_.dtype, options_.bias);
  }
  return projection;
}

Output MultiHeadAttention::Project(const Scope& scope, const Projection& projection, const Output& x) {
  const std::vector<int64_t> shape = {projection.inputs, projection.outputs};
  const Output kernel = ops::Reshape(scope, projection.kernel.value(), Tensor::Vector<int64_t>(shape));
  const Output rows = ops::Reshape(scope, x, Tensor::Vector<int64_t>({-1, projection.inputs}));
  Output y = ops::MatMul(scope, rows, kernel);
  if (projection.bias.valid()) {
    y = ops::BiasAdd(scope, y, ops::Reshape(scope, projection.bias.value(), Tensor::Vector<int64_t>({-1})));
  }
  const Tensor width = Tensor::Vector<int32_t>({static_cast<int32_t>(projection.outputs)});
  return ops::Reshape(scope, y, ops::ConcatV2(scope, {Dims(scope, x, 0, 2), width}, Tensor::Scalar<int32_t>(0)));
}

Output MultiHeadAttention::SplitHeads(const Scope& scope, const Output& x, int64_t dim) const {
  const Tensor heads = Tensor::Vector<int32_t>({static_cast<int32_t>(heads_), static_cast<int32_t>(dim)});
  const Output shape = ops::ConcatV2(scope, {Dims(scope, x, 0, 2), heads}, Tensor::Scalar<int32_t>(0));
  return ops::Transpose(scope, ops::Reshape(scope, x, shape), HeadsFirst());
}

Output MultiHeadAttention::operator()(const OpScope& at, const Output& query, const AttentionInputs& inputs) const {
  const Scope scope = at.Located();
  const Output key = inputs.key.valid() ? inputs.key : query;
  const Output value = inputs.value.valid() ? inputs.value : key;
  const Output q = SplitHeads(scope, Project(scope, query_, query), head_dim_);
  const Output k = SplitHeads(scope, Project(scope, key_, key), head_dim_);
  const Output v = SplitHeads(scope, Project(scope, value_, value), value_dim_);
  const Output products = ops::BatchMatMulV2(scope, q, k, {.adj_y = true});
  Output scores = ops::Mul(scope, products, 1 / std::sqrt(static_cast<double>(head_dim_)));
  if (const Output mask = MaskTerm(scope, query, key, inputs); mask.valid()) scores = ops::AddV2(scope, scores, mask);
  const Output weights = Dropout(scope, ops::Softmax(scope, scores), dropout_,
                                 DropoutOptions{.training = inputs.training, .seed = inputs.seed});
  // [batch, queries, heads · value_dim]
  const Output mixed = ops::Transpose(scope, ops::BatchMatMulV2(scope, weights, v), HeadsFirst());
  const Tensor width = Tensor::Vector<int32_t>({static_cast<int32_t>(heads_ * value_dim_)});
  const Output shape = ops::ConcatV2(scope, {Dims(scope, query, 0, 2), width}, Tensor::Scalar<int32_t>(0));
  return Project(scope, output_, ops::Reshape(scope, mixed, shape));
}

}  // namespace layers
}  // namespace weir
