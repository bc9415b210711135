// Rules that scale each element by the history of its gradients: Adam and its kin, Adagrad, RMSProp, Adadelta.
#include <algorithm>

#include "kernels/cpu/training.h"

namespace weir {
namespace {

template <typename C>
struct Adam {
  static constexpr int kVariables = 3;
  explicit Adam(const RuleArgs& args)
      : beta1(args.Get<C>(3)),
        beta2(args.Get<C>(4)),
        epsilon(args.Get<C>(5)),
        of_gradient(args.flag ? C{1} - beta1 : C{0}),
        of_momentum(args.flag ? beta1 : C{1}),
        alpha(args.Get<C>(2) * std::sqrt(C{1} - args.Get<C>(1)) / (C{1} - args.Get<C>(0))) {}
  void operator()(C g, C& var, C& m, C& v) const {
    m += (g - m) * (C{1} - beta1);
    v += (g * g - v) * (C{1} - beta2);
    var -= (g * of_gradient + of_momentum * m) * alpha / (std::sqrt(v) + epsilon);
  }
  const C beta1, beta2, epsilon;
  const C of_gradient, of_momentum;  // Nesterov's step looks ahead; a branch in the loop would keep it scalar
  const C alpha;
};

template <typename C>
struct AmsGrad {
  static constexpr int kVariables = 4;
  explicit AmsGrad(const RuleArgs& args)
      : beta1(args.Get<C>(3)), beta2(args.Get<C>(4)), epsilon(args.Get<C>(5)), alpha(Adam<C>(args).alpha) {}
  void operator()(C g, C& var, C& m, C& v, C& vhat) const {
    m += (g - m) * (C{1} - beta1);
    v += (g * g - v) * (C{1} - beta2);
    vhat = std::max(vhat, v);
    var -= m * alpha / (std::sqrt(vhat) + epsilon);
  }
  const C beta1, beta2, epsilon, alpha;
};

template <typename C>
struct AdaMax {
  static constexpr int kVariables = 3;
  explicit AdaMax(const RuleArgs& args)
      : rate(args.Get<C>(1) / (C{1} - args.Get<C>(0))),
        beta1(args.Get<C>(2)),
        beta2(args.Get<C>(3)),
        epsilon(args.Get<C>(4)) {}
  void operator()(C g, C& var, C& m, C& v) const {
    m += (g - m) * (C{1} - beta1);
    v = std::max(beta2 * v, std::abs(g));
    var -= rate * (m / (v + epsilon));
  }
  const C rate, beta1, beta2, epsilon;
};

template <typename C>
struct Adagrad {
  static constexpr int kVariables = 2;
  explicit Adagrad(const RuleArgs& args) : lr(args.Get<C>(0)), update_slots(args.flag) {}
  void operator()(C g, C& var, C& accum) const {
    accum += update_slots ? g * g : C{0};
    var -= g * lr / std::sqrt(accum);
  }
  const C lr;
  const bool update_slots;
};

template <typename C>
struct AdagradV2 {
  static constexpr int kVariables = 2;
  explicit AdagradV2(const RuleArgs& args) : lr(args.Get<C>(0)), epsilon(args.Get<C>(1)), update_slots(args.flag) {}
  void operator()(C g, C& var, C& accum) const {
    accum += update_slots ? g * g : C{0};
    var -= g * lr / (std::sqrt(accum) + epsilon);
  }
  const C lr, epsilon;
  const bool update_slots;
};

template <typename C>
struct RmsProp {
  static constexpr int kVariables = 3;
  explicit RmsProp(const RuleArgs& args)
      : lr(args.Get<C>(0)), rho(args.Get<C>(1)), momentum(args.Get<C>(2)), epsilon(args.Get<C>(3)) {}
  void operator()(C g, C& var, C& ms, C& mom) const {
    ms += (g * g - ms) * (C{1} - rho);
    mom = mom * momentum + g * lr / std::sqrt(ms + epsilon);
    var -= mom;
  }
  const C lr, rho, momentum, epsilon;
};

template <typename C>
struct CenteredRmsProp {
  static constexpr int kVariables = 4;
  explicit CenteredRmsProp(const RuleArgs& args)
      : lr(args.Get<C>(0)), rho(args.Get<C>(1)), momentum(args.Get<C>(2)), epsilon(args.Get<C>(3)) {}
  void operator()(C g, C& var, C& mg, C& ms, C& mom) const {
    ms += (g * g - ms) * (C{1} - rho);
    mg += (g - mg) * (C{1} - rho);
    mom = mom * momentum + g * lr / std::sqrt(ms - mg * mg + epsilon);
    var -= mom;
  }
  const C lr, rho, momentum, epsilon;
};

template <typename C>
struct Adadelta {
  static constexpr int kVariables = 3;
  explicit Adadelta(const RuleArgs& args) : lr(args.Get<C>(0)), rho(args.Get<C>(1)), epsilon(args.Get<C>(2)) {}
  void operator()(C g, C& var, C& accum, C& accum_update) const {
    accum = accum * rho + g * g * (C{1} - rho);
    const C update = std::sqrt(accum_update + epsilon) / std::sqrt(accum + epsilon) * g;
    var -= update * lr;
    accum_update = accum_update * rho + update * update * (C{1} - rho);
  }
  const C lr, rho, epsilon;
};

}  // namespace

FloatRule AdagradRule() { return {&RunRule<Adagrad, float>, nullptr}; }
FloatRule AdamRule() { return {&RunRule<Adam, float>, nullptr}; }

absl::Status RegisterAdaptiveRules(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterComplexRule<Adam>(kernels, {"ApplyAdam", "ResourceApplyAdam"}));
  RETURN_IF_ERROR(RegisterRule<AmsGrad>(kernels, {"ResourceApplyAdamWithAmsgrad"}));
  RETURN_IF_ERROR(RegisterRule<AdaMax>(kernels, {"ApplyAdaMax", "ResourceApplyAdaMax"}));
  RETURN_IF_ERROR(RegisterComplexRule<Adagrad>(
      kernels, {"ApplyAdagrad", "ResourceApplyAdagrad", "SparseApplyAdagrad", "ResourceSparseApplyAdagrad"}));
  RETURN_IF_ERROR(RegisterComplexRule<AdagradV2>(
      kernels, {"ApplyAdagradV2", "ResourceApplyAdagradV2", "SparseApplyAdagradV2", "ResourceSparseApplyAdagradV2"}));
  RETURN_IF_ERROR(RegisterComplexRule<RmsProp>(
      kernels, {"ApplyRMSProp", "ResourceApplyRMSProp", "SparseApplyRMSProp", "ResourceSparseApplyRMSProp"}));
  RETURN_IF_ERROR(RegisterComplexRule<CenteredRmsProp>(
      kernels, {"ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp", "SparseApplyCenteredRMSProp",
                "ResourceSparseApplyCenteredRMSProp"}));
  return RegisterComplexRule<Adadelta>(
      kernels, {"ApplyAdadelta", "ResourceApplyAdadelta", "SparseApplyAdadelta", "ResourceSparseApplyAdadelta"});
}

}  // namespace weir
