// Optimizers: a loss and its variables in, one op that trains them out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "client/scope.h"
#include "client/variables.h"
#include "graph/gradients/gradient_context.h"

namespace weir {

struct GradientAndVariable {
  Gradient gradient;
  ResourceVariable variable;
};

// The mean over replicas of each variable's gradient, computed where the variable lives: synchronous data parallelism.
// Every replica lists the same variables in the same order. Sparse gradients stay sparse.
std::vector<GradientAndVariable> AverageGradients(const Scope& scope,
                                                  const std::vector<std::vector<GradientAndVariable>>& replicas);

// Builds update ops; holds no state of its own between steps (that is in variables, saved with the others). Sparse
// gradients update only the rows they name.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The gradients of `loss` with respect to `variables` (empty: all trainable ones).
  virtual std::vector<GradientAndVariable> ComputeGradients(const Scope& scope, const Output& loss,
                                                            std::vector<ResourceVariable> variables = {}) const;
  // Applies them all; then adds one to `global_step` where it is given. Variables without gradient are left alone; it
  // is an error when none has one.
  virtual Operation ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                   const ResourceVariable& global_step = {}) = 0;
  // Makes the slots that updates of these need, as each ApplyGradients does unless this was called before: so it can
  // stand in a branch of a Cond, where no variable can be made.
  virtual void MakeSlots(const Scope& scope, const std::vector<ResourceVariable>& variables) = 0;
  // Whether ApplyGradients may leave everything, the global step too, as it was.
  virtual bool may_skip_steps() const { return false; }
  Operation Minimize(const Scope& scope, const Output& loss, const ResourceVariable& global_step = {}) {
    return ApplyGradients(scope, ComputeGradients(scope, loss), global_step);
  }
};

// One that updates each variable by a rule of its own, with slots: variables beside it, on the same device.
class SlotOptimizer : public Optimizer {
 public:
  Operation ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                           const ResourceVariable& global_step = {}) override;
  void MakeSlots(const Scope& scope, const std::vector<ResourceVariable>& variables) override;

 protected:
  explicit SlotOptimizer(std::string name) : name_(std::move(name)) {}
  struct SlotSpec {
    std::string name;
    double initial_value = 0;
  };
  // What each variable has beside it.
  virtual std::vector<SlotSpec> Slots() const { return {}; }
  // Called before the updates, beside the first variable: makes, once, shared values such as Adam's powers of beta.
  virtual void Prepare(const Scope& scope, const ResourceVariable& first) {}
  virtual Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) = 0;
  // No row is named twice, unless AddsRepeatedRows.
  virtual Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                                const Output& indices) = 0;
  // Whether updating a row twice is the same as updating it once with the sum. Else rows are added up first.
  virtual bool AddsRepeatedRows() const { return false; }
  // Called once, after the updates.
  virtual std::vector<Operation> Finish(const Scope& scope) { return {}; }

  // A variable of the same shape beside `variable`, named "<variable>/<optimizer>/<slot>".
  const ResourceVariable& Slot(const ResourceVariable& variable, const std::string& slot) const;

 private:
  void AddSlots(const Scope& scope, const std::vector<ResourceVariable>& variables);

  const std::string name_;
  absl::flat_hash_map<std::pair<Output, std::string>, ResourceVariable> slots_;  // by the variable's handle and name
  // MakeSlots was called.
  bool has_slots_ = false;
};

// A learning rate is a number, or an output that gives one with each step: see client/training/schedules.h.

// w -= learning_rate * g
std::unique_ptr<Optimizer> GradientDescentOptimizer(const Input& learning_rate);
// a = momentum * a + g; w -= learning_rate * a (with Nesterov's look-ahead: g + momentum * a)
std::unique_ptr<Optimizer> MomentumOptimizer(const Input& learning_rate, double momentum, bool use_nesterov = false);
// a += g^2; w -= learning_rate * g / sqrt(a). Duchi et al. 2011.
std::unique_ptr<Optimizer> AdagradOptimizer(const Input& learning_rate, double initial_accumulator_value = 0.1);
// Kingma and Ba 2014, with epsilon outside of the corrected root ("epsilon hat").
std::unique_ptr<Optimizer> AdamOptimizer(const Input& learning_rate = 0.001, double beta1 = 0.9, double beta2 = 0.999,
                                         double epsilon = 1e-8);
// ms = decay * ms + (1 - decay) * g^2; mom = momentum * mom + learning_rate * g / sqrt(ms + epsilon); w -= mom
std::unique_ptr<Optimizer> RMSPropOptimizer(const Input& learning_rate, double decay = 0.9, double momentum = 0,
                                            double epsilon = 1e-10);

}  // namespace weir
