// Rules with L1 and L2 regularisation in the step itself: proximal descent and Adagrad, Adagrad's dual averaging, FTRL.
#include <algorithm>

#include "kernels/training/cpu_training.h"
#include "kernels/training/family.h"
#include "kernels/training/training_rules.h"

namespace weir {
namespace {

// The rule with the check of its scalars.
template <typename C>
struct ProximalAdagrad : rules::ProximalAdagrad<C> {
  using rules::ProximalAdagrad<C>::ProximalAdagrad;
  static absl::Status Check(const RuleArgs& args) {
    const auto lr = args.Get<double>(0), l1 = args.Get<double>(1), l2 = args.Get<double>(2);
    if (!(lr > 0)) return errors::InvalidArgument("lr is not a positive scalar: ", lr);
    if (!(l1 >= 0)) return errors::InvalidArgument("l1 regularization strength is not a non-negative scalar: ", l1);
    if (!(l2 >= 0)) return errors::InvalidArgument("l2 regularization strength is not a non-negative scalar: ", l2);
    return absl::OkStatus();
  }
};

absl::Status CheckFtrl(const rules::FtrlScalars& s, bool multiply_linear_by_lr) {
  if (multiply_linear_by_lr ? !(s.lr >= 0) : !(s.lr > 0))
    return errors::InvalidArgument("lr is not a positive scalar: ", s.lr);
  if (!(s.l1 >= 0)) return errors::InvalidArgument("l1 regularization strength is not a non-negative scalar: ", s.l1);
  if (!(s.l2 >= 0)) return errors::InvalidArgument("l2 regularization strength is not a non-negative scalar: ", s.l2);
  if (!(s.l2_shrinkage >= 0)) {
    return errors::InvalidArgument("l2 shrinkage regularization strength is not a non-negative scalar: ",
                                   s.l2_shrinkage);
  }
  if (!(s.lr_power <= 0)) return errors::InvalidArgument("lr_power is not a non-positive scalar: ", s.lr_power);
  return absl::OkStatus();
}

// The rule with the check of its scalars.
template <typename C, bool kV2, bool kSqrt>
struct CheckedFtrl : rules::Ftrl<C, kV2, kSqrt> {
  using rules::Ftrl<C, kV2, kSqrt>::Ftrl;
  static absl::Status Check(const RuleArgs& args) { return CheckFtrl(rules::FtrlScalars(args, kV2), args.flag); }
};

template <typename C>
using FtrlSqrt = CheckedFtrl<C, false, true>;
template <typename C>
using FtrlPow = CheckedFtrl<C, false, false>;
template <typename C>
using FtrlV2Sqrt = CheckedFtrl<C, true, true>;
template <typename C>
using FtrlV2Pow = CheckedFtrl<C, true, false>;

template <typename T, bool kV2>
void RunFtrl(const RuleArgs& args, void* const* variables, const void* gradient, int64_t n) {
  const bool root = rules::FtrlScalars(args, kV2).lr_power == -0.5;
  if constexpr (kV2) {
    (root ? RunRule<FtrlV2Sqrt, T> : RunRule<FtrlV2Pow, T>)(args, variables, gradient, n);
  } else {
    (root ? RunRule<FtrlSqrt, T> : RunRule<FtrlPow, T>)(args, variables, gradient, n);
  }
}

template <typename T, bool kV2>
std::unique_ptr<OpKernel> MakeFtrl() {
  return std::make_unique<TrainingKernel>(&RunFtrl<T, kV2>, &CheckedFtrl<float, kV2, true>::Check);
}

template <bool kV2>
absl::Status RegisterFtrl(KernelRegistry& kernels) {
  for (const char* prefix : {"Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"}) {
    const std::string op = absl::StrCat(prefix, kV2 ? "FtrlV2" : "Ftrl");
#define WEIR_REGISTER(T) RETURN_IF_ERROR(kernels.Register(Kernel(op).Cpu().Type<T>("T"), &MakeFtrl<T, kV2>));
    WEIR_FOR_FLOATS(WEIR_REGISTER)
#undef WEIR_REGISTER
  }
  return absl::OkStatus();
}

}  // namespace

FloatRule FtrlRule() { return {&RunFtrl<float, false>, &CheckedFtrl<float, false, true>::Check}; }

absl::Status RegisterProximalRules(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterRule<rules::ProximalGradientDescent>(
      kernels, {"ApplyProximalGradientDescent", "ResourceApplyProximalGradientDescent",
                "SparseApplyProximalGradientDescent", "ResourceSparseApplyProximalGradientDescent"}));
  RETURN_IF_ERROR(
      RegisterRule<ProximalAdagrad>(kernels, {"ApplyProximalAdagrad", "ResourceApplyProximalAdagrad",
                                              "SparseApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad"}));
  RETURN_IF_ERROR(RegisterRule<rules::AdagradDualAveraging>(
      kernels, {"ApplyAdagradDA", "ResourceApplyAdagradDA", "SparseApplyAdagradDA", "ResourceSparseApplyAdagradDA"}));
  RETURN_IF_ERROR(RegisterFtrl<false>(kernels));
  return RegisterFtrl<true>(kernels);
}

}  // namespace weir
