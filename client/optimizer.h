// Optimizers: build a training op from a loss and its variables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "client/optimizers/options.h"
#include "client/scope.h"
#include "client/variables.h"
#include "core/api.h"
#include "graph/gradients/gradient.h"

namespace WEIR_API weir {

struct GradientAndVariable {
  Gradient gradient;
  ResourceVariable variable;
};

// The mean over replicas of each variable's gradient, computed on the variable's device: synchronous data parallelism.
// All replicas list the same variables in the same order. Sparse gradients stay sparse.
std::vector<GradientAndVariable> AverageGradients(const Scope& scope,
                                                  const std::vector<std::vector<GradientAndVariable>>& replicas);

// Builds update ops. State between steps is in variables, which are saved like others. Sparse gradients update only
// their rows.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The gradients of `loss` with respect to `variables` (empty: all trainable ones).
  virtual std::vector<GradientAndVariable> ComputeGradients(const Scope& scope, const Output& loss,
                                                            std::vector<ResourceVariable> variables = {}) const;
  // Applies all gradients, then increments `global_step` if given. Variables without a gradient are skipped; it is an
  // error if none has one.
  virtual Operation ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                   const ResourceVariable& global_step = {}) = 0;
  // Creates the slots that updates of these variables need; otherwise each ApplyGradients does. Allows ApplyGradients
  // in a branch of a Cond, where variables cannot be created.
  virtual void MakeSlots(const Scope& scope, const std::vector<ResourceVariable>& variables) = 0;
  // Whether ApplyGradients may skip a step, leaving even the global step unchanged.
  virtual bool may_skip_steps() const { return false; }
  Operation Minimize(const Scope& scope, const Output& loss, const ResourceVariable& global_step = {}) {
    return ApplyGradients(scope, ComputeGradients(scope, loss), global_step);
  }
};

// An optimizer that updates each variable separately, with slots: variables on the same device.
class SlotOptimizer : public Optimizer {
 public:
  Operation ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                           const ResourceVariable& global_step = {}) override;
  void MakeSlots(const Scope& scope, const std::vector<ResourceVariable>& variables) override;
  // Before each update, by this learning rate.
  void SetWeightDecay(WeightDecay decay, const Input& learning_rate);

 protected:
  explicit SlotOptimizer(std::string name) : name_(std::move(name)) {}
  struct SlotSpec {
    std::string name;
    double initial_value = 0;
  };
  // The slots of each variable.
  virtual std::vector<SlotSpec> Slots() const { return {}; }
  // Called before the updates, on the first variable's device: creates shared values such as Adam's powers of beta.
  virtual void Prepare(const Scope& scope, const ResourceVariable& first) {}
  virtual Operation ApplyDense(const Scope& scope, const ResourceVariable& variable, const Output& gradient) = 0;
  // Rows are distinct, unless AddsRepeatedRows.
  virtual Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                                const Output& indices) = 0;
  // Whether updating a row twice equals updating it once with the sum. Otherwise duplicate rows are summed first.
  virtual bool AddsRepeatedRows() const { return false; }
  // Called once, after the updates.
  virtual std::vector<Operation> Finish(const Scope& scope) { return {}; }

  // A variable of the same shape beside `variable`, named "<variable>/<optimizer>/<slot>".
  const ResourceVariable& Slot(const ResourceVariable& variable, const std::string& slot) const;

 private:
  // `scope`, after the decay of `variable`, if it decays, which waits for the gradient.
  Scope AfterDecay(const Scope& scope, const ResourceVariable& variable, const Output& gradient) const;
  void AddSlots(const Scope& scope, const std::vector<ResourceVariable>& variables);

  const std::string name_;
  WeightDecay decay_;
  Input decay_learning_rate_ = 0.0;
  absl::flat_hash_map<std::pair<Output, std::string>, ResourceVariable> slots_;  // by variable handle and slot name
  // Whether MakeSlots was called.
  bool has_slots_ = false;
};

}  // namespace weir
