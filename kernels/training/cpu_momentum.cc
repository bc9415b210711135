// Gradient descent, momentum, and rules that look at the gradient's sign.
#include "kernels/training/cpu_training.h"
#include "kernels/training/family.h"
#include "kernels/training/training_rules.h"

namespace weir {
FloatRule GradientDescentRule() { return {&RunRule<rules::GradientDescent, float>, nullptr}; }

absl::Status RegisterMomentumRules(KernelRegistry& kernels) {
  RETURN_IF_ERROR(
      RegisterComplexRule<rules::GradientDescent>(kernels, {"ApplyGradientDescent", "ResourceApplyGradientDescent"}));
  RETURN_IF_ERROR(RegisterComplexRule<rules::Momentum>(
      kernels, {"ApplyMomentum", "ResourceApplyMomentum", "SparseApplyMomentum", "ResourceSparseApplyMomentum"}));
  RETURN_IF_ERROR(RegisterComplexRule<rules::KerasMomentum>(
      kernels, {"ResourceApplyKerasMomentum", "ResourceSparseApplyKerasMomentum"}));
  RETURN_IF_ERROR(RegisterRule<rules::AddSign>(kernels, {"ApplyAddSign", "ResourceApplyAddSign"}));
  return RegisterRule<rules::PowerSign>(kernels, {"ApplyPowerSign", "ResourceApplyPowerSign"});
}

}  // namespace weir
