// Where the gradients of workers that take steps of their own meet: one accumulator beside each variable.
#pragma once

#include <string>
#include <vector>

#include "client/optimizer.h"
#include "client/scope.h"
#include "client/strategy/per_replica.h"

namespace weir {

// Accumulators know the step for which they gather, and drop gradients of earlier ones. They are shared by name, so
// that several graphs hand in to the same.
class GradientAccumulators {
 public:
  GradientAccumulators(Scope scope, std::string shared_prefix, ReduceOp op)
      : scope_(std::move(scope)), shared_prefix_(std::move(shared_prefix)), op_(op) {}

  void Add(const ResourceVariable& variable, bool sparse);
  // Gives the k-th accumulator a gradient of the variables as they were at `step`.
  Operation HandIn(size_t k, const Gradient& gradient, const Output& step) const;
  // Gathers for `step` from now on.
  Operation SetStep(const Output& step) const;
  // Waits for `num_required` gradients in each; then gathers for the next step. None is there before all are.
  std::vector<GradientAndVariable> Take(int num_required) const;

 private:
  struct Accumulator {
    ResourceVariable variable;
    bool sparse;
    Output handle;
  };
  Operation HandInRows(const Accumulator& accumulator, const Gradient& gradient, const Output& step) const;
  Gradient TakeRows(const Accumulator& accumulator, int num_required) const;
  Scope Beside(const Accumulator& accumulator) const { return scope_.ColocateWith(accumulator.variable.handle().op()); }

  const Scope scope_;
  const std::string shared_prefix_;
  const ReduceOp op_;
  std::vector<Accumulator> all_;
};

}  // namespace weir
