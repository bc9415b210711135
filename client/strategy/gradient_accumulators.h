// Accumulators, one beside each variable, for the gradients of workers that step independently.
#pragma once

#include <string>
#include <vector>

#include "client/optimizer.h"
#include "client/scope.h"
#include "client/strategy/per_replica.h"

namespace weir {

// Accumulators know their current step and drop gradients of earlier ones. They are shared by name, so that several
// graphs add to the same ones.
class GradientAccumulators {
 public:
  GradientAccumulators(Scope scope, std::string shared_prefix, ReduceOp op)
      : scope_(std::move(scope)), shared_prefix_(std::move(shared_prefix)), op_(op) {}

  void Add(const ResourceVariable& variable, bool sparse);
  // Adds a gradient of the variables as of `step` to the k-th accumulator.
  Operation HandIn(size_t k, const Gradient& gradient, const Output& step) const;
  // Drops the gradients that were handed in. SetStep must follow.
  Operation Clear() const;
  // Sets the current step.
  Operation SetStep(const Output& step) const;
  // Waits for `num_required` gradients in each accumulator, then advances to the next step. Returns no gradient before
  // all are available.
  std::vector<GradientAndVariable> Take(int num_required) const;

 private:
  struct Accumulator {
    ResourceVariable variable;
    bool sparse;
    Output handle;
  };
  Operation AddRows(const Accumulator& accumulator, const Output& step, const InputList& indices,
                    const InputList& values) const;
  Operation HandInRows(const Accumulator& accumulator, const Gradient& gradient, const Output& step) const;
  Gradient TakeRows(const Accumulator& accumulator, int num_required) const;
  Scope Beside(const Accumulator& accumulator) const { return scope_.ColocateWith(accumulator.variable.handle().op()); }

  const Scope scope_;
  const std::string shared_prefix_;
  const ReduceOp op_;
  std::vector<Accumulator> all_;
};

}  // namespace weir
