#include "client/training/losses.h"

#include "client/ops.h"

namespace weir {
namespace {

// Keras keeps probabilities this far from 0 and 1.
constexpr double kFuzz = 1e-7;

Tensor LastAxis() { return Tensor::Scalar<int32_t>(-1); }

Output MeanOfLast(const Scope& scope, const Output& x) { return ops::Mean(scope, x, LastAxis()); }
Output SumOfLast(const Scope& scope, const Output& x) { return ops::Sum(scope, x, LastAxis()); }

Output EveryAxis(const Scope& scope, const Output& x) {
  return ops::Range(scope, Tensor::Scalar<int32_t>(0), ops::Rank(scope, x), Tensor::Scalar<int32_t>(1));
}

Output MeanOfAll(const Scope& scope, const Output& losses) {
  return ops::Mean(scope, losses, EveryAxis(scope, losses));
}

Output Clipped(const Scope& scope, const Output& x, double low, double high) {
  return ops::ClipByValue(scope, x, scope.Constant(low, x.type()), scope.Constant(high, x.type()));
}

Output Reduced(const Scope& scope, const Output& losses, const LossOptions& options) {
  const Output weighted = options.weights.valid() ? ops::Mul(scope, losses, options.weights) : losses;
  switch (options.reduction) {
    case LossReduction::kMean:
      return MeanOfAll(scope, weighted);
    case LossReduction::kSum:
      return ops::Sum(scope, weighted, EveryAxis(scope, weighted));
    case LossReduction::kNone:
      break;
  }
  return weighted;
}

// Interpolates from `labels` towards `other`.
Output Towards(const Scope& scope, const Output& labels, double smoothing, const Output& other) {
  return ops::AddV2(scope, ops::Mul(scope, labels, 1 - smoothing), ops::Mul(scope, other, smoothing));
}

// max(x, 0) - x * z + log(1 + exp(-|x|)): avoids the exponential of a large number.
Output SigmoidCrossentropy(const Scope& scope, const Output& logits, const Output& labels) {
  const Output linear = ops::Sub(scope, ops::Relu(scope, logits), ops::Mul(scope, logits, labels));
  const Output bend = ops::Log1p(scope, ops::Exp(scope, ops::Neg(scope, ops::Abs(scope, logits))));
  return ops::AddV2(scope, linear, bend);
}

Output LogOf(const Scope& scope, const Output& probability) {
  return ops::Log(scope, ops::AddV2(scope, probability, kFuzz));
}

// Of probabilities in [0, 1].
Output LogisticCrossentropy(const Scope& scope, const Output& predictions, const Output& labels) {
  const Output p = Clipped(scope, predictions, kFuzz, 1 - kFuzz), one = scope.Constant(1.0, predictions.type());
  const Output if_true = ops::Mul(scope, labels, LogOf(scope, p));
  const Output if_false = ops::Mul(scope, ops::Sub(scope, one, labels), LogOf(scope, ops::Sub(scope, one, p)));
  return ops::Neg(scope, ops::AddV2(scope, if_true, if_false));
}

// The number of classes: an int32 scalar.
Output Classes(const Scope& scope, const Output& x) {
  const Output last = ops::Sub(scope, ops::Rank(scope, x), 1);
  return ops::GatherV2(scope, ops::Shape(scope, x), last, Tensor::Scalar<int32_t>(0));
}

// x in rows of the last dimension, a matrix, or a vector of what is beside each.
Output AsRows(const Scope& scope, const Output& x) {
  return ops::Reshape(scope, x, ops::Pack(scope, {Tensor::Scalar<int32_t>(-1), Classes(scope, x)}));
}

Output UnitVectors(const Scope& scope, const Output& x) {
  const Output square = ops::Sum(scope, ops::Square(scope, x), LastAxis(), {.keep_dims = true});
  return ops::Mul(scope, x, ops::Rsqrt(scope, ops::Maximum(scope, square, 1e-12)));
}

}  // namespace

Output MeanSquaredError(const OpScope& at, const Output& predictions, const Output& labels,
                        const LossOptions& options) {
  const Scope scope = at.Located();
  return Reduced(scope, MeanOfLast(scope, ops::SquaredDifference(scope, predictions, labels)), options);
}

Output MeanAbsoluteError(const OpScope& at, const Output& predictions, const Output& labels,
                         const LossOptions& options) {
  const Scope scope = at.Located();
  return Reduced(scope, MeanOfLast(scope, ops::Abs(scope, ops::Sub(scope, predictions, labels))), options);
}

Output Huber(const OpScope& at, const Output& predictions, const Output& labels, const LossOptions& options) {
  const Scope scope = at.Located();
  const double delta = options.delta;
  const Output distance = ops::Abs(scope, ops::Sub(scope, predictions, labels));
  const Output near = ops::Mul(scope, ops::Square(scope, distance), 0.5);
  const Output far = ops::Sub(scope, ops::Mul(scope, distance, delta), 0.5 * delta * delta);
  const Output is_near = ops::LessEqual(scope, distance, delta);
  return Reduced(scope, MeanOfLast(scope, ops::SelectV2(scope, is_near, near, far)), options);
}

Output BinaryCrossentropy(const OpScope& at, const Output& predictions, const Output& labels,
                          const LossOptions& options) {
  const Scope scope = at.Located();
  Output smooth = labels;
  if (options.label_smoothing != 0) {
    smooth = Towards(scope, labels, options.label_smoothing, scope.Constant(0.5, labels.type()));
  }
  const Output losses = options.from_logits ? SigmoidCrossentropy(scope, predictions, smooth)
                                            : LogisticCrossentropy(scope, predictions, smooth);
  return Reduced(scope, MeanOfLast(scope, losses), options);
}

Output Hinge(const OpScope& at, const Output& predictions, const Output& labels, const LossOptions& options) {
  const Scope scope = at.Located();
  const Output bits = ops::LogicalOr(scope, ops::Equal(scope, labels, 0), ops::Equal(scope, labels, 1));
  const Output are_bits = ops::All(scope, bits, EveryAxis(scope, labels));
  const Output signs = ops::Sub(scope, ops::Mul(scope, labels, 2), 1);
  const Output product = ops::Mul(scope, ops::SelectV2(scope, are_bits, signs, labels), predictions);
  const Output one = scope.Constant(1, predictions.type());
  return Reduced(scope, MeanOfLast(scope, ops::Relu(scope, ops::Sub(scope, one, product))), options);
}

Output CategoricalCrossentropy(const OpScope& at, const Output& predictions, const Output& labels,
                               const LossOptions& options) {
  const Scope scope = at.Located();
  const Output smooth = options.label_smoothing != 0 ? SmoothLabels(scope, labels, options.label_smoothing) : labels;
  if (options.from_logits) {
    const Output losses =
        ops::SoftmaxCrossEntropyWithLogits(scope, AsRows(scope, predictions), AsRows(scope, smooth)).loss;
    const Output shape = ops::StridedSlice(scope, ops::Shape(scope, predictions), Tensor::Vector<int32_t>({0}),
                                           Tensor::Vector<int32_t>({-1}), Tensor::Vector<int32_t>({1}));
    return Reduced(scope, ops::Reshape(scope, losses, shape), options);
  }
  const Output total = ops::Sum(scope, predictions, LastAxis(), {.keep_dims = true});
  const Output p = Clipped(scope, ops::RealDiv(scope, predictions, total), kFuzz, 1 - kFuzz);
  const Output losses = ops::Neg(scope, SumOfLast(scope, ops::Mul(scope, smooth, ops::Log(scope, p))));
  return Reduced(scope, losses, options);
}

Output SparseCategoricalCrossentropy(const OpScope& at, const Output& predictions, const Output& labels,
                                     const LossOptions& options) {
  const Scope scope = at.Located();
  if (options.label_smoothing != 0) {
    const Output on = scope.Constant(1, predictions.type()), off = scope.Constant(0, predictions.type());
    return CategoricalCrossentropy(scope, predictions, ops::OneHot(scope, labels, Classes(scope, predictions), on, off),
                                   options);
  }
  const Output logits =
      options.from_logits ? predictions : ops::Log(scope, Clipped(scope, predictions, kFuzz, 1 - kFuzz));
  const Output classes = ops::Reshape(scope, labels, Tensor::Vector<int32_t>({-1}));
  const Output losses = ops::SparseSoftmaxCrossEntropyWithLogits(scope, AsRows(scope, logits), classes).loss;
  return Reduced(scope, ops::Reshape(scope, losses, ops::Shape(scope, labels)), options);
}

Output KLDivergence(const OpScope& at, const Output& predictions, const Output& labels, const LossOptions& options) {
  const Scope scope = at.Located();
  const Output p = Clipped(scope, predictions, kFuzz, 1), y = Clipped(scope, labels, kFuzz, 1);
  const Output ratio = ops::Log(scope, ops::RealDiv(scope, y, p));
  return Reduced(scope, SumOfLast(scope, ops::Mul(scope, y, ratio)), options);
}

Output CosineSimilarity(const OpScope& at, const Output& predictions, const Output& labels,
                        const LossOptions& options) {
  const Scope scope = at.Located();
  const Output products = ops::Mul(scope, UnitVectors(scope, predictions), UnitVectors(scope, labels));
  return Reduced(scope, ops::Neg(scope, SumOfLast(scope, products)), options);
}

Output SmoothLabels(const OpScope& at, const Output& one_hot, double smoothing) {
  const Scope scope = at.Located();
  const Output even = ops::Reciprocal(scope, ops::Cast(scope, Classes(scope, one_hot), one_hot.type()));
  return Towards(scope, one_hot, smoothing, even);
}

Output SmoothedSoftmaxLoss(const OpScope& at, const Output& logits, const Output& labels, int64_t classes,
                           double smoothing) {
  const Scope scope = at.Located();
  const Output on = scope.Constant(1, logits.type()), off = scope.Constant(0, logits.type());
  const Output one_hot = ops::OneHot(scope, labels, Tensor::Scalar<int32_t>(static_cast<int32_t>(classes)), on, off);
  const Output smooth = SmoothLabels(scope, one_hot, smoothing);
  return MeanOfAll(scope, ops::SoftmaxCrossEntropyWithLogits(scope, logits, smooth).loss);
}

Output SmoothedSigmoidLoss(const OpScope& at, const Output& logits, const Output& labels, double smoothing) {
  const Scope scope = at.Located();
  const Output smooth = Towards(scope, labels, smoothing, scope.Constant(0.5, labels.type()));
  return MeanOfAll(scope, SigmoidCrossentropy(scope, logits, smooth));
}

}  // namespace weir
