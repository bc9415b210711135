// Parts of optimizers that follow Adam.
#pragma once

#include <vector>

#include "client/optimizer.h"

namespace weir {

// The powers of beta1 and beta2 that correct the bias of moments: variables "beta1_power" and "beta2_power".
class BetaPowers {
 public:
  BetaPowers(double beta1, double beta2) : beta1_(beta1), beta2_(beta2) {}
  void Make(const Scope& scope, const ResourceVariable& first);
  // 1 - beta^step
  Output Correction1(const Scope& scope) const;
  Output Correction2(const Scope& scope) const;
  const ResourceVariable& power1() const { return power1_; }
  // To the next step's.
  std::vector<Operation> Advance(const Scope& scope) const;

 private:
  const double beta1_, beta2_;
  ResourceVariable power1_, power2_;
};

// slot = beta * slot + (1 - beta) * value, as Keras computes it; returns the new value.
Output UpdateMoment(const Scope& scope, const ResourceVariable& slot, double beta, const Output& value);

// The rows of a sparse gradient of `variable`, each once, in a tensor of zeros.
Output DenseGradient(const Scope& scope, const ResourceVariable& variable, const Output& rows, const Output& indices);

// An optimizer whose sparse updates are dense ones.
class DenseOptimizer : public SlotOptimizer {
 protected:
  using SlotOptimizer::SlotOptimizer;
  Operation ApplySparse(const Scope& scope, const ResourceVariable& variable, const Output& gradient,
                        const Output& indices) final {
    return ApplyDense(scope, variable, DenseGradient(scope, variable, gradient, indices));
  }
  bool AddsRepeatedRows() const final { return true; }  // DenseGradient adds them
};

// Whether the weights of `variable` decay.
bool Decays(const WeightDecay& decay, const ResourceVariable& variable);

}  // namespace weir
