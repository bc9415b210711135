// Rules that scale each element by the history of its gradients: Adam and its kin, Adagrad, RMSProp, Adadelta.
#include "kernels/training/cpu_training.h"
#include "kernels/training/family.h"
#include "kernels/training/training_rules.h"

namespace weir {
FloatRule AdagradRule() { return {&RunRule<rules::Adagrad, float>, nullptr}; }
FloatRule AdamRule() { return {&RunRule<rules::Adam, float>, nullptr}; }

absl::Status RegisterAdaptiveRules(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterComplexRule<rules::Adam>(kernels, {"ApplyAdam", "ResourceApplyAdam"}));
  RETURN_IF_ERROR(RegisterRule<rules::AmsGrad>(kernels, {"ResourceApplyAdamWithAmsgrad"}));
  RETURN_IF_ERROR(RegisterRule<rules::AdaMax>(kernels, {"ApplyAdaMax", "ResourceApplyAdaMax"}));
  RETURN_IF_ERROR(RegisterComplexRule<rules::Adagrad>(
      kernels, {"ApplyAdagrad", "ResourceApplyAdagrad", "SparseApplyAdagrad", "ResourceSparseApplyAdagrad"}));
  RETURN_IF_ERROR(RegisterComplexRule<rules::AdagradV2>(
      kernels, {"ApplyAdagradV2", "ResourceApplyAdagradV2", "SparseApplyAdagradV2", "ResourceSparseApplyAdagradV2"}));
  RETURN_IF_ERROR(RegisterComplexRule<rules::RmsProp>(
      kernels, {"ApplyRMSProp", "ResourceApplyRMSProp", "SparseApplyRMSProp", "ResourceSparseApplyRMSProp"}));
  RETURN_IF_ERROR(RegisterComplexRule<rules::CenteredRmsProp>(
      kernels, {"ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp", "SparseApplyCenteredRMSProp",
                "ResourceSparseApplyCenteredRMSProp"}));
  return RegisterComplexRule<rules::Adadelta>(
      kernels, {"ApplyAdadelta", "ResourceApplyAdadelta", "SparseApplyAdadelta", "ResourceSparseApplyAdadelta"});
}

}  // namespace weir
