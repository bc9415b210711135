// Gradient descent, momentum, and rules that look at the gradient's sign.
#include "kernels/cpu/training.h"

namespace weir {
namespace {

template <typename C>
C Sign(C x) {
  return static_cast<C>(C{0} < x) - static_cast<C>(x < C{0});
}

template <typename C>
struct GradientDescent {
  static constexpr int kVariables = 1;
  explicit GradientDescent(const RuleArgs& args) : lr(args.Get<C>(0)) {}
  void operator()(C g, C& var) const { var -= g * lr; }
  const C lr;
};

template <typename C>
struct Momentum {
  static constexpr int kVariables = 2;
  explicit Momentum(const RuleArgs& args) : lr(args.Get<C>(0)), momentum(args.Get<C>(1)), nesterov(args.flag) {}
  void operator()(C g, C& var, C& accum) const {
    accum = accum * momentum + g;
    const C plain = accum * lr, ahead = g * lr + accum * momentum * lr;
    var -= nesterov ? ahead : plain;
  }
  const C lr, momentum;
  const bool nesterov;
};

// Keras scales by the learning rate before it accumulates.
template <typename C>
struct KerasMomentum {
  static constexpr int kVariables = 2;
  explicit KerasMomentum(const RuleArgs& args) : lr(args.Get<C>(0)), momentum(args.Get<C>(1)), nesterov(args.flag) {}
  void operator()(C g, C& var, C& accum) const {
    accum = accum * momentum - g * lr;
    const C ahead = accum * momentum - g * lr;
    var += nesterov ? ahead : accum;
  }
  const C lr, momentum;
  const bool nesterov;
};

template <typename C>
struct AddSign {
  static constexpr int kVariables = 2;
  explicit AddSign(const RuleArgs& args)
      : lr(args.Get<C>(0)), alpha(args.Get<C>(1)), sign_decay(args.Get<C>(2)), beta(args.Get<C>(3)) {}
  void operator()(C g, C& var, C& m) const {
    m = m * beta + g * (C{1} - beta);
    var -= lr * (alpha + sign_decay * Sign(g) * Sign(m)) * g;
  }
  const C lr, alpha, sign_decay, beta;
};

template <typename C>
struct PowerSign {
  static constexpr int kVariables = 2;
  explicit PowerSign(const RuleArgs& args)
      : lr(args.Get<C>(0)), logbase(args.Get<C>(1)), sign_decay(args.Get<C>(2)), beta(args.Get<C>(3)) {}
  void operator()(C g, C& var, C& m) const {
    m = m * beta + g * (C{1} - beta);
    var -= lr * std::exp(logbase * sign_decay * Sign(g) * Sign(m)) * g;
  }
  const C lr, logbase, sign_decay, beta;
};

}  // namespace

FloatRule GradientDescentRule() { return {&RunRule<GradientDescent, float>, nullptr}; }

absl::Status RegisterMomentumRules(KernelRegistry& kernels) {
  RETURN_IF_ERROR(
      RegisterComplexRule<GradientDescent>(kernels, {"ApplyGradientDescent", "ResourceApplyGradientDescent"}));
  RETURN_IF_ERROR(RegisterComplexRule<Momentum>(
      kernels, {"ApplyMomentum", "ResourceApplyMomentum", "SparseApplyMomentum", "ResourceSparseApplyMomentum"}));
  RETURN_IF_ERROR(
      RegisterComplexRule<KerasMomentum>(kernels, {"ResourceApplyKerasMomentum", "ResourceSparseApplyKerasMomentum"}));
  RETURN_IF_ERROR(RegisterRule<AddSign>(kernels, {"ApplyAddSign", "ResourceApplyAddSign"}));
  return RegisterRule<PowerSign>(kernels, {"ApplyPowerSign", "ResourceApplyPowerSign"});
}

}  // namespace weir
