#include "client/optimizer.h"

#include <algorithm>
#include <utility>

#include "client/gradients.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/optimizers/moments.h"

namespace weir {

namespace {

// Sums rows with the same index.
Gradient AddUpRows(const Scope& scope, const Gradient& gradient) {
  const auto rows = ops::Unique(scope, gradient.indices);
  const Output values = ops::UnsortedSegmentSum(scope, gradient.values, rows.idx, ops::Size(scope, rows.y));
  return Gradient(values, rows.y, gradient.dense_shape);
}

Gradient Average(const Scope& scope, const std::vector<Gradient>& parts) {
  const double scale = 1.0 / static_cast<double>(parts.size());
  InputList values, indices;
  for (const Gradient& part : parts) {
    values.push_back(part.values);
    if (part.is_sparse()) indices.push_back(part.indices);
  }
  if (indices.empty()) return ops::Mul(scope, ops::AddN(scope, values), scale);
  const Tensor axis = Tensor::Scalar<int32_t>(0);
  return Gradient(ops::Mul(scope, ops::ConcatV2(scope, values, axis), scale), ops::ConcatV2(scope, indices, axis),
                  parts[0].dense_shape);
}

}  // namespace

std::vector<GradientAndVariable> AverageGradients(const Scope& scope,
                                                  const std::vector<std::vector<GradientAndVariable>>& replicas) {
  std::vector<GradientAndVariable> averaged;
  for (size_t i = 0; scope.ok() && i < replicas[0].size(); ++i) {
    const ResourceVariable& variable = replicas[0][i].variable;
    std::vector<Gradient> parts;
    for (const auto& replica : replicas) {
      if (!(replica[i].variable.handle() == variable.handle())) {
        scope.UpdateStatus(errors::InvalidArgument("Replicas list their variables in different orders"));
        return {};
      }
      parts.push_back(replica[i].gradient);
    }
    const auto valid = std::count_if(parts.begin(), parts.end(), [](const Gradient& g) { return g.valid(); });
    const auto sparse = std::count_if(parts.begin(), parts.end(), [](const Gradient& g) { return g.is_sparse(); });
    if (valid == 0) continue;
    if (valid != static_cast<int64_t>(parts.size()) || (sparse != 0 && sparse != valid)) {
      scope.UpdateStatus(errors::InvalidArgument("Replicas disagree on the gradient of '", variable.name(),
                                                 "': some lack it, or some are sparse and others dense"));
      return {};
    }
    const Scope beside = scope.WithDevice("").ColocateWith(variable.handle().op());
    averaged.push_back({Average(beside, parts), variable});
  }
  return averaged;
}

std::vector<GradientAndVariable> Optimizer::ComputeGradients(const Scope& scope, const Output& loss,
                                                             std::vector<ResourceVariable> variables) const {
  if (variables.empty()) {
    for (const ResourceVariable& variable : scope.variables()) {
      if (variable.trainable()) variables.push_back(variable);
    }
  }
  std::vector<Output> xs;
  for (const ResourceVariable& variable : variables) xs.push_back(variable.handle());
  std::vector<Gradient> gradients = Gradients(scope, {loss}, xs);
  std::vector<GradientAndVariable> result;
  for (size_t i = 0; i < gradients.size(); ++i) result.push_back({gradients[i], variables[i]});
  return result;
}

Operation SlotOptimizer::ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                        const ResourceVariable& global_step) {
  std::vector<ResourceVariable> updated;
  for (const auto& [gradient, variable] : gradients) {
    if (gradient.valid()) updated.push_back(variable);
  }
  if (!has_slots_) AddSlots(scope, updated);
  const Scope inner = scope.SubScope(name_);
  std::vector<Operation> updates;
  for (const auto& [gradient, variable] : gradients) {
    if (!gradient.valid()) continue;
    const Scope colocated = inner.WithDevice(scope.device()).ColocateWith(variable.handle().op());
    const Scope beside = AfterDecay(colocated, variable, gradient.values);
    if (!gradient.is_sparse()) {
      updates.push_back(ApplyDense(beside, variable, gradient.values));
      continue;
    }
    const Gradient rows = AddsRepeatedRows() ? gradient : AddUpRows(beside, gradient);
    updates.push_back(ApplySparse(beside, variable, rows.values, rows.indices));
  }
  if (updates.empty() && scope.ok()) {
    scope.UpdateStatus(errors::InvalidArgument("No gradients provided for any variable. Does the loss depend on one?"));
    return Operation();
  }
  for (const Operation& last : Finish(inner.WithControlDependencies(updates))) updates.push_back(last);
  const Scope after = scope.WithControlDependencies(updates);
  if (!global_step.valid()) return ops::NoOp(after.WithName("train"));
  return global_step.AssignAdd(after.WithDevice("").ColocateWith(global_step.handle().op()).WithName("train"),
                               int64_t{1});
}

void SlotOptimizer::MakeSlots(const Scope& scope, const std::vector<ResourceVariable>& variables) {
  AddSlots(scope, variables);
  has_slots_ = true;
}

void SlotOptimizer::AddSlots(const Scope& scope, const std::vector<ResourceVariable>& variables) {
  if (variables.empty()) return;
  const Scope outside = scope.Root().WithNoControlDependencies();
  Prepare(outside.ColocateWith(variables[0].handle().op()), variables[0]);
  for (const ResourceVariable& variable : variables) {
    const Scope beside = outside.ColocateWith(variable.handle().op());
    for (const auto& [slot, initial_value] : Slots()) {
      slots_[{variable.handle(), slot}] = ResourceVariable::Make(
          beside.WithName(absl::StrCat(variable.name(), "/", name_, "/", slot)), variable.shape(), variable.dtype(),
          initializers::Constant(initial_value), {.trainable = false});
    }
  }
}

void SlotOptimizer::SetWeightDecay(WeightDecay decay, const Input& learning_rate) {
  decay_ = std::move(decay);
  decay_learning_rate_ = learning_rate;
}

Scope SlotOptimizer::AfterDecay(const Scope& scope, const ResourceVariable& variable, const Output& gradient) const {
  if (!Decays(decay_, variable)) return scope;
  const Scope after = scope.WithControlDependencies(std::vector<Output>{gradient});
  const Output part = ops::Mul(after, ops::Mul(after, variable.Read(after), decay_.rate), decay_learning_rate_);
  return scope.WithControlDependencies(
      std::vector<Operation>{ops::AssignSubVariableOp(after, variable.handle(), part)});
}

const ResourceVariable& SlotOptimizer::Slot(const ResourceVariable& variable, const std::string& slot) const {
  static const auto* none = new ResourceVariable;
  const auto found = slots_.find({variable.handle(), slot});
  return found == slots_.end() ? *none : found->second;
}

namespace {

class GradientDescent : public SlotOptimizer {
 public:
  explicit GradientDescent(Input rate) : SlotOptimizer("GradientDescent"), rate_(std::move(rate)) {}

 protected:
  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    return ops::ResourceApplyGradientDescent(scope, variable.handle(), rate_, gradient);
  }
  Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                        const Output& indices) override {
    return ops::ResourceScatterSub(scope, variable.handle(), indices, ops::Mul(scope, gradient, rate_));
  }
  bool AddsRepeatedRows() const override { return true; }

 private:
  const Input rate_;
};

class Momentum : public SlotOptimizer {
 public:
  Momentum(Input rate, double momentum, bool nesterov)
      : SlotOptimizer("Momentum"), rate_(std::move(rate)), momentum_(momentum), nesterov_(nesterov) {}

 protected:
  std::vector<SlotSpec> Slots() const override { return {{"accumulator"}}; }
  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    return ops::ResourceApplyMomentum(scope, variable.handle(), Slot(variable, "accumulator").handle(), rate_, gradient,
                                      momentum_, {.use_nesterov = nesterov_});
  }
  Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                        const Output& indices) override {
    return ops::ResourceSparseApplyMomentum(scope, variable.handle(), Slot(variable, "accumulator").handle(), rate_,
                                            gradient, indices, momentum_, {.use_nesterov = nesterov_});
  }

 private:
  const Input rate_;
  const double momentum_;
  const bool nesterov_;
};

class Adagrad : public SlotOptimizer {
 public:
  Adagrad(Input rate, double initial) : SlotOptimizer("Adagrad"), rate_(std::move(rate)), initial_(initial) {}

 protected:
  std::vector<SlotSpec> Slots() const override { return {{"accumulator", initial_}}; }
  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    return ops::ResourceApplyAdagrad(scope, variable.handle(), Slot(variable, "accumulator").handle(), rate_, gradient);
  }
  Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                        const Output& indices) override {
    return ops::ResourceSparseApplyAdagrad(scope, variable.handle(), Slot(variable, "accumulator").handle(), rate_,
                                           gradient, indices);
  }

 private:
  const Input rate_;
  const double initial_;
};

class Adam : public SlotOptimizer {
 public:
  Adam(const std::string& name, Input rate, double beta1, double beta2, double epsilon)
      : SlotOptimizer(name), rate_(std::move(rate)), beta1_(beta1), beta2_(beta2), epsilon_(epsilon) {}

 protected:
  std::vector<SlotSpec> Slots() const override { return {{"m"}, {"v"}}; }
  void Prepare(const Scope& scope, const ResourceVariable& first) override {
    const Scope beside = scope.Root().ColocateWith(first.handle().op());
    beta1_power_ = ResourceVariable::Make(beside.WithName("beta1_power"), TensorShape(), first.dtype(),
                                          initializers::Constant(beta1_), {.trainable = false});
    beta2_power_ = ResourceVariable::Make(beside.WithName("beta2_power"), TensorShape(), first.dtype(),
                                          initializers::Constant(beta2_), {.trainable = false});
  }

  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    const ResourceVariable& m = Slot(variable, "m");
    const ResourceVariable& v = Slot(variable, "v");
    return ops::ResourceApplyAdam(scope, variable.handle(), m.handle(), v.handle(), beta1_power_.value(),
                                  beta2_power_.value(), rate_, beta1_, beta2_, epsilon_, gradient);
  }

  // Like TensorFlow: all moments decay, and the gradient is added at its rows.
  Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                        const Output& indices) override {
    const ResourceVariable& m = Slot(variable, "m");
    const ResourceVariable& v = Slot(variable, "v");
    const Output m_new = Decay(scope, m, beta1_, ops::Mul(scope, gradient, 1 - beta1_), indices);
    const Output v_new = Decay(scope, v, beta2_, ops::Mul(scope, ops::Square(scope, gradient), 1 - beta2_), indices);
    const Output one = scope.Constant(1.0, variable.dtype());
    const Output rate =
        ops::Div(scope, ops::Mul(scope, ops::Sqrt(scope, ops::Sub(scope, one, beta2_power_.value())), rate_),
                 ops::Sub(scope, one, beta1_power_.value()));
    const Output root = ops::AddV2(scope, ops::Sqrt(scope, v_new), epsilon_);
    return ops::AssignSubVariableOp(scope, variable.handle(), ops::Mul(scope, rate, ops::RealDiv(scope, m_new, root)));
  }

  std::vector<Operation> Finish(const Scope& scope) override {
    const Scope beside = scope.ColocateWith(beta1_power_.handle().op());
    return {beta1_power_.Assign(beside, ops::Mul(beside, beta1_power_.value(), beta1_)),
            beta2_power_.Assign(beside, ops::Mul(beside, beta2_power_.value(), beta2_))};
  }

 private:
  static Output Decay(const Scope& scope, const ResourceVariable& slot, double decay, const Output& addition,
                      const Output& indices) {
    const Operation decayed = slot.Assign(scope, ops::Mul(scope, slot.value(), decay));
    const Scope then = scope.WithControlDependencies(std::vector<Operation>{decayed});
    const Operation added = ops::ResourceScatterAdd(then, slot.handle(), indices, addition);
    return slot.Read(scope.WithControlDependencies(std::vector<Operation>{added}));
  }

  const Input rate_;
  const double beta1_, beta2_, epsilon_;
  ResourceVariable beta1_power_, beta2_power_;
};

class RMSProp : public SlotOptimizer {
 public:
  RMSProp(Input rate, double decay, double momentum, double epsilon)
      : SlotOptimizer("RMSProp"), rate_(std::move(rate)), decay_(decay), momentum_(momentum), epsilon_(epsilon) {}

 protected:
  std::vector<SlotSpec> Slots() const override { return {{"rms", 1}, {"momentum"}}; }
  Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) override {
    const ResourceVariable& ms = Slot(variable, "rms");
    const ResourceVariable& mom = Slot(variable, "momentum");
    return ops::ResourceApplyRMSProp(scope, variable.handle(), ms.handle(), mom.handle(), rate_, decay_, momentum_,
                                     epsilon_, gradient);
  }
  Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                        const Output& indices) override {
    const ResourceVariable& ms = Slot(variable, "rms");
    const ResourceVariable& mom = Slot(variable, "momentum");
    return ops::ResourceSparseApplyRMSProp(scope, variable.handle(), ms.handle(), mom.handle(), rate_, decay_,
                                           momentum_, epsilon_, gradient, indices);
  }

 private:
  const Input rate_;
  const double decay_, momentum_, epsilon_;
};

// With the options' weight decay.
template <typename Options>
std::unique_ptr<Optimizer> Decaying(std::unique_ptr<SlotOptimizer> optimizer, const Options& options) {
  optimizer->SetWeightDecay(options.weight_decay, options.learning_rate);
  return optimizer;
}

}  // namespace

std::unique_ptr<Optimizer> GradientDescentOptimizer(const GradientDescentOptions& options) {
  return Decaying(std::make_unique<GradientDescent>(options.learning_rate), options);
}
std::unique_ptr<Optimizer> MomentumOptimizer(const MomentumOptions& options) {
  return Decaying(std::make_unique<Momentum>(options.learning_rate, options.momentum, options.use_nesterov), options);
}
std::unique_ptr<Optimizer> AdagradOptimizer(const AdagradOptions& options) {
  return Decaying(std::make_unique<Adagrad>(options.learning_rate, options.initial_accumulator_value), options);
}
std::unique_ptr<Optimizer> AdamOptimizer(const AdamOptions& options) {
  return std::make_unique<Adam>("Adam", options.learning_rate, options.beta1, options.beta2, options.epsilon);
}
std::unique_ptr<Optimizer> AdamWOptimizer(const AdamWOptions& options) {
  return Decaying(std::make_unique<Adam>("AdamW", options.learning_rate, options.beta1, options.beta2, options.epsilon),
                  options);
}
std::unique_ptr<Optimizer> RMSPropOptimizer(const RMSPropOptions& options) {
  return Decaying(std::make_unique<RMSProp>(options.learning_rate, options.decay, options.momentum, options.epsilon),
                  options);
}

}  // namespace weir
