// Rules with L1 and L2 regularisation in the step itself: proximal descent and Adagrad, Adagrad's dual averaging, FTRL.
#include <algorithm>

#include "kernels/cpu/training.h"

namespace weir {
namespace {

template <typename C>
C Sign(C x) {
  return static_cast<C>(C{0} < x) - static_cast<C>(x < C{0});
}

// The minimiser of rate * (l1 |x| + l2/2 x²) + (x - at)²/2.
template <typename C>
C Shrink(C at, C rate, C l1, C l2) {
  const C shrunk = l1 > C{0} ? Sign(at) * std::max(std::abs(at) - rate * l1, C{0}) : at;
  return shrunk / (C{1} + l2 * rate);
}

template <typename C>
struct ProximalGradientDescent {
  static constexpr int kVariables = 1;
  explicit ProximalGradientDescent(const RuleArgs& args) : lr(args.Get<C>(0)), l1(args.Get<C>(1)), l2(args.Get<C>(2)) {}
  void operator()(C g, C& var) const { var = Shrink(var - g * lr, lr, l1, l2); }
  const C lr, l1, l2;
};

template <typename C>
struct ProximalAdagrad {
  static constexpr int kVariables = 2;
  explicit ProximalAdagrad(const RuleArgs& args) : lr(args.Get<C>(0)), l1(args.Get<C>(1)), l2(args.Get<C>(2)) {}
  static absl::Status Check(const RuleArgs& args) {
    const auto lr = args.Get<double>(0), l1 = args.Get<double>(1), l2 = args.Get<double>(2);
    if (!(lr > 0)) return errors::InvalidArgument("lr is not a positive scalar: ", lr);
    if (!(l1 >= 0)) return errors::InvalidArgument("l1 regularization strength is not a non-negative scalar: ", l1);
    if (!(l2 >= 0)) return errors::InvalidArgument("l2 regularization strength is not a non-negative scalar: ", l2);
    return absl::OkStatus();
  }
  void operator()(C g, C& var, C& accum) const {
    accum += g * g;
    const C rate = lr / std::sqrt(accum);
    var = Shrink(var - g * rate, rate, l1, l2);
  }
  const C lr, l1, l2;
};

template <typename C>
struct AdagradDualAveraging {
  static constexpr int kVariables = 3;
  explicit AdagradDualAveraging(const RuleArgs& args)
      : lr(args.Get<C>(0)), l1(args.Get<C>(1)), l2(args.Get<C>(2)), step(args.Get<C>(3)) {}
  void operator()(C g, C& var, C& sum, C& squared) const {
    sum += g;
    squared += g * g;
    const C shrunk = l1 > C{0} ? Sign(sum) * std::max(std::abs(sum) - l1 * step, C{0}) : sum;
    var = -lr * shrunk / (l2 * step * lr + std::sqrt(squared));
  }
  const C lr, l1, l2, step;
};

struct FtrlScalars {
  explicit FtrlScalars(const RuleArgs& args, bool v2)
      : lr(args.Get<double>(0)),
        l1(args.Get<double>(1)),
        l2(args.Get<double>(2)),
        l2_shrinkage(v2 ? args.Get<double>(3) : 0),
        lr_power(args.Get<double>(v2 ? 4 : 3)) {}
  absl::Status Check(bool multiply_linear_by_lr) const {
    if (multiply_linear_by_lr ? !(lr >= 0) : !(lr > 0))
      return errors::InvalidArgument("lr is not a positive scalar: ", lr);
    if (!(l1 >= 0)) return errors::InvalidArgument("l1 regularization strength is not a non-negative scalar: ", l1);
    if (!(l2 >= 0)) return errors::InvalidArgument("l2 regularization strength is not a non-negative scalar: ", l2);
    if (!(l2_shrinkage >= 0)) {
      return errors::InvalidArgument("l2 shrinkage regularization strength is not a non-negative scalar: ",
                                     l2_shrinkage);
    }
    if (!(lr_power <= 0)) return errors::InvalidArgument("lr_power is not a non-positive scalar: ", lr_power);
    return absl::OkStatus();
  }
  const double lr, l1, l2, l2_shrinkage, lr_power;
};

// kSqrt: the power of the learning rate is the usual -1/2, for which there is a fast function.
template <typename C, bool kV2, bool kSqrt>
struct Ftrl {
  static constexpr int kVariables = 3;
  explicit Ftrl(const RuleArgs& args) : Ftrl(FtrlScalars(args, kV2), args.flag) {}
  Ftrl(const FtrlScalars& s, bool multiply)
      : scale(multiply ? s.lr : 1),
        inverse(multiply ? 1 : 1 / s.lr),
        l1(multiply ? s.l1 * s.lr : s.l1),
        l2(multiply ? 2 * s.l2 * s.lr : 2 * s.l2),
        l2_shrinkage(2 * s.l2_shrinkage),
        power(-s.lr_power) {}
  static absl::Status Check(const RuleArgs& args) { return FtrlScalars(args, kV2).Check(args.flag); }

  C Power(C x) const { return kSqrt ? std::sqrt(x) : std::pow(x, power); }
  void operator()(C g, C& var, C& accum, C& linear) const {
    const C new_accum = accum + g * g;
    const C root = Power(new_accum);
    const C step = kV2 ? g + l2_shrinkage * var : g;
    linear += step * scale - (root - Power(accum)) * inverse * var;
    const C clipped = std::min(std::max(linear, -l1), l1);
    var = (clipped - linear) / (root * inverse + l2);
    accum = new_accum;
  }
  const C scale, inverse, l1, l2, l2_shrinkage, power;
};

template <typename C>
using FtrlSqrt = Ftrl<C, false, true>;
template <typename C>
using FtrlPow = Ftrl<C, false, false>;
template <typename C>
using FtrlV2Sqrt = Ftrl<C, true, true>;
template <typename C>
using FtrlV2Pow = Ftrl<C, true, false>;

template <typename T, bool kV2>
void RunFtrl(const RuleArgs& args, void* const* variables, const void* gradient, int64_t n) {
  const bool root = FtrlScalars(args, kV2).lr_power == -0.5;
  if constexpr (kV2) {
    (root ? RunRule<FtrlV2Sqrt, T> : RunRule<FtrlV2Pow, T>)(args, variables, gradient, n);
  } else {
    (root ? RunRule<FtrlSqrt, T> : RunRule<FtrlPow, T>)(args, variables, gradient, n);
  }
}

template <typename T, bool kV2>
std::unique_ptr<OpKernel> MakeFtrl() {
  return std::make_unique<TrainingKernel>(&RunFtrl<T, kV2>, &Ftrl<float, kV2, true>::Check);
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

FloatRule FtrlRule() { return {&RunFtrl<float, false>, &Ftrl<float, false, true>::Check}; }

absl::Status RegisterProximalRules(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterRule<ProximalGradientDescent>(
      kernels, {"ApplyProximalGradientDescent", "ResourceApplyProximalGradientDescent",
                "SparseApplyProximalGradientDescent", "ResourceSparseApplyProximalGradientDescent"}));
  RETURN_IF_ERROR(
      RegisterRule<ProximalAdagrad>(kernels, {"ApplyProximalAdagrad", "ResourceApplyProximalAdagrad",
                                              "SparseApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad"}));
  RETURN_IF_ERROR(RegisterRule<AdagradDualAveraging>(
      kernels, {"ApplyAdagradDA", "ResourceApplyAdagradDA", "SparseApplyAdagradDA", "ResourceSparseApplyAdagradDA"}));
  RETURN_IF_ERROR(RegisterFtrl<false>(kernels));
  return RegisterFtrl<true>(kernels);
}

}  // namespace weir
