#include "client/training/clipping.h"

#include "client/ops.h"

namespace weir {
namespace {

// The indices of all dimensions, for any rank.
Output AllAxes(const Scope& scope, const Output& t) {
  return ops::Range(scope, Tensor::Scalar<int32_t>(0), ops::Rank(scope, t), Tensor::Scalar<int32_t>(1));
}

Output SumOfSquares(const Scope& scope, const Output& t, const Output& axes, bool keep_dims) {
  return ops::Sum(scope, ops::Mul(scope, t, t), axes, {.keep_dims = keep_dims});
}

}  // namespace

Output ClipByValue(const Scope& scope, const Output& t, const Input& least, const Input& most) {
  return ops::Maximum(scope, ops::Minimum(scope, t, most), least);
}

Output ClipByNorm(const Scope& scope, const Output& t, const Input& clip_norm, const std::vector<int32_t>& axes) {
  const Output over = axes.empty() ? AllAxes(scope, t) : scope.Constant(Tensor::Vector<int32_t>(axes));
  const Output squares = SumOfSquares(scope, t, over, true);
  // The square root's gradient at zero is infinite, so it is not computed there.
  const Output positive = ops::Greater(scope, squares, 0);
  const Output safe = ops::SelectV2(scope, positive, squares, ops::OnesLike(scope, squares));
  const Output norm = ops::SelectV2(scope, positive, ops::Sqrt(scope, safe), squares);
  return ops::RealDiv(scope, ops::Mul(scope, t, clip_norm), ops::Maximum(scope, norm, clip_norm));
}

Output ClipByAverageNorm(const Scope& scope, const Output& t, const Input& clip_norm) {
  const Output elements = ops::Cast(scope, ops::Size(scope, t), t.type());
  const Output inverse = ops::Rsqrt(scope, SumOfSquares(scope, t, AllAxes(scope, t), false));
  const Output bound = scope.Constant(clip_norm, t.type());
  const Output scale = ops::Minimum(scope, ops::Mul(scope, inverse, elements), ops::Reciprocal(scope, bound));
  return ops::Mul(scope, ops::Mul(scope, t, bound), scale);
}

Output GlobalNorm(const Scope& scope, const std::vector<GradientAndVariable>& gradients) {
  InputList halves;
  for (const auto& [gradient, variable] : gradients) {
    if (!gradient.valid()) continue;
    const Scope beside = scope.ColocateWith(variable.handle().op());
    halves.emplace_back(ops::Cast(beside, ops::L2Loss(beside, gradient.values), DT_FLOAT));
  }
  if (halves.empty() && scope.ok()) {
    scope.UpdateStatus(errors::InvalidArgument("There are no gradients to take the norm of"));
    return Output();
  }
  return ops::Sqrt(scope.WithName("global_norm"), ops::Mul(scope, ops::AddN(scope, halves), 2));
}

std::vector<GradientAndVariable> ClipEach(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                          const std::function<Output(const Scope& scope, const Output& t)>& clip) {
  std::vector<GradientAndVariable> clipped = gradients;
  for (auto& [gradient, variable] : clipped) {
    if (gradient.valid()) gradient.values = clip(scope.ColocateWith(variable.handle().op()), gradient.values);
  }
  return clipped;
}

ClippedGradients ClipByGlobalNorm(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                  const Input& clip_norm) {
  ClippedGradients clipped{.global_norm = GlobalNorm(scope, gradients)};
  const Output bound = scope.Constant(clip_norm, DT_FLOAT);
  const Output scale = ops::RealDiv(scope, bound, ops::Maximum(scope, clipped.global_norm, bound));
  // Zero if the norm is finite, otherwise NaN: a scale of 0 would hide it.
  const Output doubt = ops::Sub(scope, clipped.global_norm, clipped.global_norm);
  const Output scale_or_nan = ops::AddV2(scope, scale, doubt);
  clipped.gradients = ClipEach(scope, gradients, [&](const Scope& beside, const Output& t) {
    const Output factor = t.type() == DT_FLOAT ? scale_or_nan : ops::Cast(beside, scale_or_nan, t.type());
    return ops::Mul(beside, t, factor);
  });
  return clipped;
}

}  // namespace weir
