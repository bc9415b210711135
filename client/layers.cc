#include "client/layers.h"

#include "client/ops.h"

namespace weir::layers {
namespace {

ResourceVariable MakeVariable(const Scope& scope, absl::string_view name, const TensorShape& shape,
                              const LayerOptions& options, const Initializer& initializer,
                              const VariableOptions& variable_options = {}) {
  const Scope on_device = options.variable_device.empty() ? scope : scope.WithDevice(options.variable_device);
  return ResourceVariable::Make(on_device.WithName(name), shape, options.dtype, initializer, variable_options);
}

Output Activate(const Scope& scope, const Output& x, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return ops::Relu(scope, x);
    case Activation::kSigmoid:
      return ops::Sigmoid(scope, x);
    case Activation::kTanh:
      return ops::Tanh(scope, x);
    case Activation::kNone:
      break;
  }
  return x;
}

Output AddBias(const Scope& scope, const Output& x, const ResourceVariable& bias) {
  return bias.valid() ? ops::BiasAdd(scope, x, bias.value()) : x;
}

}  // namespace

Dense::Dense(const Scope& scope, int64_t inputs, int64_t outputs, Activation activation, const LayerOptions& options)
    : activation_(activation) {
  const Scope inner = scope.SubScope(scope.op_name().empty() ? "dense" : scope.op_name());
  weights_ = MakeVariable(inner, "weights", TensorShape({inputs, outputs}), options, options.weights);
  if (options.use_bias) bias_ = MakeVariable(inner, "bias", TensorShape({outputs}), options, options.bias);
}

Output Dense::operator()(const Scope& scope, const Output& x) const {
  return Activate(scope, AddBias(scope, ops::MatMul(scope, x, weights_.value()), bias_), activation_);
}

Conv2D::Conv2D(const Scope& scope, int64_t inputs, int64_t filters, int64_t kernel_size, int64_t stride,
               std::string padding, Activation activation, const LayerOptions& options)
    : stride_(stride), padding_(std::move(padding)), activation_(activation) {
  const Scope inner = scope.SubScope(scope.op_name().empty() ? "conv" : scope.op_name());
  weights_ = MakeVariable(inner, "weights", TensorShape({kernel_size, kernel_size, inputs, filters}), options,
                          options.weights);
  if (options.use_bias) bias_ = MakeVariable(inner, "bias", TensorShape({filters}), options, options.bias);
}

Output Conv2D::operator()(const Scope& scope, const Output& x) const {
  const std::vector<int64_t> strides = {1, stride_, stride_, 1};
  return Activate(scope, AddBias(scope, ops::Conv2D(scope, x, weights_.value(), strides, padding_), bias_),
                  activation_);
}

Output MaxPool2D(const Scope& scope, const Output& x, int64_t size, int64_t stride, const std::string& padding) {
  return ops::MaxPool(scope, x, {1, size, size, 1}, {1, stride, stride, 1}, padding);
}

Output AvgPool2D(const Scope& scope, const Output& x, int64_t size, int64_t stride, const std::string& padding) {
  return ops::AvgPool(scope, x, {1, size, size, 1}, {1, stride, stride, 1}, padding);
}

BatchNorm::BatchNorm(const Scope& scope, int64_t channels, double momentum, double epsilon, const LayerOptions& options)
    : momentum_(momentum), epsilon_(epsilon) {
  const Scope inner = scope.SubScope(scope.op_name().empty() ? "batch_norm" : scope.op_name());
  const TensorShape shape({channels});
  gamma_ = MakeVariable(inner, "gamma", shape, options, initializers::Ones());
  beta_ = MakeVariable(inner, "beta", shape, options, initializers::Zeros());
  // Each replica updates its own averages.
  const VariableOptions average = {.trainable = false,
                                   .synchronization = VariableSynchronization::kOnRead,
                                   .aggregation = VariableAggregation::kMean};
  mean_ = MakeVariable(inner, "moving_mean", shape, options, initializers::Zeros(), average);
  variance_ = MakeVariable(inner, "moving_variance", shape, options, initializers::Ones(), average);
}

Output BatchNorm::operator()(const Scope& scope, const Output& x, bool training) {
  const float epsilon = static_cast<float>(epsilon_);
  if (!training) {
    return ops::FusedBatchNormV3(scope, x, gamma_.value(), beta_.value(), mean_.value(), variance_.value(),
                                 {.epsilon = epsilon, .is_training = false})
        .y;
  }
  const Tensor none = Tensor(DT_FLOAT, TensorShape({0}));
  const auto norm = ops::FusedBatchNormV3(scope, x, gamma_.value(), beta_.value(), none, none,
                                          {.epsilon = epsilon, .is_training = true});
  // average -= (1 - momentum) * (average - batch's)
  for (const auto& [average, batch] :
       {std::make_pair(mean_, norm.batch_mean), std::make_pair(variance_, norm.batch_variance)}) {
    const Scope beside = scope.WithDevice("").ColocateWith(average.handle().op());
    const Output difference = ops::Sub(scope, average.value(), batch);
    updates_.push_back(ops::AssignSubVariableOp(beside, average.handle(), ops::Mul(scope, difference, 1 - momentum_)));
  }
  return norm.y;
}

Output Dropout(const Scope& scope, const Output& x, double rate, int64_t seed) {
  const Output noise = ops::RandomUniform(scope, ops::Shape(scope, x), x.type(), {.seed = seed, .seed2 = seed});
  const Output keep = ops::Cast(scope, ops::GreaterEqual(scope, noise, rate), x.type());
  return ops::Mul(scope, ops::Mul(scope, x, 1 / (1 - rate)), keep);
}

Embedding::Embedding(const Scope& scope, int64_t vocabulary, int64_t width, const LayerOptions& options) {
  const Scope inner = scope.SubScope(scope.op_name().empty() ? "embedding" : scope.op_name());
  table_ = MakeVariable(inner, "table", TensorShape({vocabulary, width}), options, options.weights);
}

Output Embedding::operator()(const Scope& scope, const Output& ids) const {
  return ops::ResourceGather(scope.WithDevice("").ColocateWith(table_.handle().op()), table_.handle(), ids,
                             table_.dtype());
}

Output Flatten(const Scope& scope, const Output& x, int64_t features) {
  return ops::Reshape(scope, x, Tensor::Vector<int64_t>({-1, features}));
}

Output SparseSoftmaxLoss(const Scope& scope, const Output& logits, const Output& labels) {
  return ops::Mean(scope, ops::SparseSoftmaxCrossEntropyWithLogits(scope, logits, labels).loss,
                   Tensor::Vector<int32_t>({0}));
}

Output Accuracy(const Scope& scope, const Output& logits, const Output& labels) {
  const Output predicted = ops::ArgMax(scope, logits, Tensor::Scalar<int32_t>(1), {.output_type = labels.type()});
  return ops::Mean(scope, ops::Cast(scope, ops::Equal(scope, predicted, labels), DT_FLOAT),
                   Tensor::Vector<int32_t>({0}));
}

}  // namespace weir::layers
