#include "client/optimizers/moments.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "client/initializers.h"
#include "client/ops.h"

namespace weir {
namespace {

Output OneMinus(const Scope& scope, const ResourceVariable& power) {
  return ops::Sub(scope, scope.Constant(1.0, power.dtype()), power.value());
}

}  // namespace

void BetaPowers::Make(const Scope& scope, const ResourceVariable& first) {
  const Scope beside = scope.Root().ColocateWith(first.handle().op());
  power1_ = ResourceVariable::Make(beside.WithName("beta1_power"), TensorShape(), first.dtype(),
                                   initializers::Constant(beta1_), {.trainable = false});
  power2_ = ResourceVariable::Make(beside.WithName("beta2_power"), TensorShape(), first.dtype(),
                                   initializers::Constant(beta2_), {.trainable = false});
}

Output BetaPowers::Correction1(const Scope& scope) const { return OneMinus(scope, power1_); }
Output BetaPowers::Correction2(const Scope& scope) const { return OneMinus(scope, power2_); }

std::vector<Operation> BetaPowers::Advance(const Scope& scope) const {
  const Scope beside = scope.ColocateWith(power1_.handle().op());
  return {power1_.Assign(beside, ops::Mul(beside, power1_.value(), beta1_)),
          power2_.Assign(beside, ops::Mul(beside, power2_.value(), beta2_))};
}

Output UpdateMoment(const Scope& scope, const ResourceVariable& slot, double beta, const Output& value) {
  const Output change = ops::Mul(scope, ops::Sub(scope, value, slot.value()), 1 - beta);
  const Output updated = ops::AddV2(scope, slot.value(), change);
  const Operation assigned = slot.Assign(scope, updated);
  return ops::Identity(scope.WithControlDependencies(std::vector<Operation>{assigned}), updated);
}

Output DenseGradient(const Scope& scope, const ResourceVariable& variable, const Output& rows, const Output& indices) {
  const Tensor count = Tensor::Scalar<int64_t>(variable.shape().dim_size(0));
  return ops::UnsortedSegmentSum(scope, rows, indices, count);
}

bool Decays(const WeightDecay& decay, const ResourceVariable& variable) {
  return decay.rate != 0 && std::none_of(decay.exclude.begin(), decay.exclude.end(), [&](const std::string& part) {
           return absl::StrContains(variable.name(), part);
         });
}

}  // namespace weir
