#include "client/layers/regularization.h"

#include "client/layers/rows.h"
#include "client/ops.h"

namespace weir {
namespace layers {
namespace {

Output NoiseShape(const Scope& scope, const Output& x, const std::vector<int32_t>& noise) {
  const Output shape = ops::Shape(scope, x);
  if (noise.empty()) return shape;
  std::vector<int32_t> given;
  for (const int32_t size : noise) given.push_back(size < 0 ? 0 : size);
  const Tensor sizes = Tensor::Vector<int32_t>(given);
  return ops::SelectV2(scope, ops::Greater(scope, sizes, Tensor::Scalar<int32_t>(0)), sizes, shape);
}

}  // namespace

Output Dropout(const OpScope& at, const Output& x, double rate, const DropoutOptions& options) {
  if (!options.training || rate == 0) return x;
  const Scope scope = at.Located();
  if (rate < 0 || rate >= 1) {
    scope.UpdateStatus(errors::InvalidArgument("The rate of dropout is ", rate, "; it must be at least 0 and below 1"));
    return Output();
  }
  const Output noise = ops::RandomUniform(scope, NoiseShape(scope, x, options.noise_shape), x.type(),
                                          {.seed = options.seed, .seed2 = options.seed});
  const Output keep = ops::Cast(scope, ops::GreaterEqual(scope, noise, rate), x.type());
  return ops::Mul(scope, ops::Mul(scope, x, 1 / (1 - rate)), keep);
}

Output Dropout(const OpScope& at, const Output& x, double rate, int64_t seed) {
  return Dropout(at, x, rate, DropoutOptions{.seed = seed});
}

Output WeightPenalty(const OpScope& at, const std::vector<ResourceVariable>& weights, double l1, double l2) {
  const Scope scope = at.Located();
  InputList terms;
  for (const ResourceVariable& weight : weights) {
    const Output w = weight.value();
    const Output elements = ops::Reshape(scope, w, Tensor::Vector<int32_t>({-1}));
    const Tensor axis = Tensor::Vector<int32_t>({0});
    if (l1 != 0) terms.push_back(ops::Mul(scope, ops::Sum(scope, ops::Abs(scope, elements), axis), l1));
    if (l2 != 0) terms.push_back(ops::Mul(scope, ops::L2Loss(scope, w), 2 * l2));
  }
  return terms.empty() ? scope.Constant(0.0F) : ops::AddN(scope, terms);
}

}  // namespace layers
}  // namespace weir
