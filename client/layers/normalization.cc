#include "client/layers/normalization.h"

#include <utility>

#include "client/ops.h"

namespace weir {
namespace layers {
namespace {

Tensor LastAxis() { return Tensor::Vector<int32_t>({-1}); }

}  // namespace

BatchNorm::BatchNorm(const OpScope& at, int64_t channels, BatchNormOptions options)
    : Layer(at, "batch_normalization"), options_(std::move(options)), channels_(channels) {
  const TensorShape shape({channels});
  const LayerOptions& layer = options_.layer;
  if (options_.scale) gamma_ = MakeVariable("gamma", shape, layer, initializers::Ones());
  if (options_.center) beta_ = MakeVariable("beta", shape, layer, initializers::Zeros());
  // Each replica updates its own averages.
  const VariableOptions average = {.trainable = false,
                                   .synchronization = VariableSynchronization::kOnRead,
                                   .aggregation = VariableAggregation::kMean};
  mean_ = MakeVariable("moving_mean", shape, layer, initializers::Zeros(), average);
  variance_ = MakeVariable("moving_variance", shape, layer, initializers::Ones(), average);
}

BatchNorm::BatchNorm(const OpScope& at, int64_t channels, double momentum, double epsilon, const LayerOptions& options)
    : BatchNorm(at, channels, BatchNormOptions{.momentum = momentum, .epsilon = epsilon, .layer = options}) {}

Output BatchNorm::operator()(const OpScope& at, const Output& x, bool training) {
  const Scope scope = at.Located();
  const PartialTensorShape shape = scope.ShapeOf(x);
  if (!shape.unknown_rank() && (options_.axis >= shape.dims() || options_.axis < -shape.dims())) {
    scope.UpdateStatus(errors::InvalidArgument("The axis ", options_.axis, " of '", this->scope().name(),
                                               "' does not exist: its input has shape ", shape.ToString()));
    return Output();
  }
  const bool is_last = options_.axis == -1 || options_.axis == shape.dims() - 1;
  if (is_last && (shape.unknown_rank() || shape.dims() == 4)) return Fused(scope, x, training);
  if (shape.unknown_rank()) {
    scope.UpdateStatus(
        errors::InvalidArgument("'", this->scope().name(), "' needs the rank of its input for axis ", options_.axis));
    return Output();
  }
  return Unfused(scope, x, shape.dims(), training);
}

Output BatchNorm::Gamma(const Scope& scope) const {
  return gamma_.valid() ? gamma_.value() : ops::OnesLike(scope, mean_.value());
}

Output BatchNorm::Beta(const Scope& scope) const {
  return beta_.valid() ? beta_.value() : ops::ZerosLike(scope, mean_.value());
}

Output BatchNorm::Fused(const Scope& scope, const Output& x, bool training) {
  const float epsilon = static_cast<float>(options_.epsilon);
  if (!training) {
    return ops::FusedBatchNormV3(scope, x, Gamma(scope), Beta(scope), mean_.value(), variance_.value(),
                                 {.epsilon = epsilon, .is_training = false})
        .y;
  }
  const Tensor none = Tensor(DT_FLOAT, TensorShape({0}));
  const auto norm =
      ops::FusedBatchNormV3(scope, x, Gamma(scope), Beta(scope), none, none, {.epsilon = epsilon, .is_training = true});
  Update(scope, {norm.batch_mean, norm.batch_variance});
  return norm.y;
}

Output BatchNorm::Unfused(const Scope& scope, const Output& x, int rank, bool training) {
  const int axis = options_.axis < 0 ? options_.axis + rank : options_.axis;
  std::vector<int32_t> others;
  std::vector<int64_t> broadcast(rank, 1);
  broadcast[axis] = channels_;
  for (int32_t i = 0; i < rank; ++i) {
    if (i != axis) others.push_back(i);
  }
  // A vector of channels, beside x.
  const auto along = [&](const Output& values) {
    return axis == rank - 1 ? values : ops::Reshape(scope, values, Tensor::Vector<int64_t>(broadcast));
  };
  Moments moments = {mean_.value(), variance_.value()};
  if (training) {
    const Tensor axes = Tensor::Vector<int32_t>(others);
    moments.mean = ops::Mean(scope, x, axes);
    const Output centred = ops::Sub(scope, x, ops::StopGradient(scope, along(moments.mean)));
    moments.variance = ops::Mean(scope, ops::Square(scope, centred), axes);
    Update(scope, moments);
  }
  const Output deviation = ops::Rsqrt(scope, ops::AddV2(scope, moments.variance, options_.epsilon));
  const Output factor = gamma_.valid() ? ops::Mul(scope, deviation, gamma_.value()) : deviation;
  const Output y = ops::Mul(scope, ops::Sub(scope, x, along(moments.mean)), along(factor));
  return beta_.valid() ? ops::AddV2(scope, y, along(beta_.value())) : y;
}

// average -= (1 - momentum) * (average - batch's)
void BatchNorm::Update(const Scope& scope, const Moments& batch) {
  for (const auto& [average, value] : {std::make_pair(mean_, batch.mean), std::make_pair(variance_, batch.variance)}) {
    const Scope beside = scope.WithDevice("").ColocateWith(average.handle().op());
    const Output difference = ops::Sub(scope, average.value(), value);
    updates_.push_back(
        ops::AssignSubVariableOp(beside, average.handle(), ops::Mul(scope, difference, 1 - options_.momentum)));
  }
}

LayerNorm::LayerNorm(const OpScope& at, int64_t width, LayerNormOptions options)
    : Layer(at, "layer_normalization"), epsilon_(options.epsilon) {
  const TensorShape shape({width});
  if (options.scale) gamma_ = MakeVariable("gamma", shape, options.layer, initializers::Ones());
  if (options.center) beta_ = MakeVariable("beta", shape, options.layer, initializers::Zeros());
}

Output LayerNorm::operator()(const OpScope& at, const Output& x) const {
  const Scope scope = at.Located();
  const Output centred = ops::Sub(scope, x, ops::Mean(scope, x, LastAxis(), {.keep_dims = true}));
  const Output variance = ops::Mean(scope, ops::Square(scope, centred), LastAxis(), {.keep_dims = true});
  Output y = ops::Mul(scope, centred, ops::Rsqrt(scope, ops::AddV2(scope, variance, epsilon_)));
  if (gamma_.valid()) y = ops::Mul(scope, y, gamma_.value());
  return beta_.valid() ? ops::AddV2(scope, y, beta_.value()) : y;
}

RmsNorm::RmsNorm(const OpScope& at, int64_t width, RmsNormOptions options)
    : Layer(at, "rms_normalization"), epsilon_(options.epsilon) {
  scale_ = MakeVariable("scale", TensorShape({width}), options.layer, initializers::Ones());
}

Output RmsNorm::operator()(const OpScope& at, const Output& x) const {
  const Scope scope = at.Located();
  const Output square = ops::Mean(scope, ops::Square(scope, x), LastAxis(), {.keep_dims = true});
  const Output y = ops::Mul(scope, x, ops::Rsqrt(scope, ops::AddV2(scope, square, epsilon_)));
  return ops::Mul(scope, y, scale_.value());
}

}  // namespace layers
}  // namespace weir
