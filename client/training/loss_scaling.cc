#include "client/training/loss_scaling.h"

#include <utility>
#include <vector>

#include "client/cond.h"
#include "client/initializers.h"
#include "client/ops.h"

namespace weir {
namespace {

// Uses Div, which mixed precision does not convert: the small results must not be rounded to 16 bits.
Gradient DividedBy(const Scope& scope, const Gradient& gradient, const Output& scale) {
  Gradient unscaled = gradient;
  unscaled.values = ops::Div(scope, gradient.values, ops::Cast(scope, scale, gradient.values.type()));
  return unscaled;
}

std::vector<GradientAndVariable> ScaledGradients(const Optimizer& inner, const Scope& scope, const Output& loss,
                                                 std::vector<ResourceVariable> variables, const Output& scale) {
  const Output scaled = ops::Mul(scope, loss, ops::Cast(scope, scale, loss.type()));
  std::vector<GradientAndVariable> gradients = inner.ComputeGradients(scope, scaled, std::move(variables));
  for (auto& [gradient, variable] : gradients) {
    if (!gradient.valid()) continue;
    gradient = DividedBy(scope, gradient, scale);
  }
  return gradients;
}

class FixedScaling : public Optimizer {
 public:
  FixedScaling(std::unique_ptr<Optimizer> inner, double scale) : inner_(std::move(inner)), scale_(scale) {}

  std::vector<GradientAndVariable> ComputeGradients(const Scope& scope, const Output& loss,
                                                    std::vector<ResourceVariable> variables) const override {
    if (!(scale_ >= 1)) {
      scope.UpdateStatus(errors::InvalidArgument("A loss scale of ", scale_, "; expected at least 1"));
      return {};
    }
    const Scope own = scope.SubScope("loss_scale");
    return ScaledGradients(*inner_, own, loss, std::move(variables), own.Constant(scale_, DT_FLOAT));
  }
  Operation ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                           const ResourceVariable& global_step) override {
    return inner_->ApplyGradients(scope, gradients, global_step);
  }
  void MakeSlots(const Scope& scope, const std::vector<ResourceVariable>& variables) override {
    inner_->MakeSlots(scope, variables);
  }

 private:
  const std::unique_ptr<Optimizer> inner_;
  const double scale_;
};

class DynamicScaling : public Optimizer {
 public:
  DynamicScaling(std::unique_ptr<Optimizer> inner, const DynamicLossScale& options)
      : inner_(std::move(inner)), options_(options) {}

  std::vector<GradientAndVariable> ComputeGradients(const Scope& scope, const Output& loss,
                                                    std::vector<ResourceVariable> variables) const override {
    if (!MakeState(scope)) return {};
    return ScaledGradients(*inner_, scope.SubScope("loss_scale"), loss, std::move(variables), state_->scale.value());
  }

  Operation ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                           const ResourceVariable& global_step) override {
    if (!scope.ok()) return {};
    if (!state_->scale.valid()) {
      scope.UpdateStatus(errors::FailedPrecondition(
          "ApplyGradients of a LossScaleOptimizer follows its ComputeGradients, which scales the loss"));
      return {};
    }
    std::vector<ResourceVariable> updated;
    for (const auto& [gradient, variable] : gradients) {
      if (gradient.valid()) updated.push_back(variable);
    }
    if (updated.empty()) return inner_->ApplyGradients(scope, gradients, global_step);  // fails: no gradients
    if (!has_slots_) MakeSlots(scope, updated);
    const Scope own = scope.SubScope("loss_scale");
    const Output finite = AllFinite(own, gradients);
    const OutputList applied = Cond(
        own, finite,
        [&](const Scope& s) {
          const Operation done = inner_->ApplyGradients(s, gradients, global_step);
          return OutputList{Truth(s.WithControlDependencies(std::vector<Operation>{done}))};
        },
        [](const Scope& s) { return OutputList{Truth(s)}; }, "apply_if_finite");
    if (!scope.ok()) return {};
    std::vector<Operation> done = Adjust(own, finite);
    done.push_back(applied[0].op());
    return ops::NoOp(scope.WithControlDependencies(done).WithName("train"));
  }

  void MakeSlots(const Scope& scope, const std::vector<ResourceVariable>& variables) override {
    inner_->MakeSlots(scope, variables);
    has_slots_ = true;
  }
  bool may_skip_steps() const override { return true; }

 private:
  struct State {
    ResourceVariable scale, good_steps;
  };

  static Output Truth(const Scope& scope) { return ops::Identity(scope, scope.Constant(Tensor::Scalar<bool>(true))); }

  bool MakeState(const Scope& scope) const {
    if (!scope.ok() || state_->scale.valid()) return scope.ok();
    if (!(options_.initial_scale >= 1) || options_.growth_steps < 1 || !(options_.multiplier > 1)) {
      scope.UpdateStatus(errors::InvalidArgument("A dynamic loss scale begins with 1 or more (not ",
                                                 options_.initial_scale, "), grows after 1 step or more (not ",
                                                 options_.growth_steps, "), by more than 1 (not ", options_.multiplier,
                                                 ")"));
      return false;
    }
    const Scope outside = scope.Root().WithNoControlDependencies();
    state_->scale = ResourceVariable::Make(outside.WithName("current_loss_scale"), TensorShape(), DT_FLOAT,
                                           initializers::Constant(options_.initial_scale), {.trainable = false});
    state_->good_steps =
        ResourceVariable::Make(outside.ColocateWith(state_->scale.handle().op()).WithName("good_steps"), TensorShape(),
                               DT_INT64, initializers::Zeros(), {.trainable = false});
    return scope.ok();
  }

  // Each gradient is checked on its device.
  static Output AllFinite(const Scope& scope, const std::vector<GradientAndVariable>& gradients) {
    InputList finite;
    for (const auto& [gradient, variable] : gradients) {
      if (!gradient.valid()) continue;
      const Scope beside = scope.ColocateWith(variable.handle().op());
      std::vector<int32_t> axes(variable.shape().dims());
      for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int32_t>(i);
      finite.push_back(ops::All(beside, ops::IsFinite(beside, gradient.values), Tensor::Vector<int32_t>(axes)));
    }
    return ops::All(scope.WithName("all_finite"), ops::Pack(scope, finite), Tensor::Scalar<int32_t>(0));
  }

  std::vector<Operation> Adjust(const Scope& scope, const Output& finite) const {
    const Scope beside = scope.ColocateWith(state_->scale.handle().op());
    const Output scale = state_->scale.value();
    const Output good = ops::AddV2(beside, state_->good_steps.value(), int64_t{1});
    const Output enough = ops::GreaterEqual(beside, good, options_.growth_steps);
    const Output grown = ops::Mul(beside, scale, options_.multiplier);
    const Output may_grow = ops::LogicalAnd(beside, enough, ops::IsFinite(beside, grown));
    const Output shrunk = ops::Maximum(beside, ops::Mul(beside, scale, 1 / options_.multiplier), 1.0F);
    const Output next = ops::SelectV2(beside, finite, ops::SelectV2(beside, may_grow, grown, scale), shrunk);
    const Output counts_on = ops::LogicalAnd(beside, finite, ops::LogicalNot(beside, enough));
    return {state_->scale.Assign(beside, next),
            state_->good_steps.Assign(beside, ops::SelectV2(beside, counts_on, good, int64_t{0}))};
  }

  const std::unique_ptr<Optimizer> inner_;
  const DynamicLossScale options_;
  // Created by the first ComputeGradients.
  const std::unique_ptr<State> state_ = std::make_unique<State>();
  bool has_slots_ = false;
};

}  // namespace

std::unique_ptr<Optimizer> LossScaleOptimizer(std::unique_ptr<Optimizer> inner, const DynamicLossScale& scale) {
  return std::make_unique<DynamicScaling>(std::move(inner), scale);
}

std::unique_ptr<Optimizer> LossScaleOptimizer(std::unique_ptr<Optimizer> inner, double fixed_scale) {
  return std::make_unique<FixedScaling>(std::move(inner), fixed_scale);
}

}  // namespace weir
