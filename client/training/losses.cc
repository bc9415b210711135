#include "client/training/losses.h"

#include "client/ops.h"

namespace weir {
namespace {

// Interpolates from one-hot `labels` towards `other`.
Output Towards(const Scope& scope, const Output& labels, double smoothing, const Output& other) {
  return ops::AddV2(scope, ops::Mul(scope, labels, 1 - smoothing), ops::Mul(scope, other, smoothing));
}

Output MeanOfAll(const Scope& scope, const Output& losses) {
  const Output axes =
      ops::Range(scope, Tensor::Scalar<int32_t>(0), ops::Rank(scope, losses), Tensor::Scalar<int32_t>(1));
  return ops::Mean(scope, losses, axes);
}

}  // namespace

Output SmoothLabels(const Scope& scope, const Output& one_hot, double smoothing) {
  const Output last = ops::Sub(scope, ops::Rank(scope, one_hot), 1);
  const Output classes = ops::GatherV2(scope, ops::Shape(scope, one_hot), last, Tensor::Scalar<int32_t>(0));
  const Output even = ops::Reciprocal(scope, ops::Cast(scope, classes, one_hot.type()));
  return Towards(scope, one_hot, smoothing, even);
}

Output SmoothedSoftmaxLoss(const Scope& scope, const Output& logits, const Output& labels, int64_t classes,
                           double smoothing) {
  const Output on = scope.Constant(1, logits.type()), off = scope.Constant(0, logits.type());
  const Output one_hot = ops::OneHot(scope, labels, Tensor::Scalar<int32_t>(static_cast<int32_t>(classes)), on, off);
  const Output smooth = SmoothLabels(scope, one_hot, smoothing);
  return MeanOfAll(scope, ops::SoftmaxCrossEntropyWithLogits(scope, logits, smooth).loss);
}

Output SmoothedSigmoidLoss(const Scope& scope, const Output& logits, const Output& labels, double smoothing) {
  const Output smooth = Towards(scope, labels, smoothing, scope.Constant(0.5, labels.type()));
  // max(x, 0) - x * z + log(1 + exp(-|x|)): avoids the exponential of a large number.
  const Output linear = ops::Sub(scope, ops::Relu(scope, logits), ops::Mul(scope, logits, smooth));
  const Output bend = ops::Log1p(scope, ops::Exp(scope, ops::Neg(scope, ops::Abs(scope, logits))));
  return MeanOfAll(scope, ops::AddV2(scope, linear, bend));
}

}  // namespace weir
