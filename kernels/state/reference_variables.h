// Variables that flow along edges as references (VariableV2), on every device.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

// Whether those who took the value of a reference variable see its later updates, as they do in TensorFlow. Programs
// count on it: moving averages read a weight under a control dependency on its update, a weight that is fetched beside
// the step that trains it is the new one, SyncReplicasOptimizer hands out its global step. Numbers that kernels check
// before they use them as indices, and objects, do not change under a reader.
bool ReadersSeeUpdates(const Tensor& value);

// How a device copies the values of its variables.
class VariableCopier {
 public:
  virtual ~VariableCopier() = default;
  // The same elements in memory of their own.
  virtual absl::StatusOr<Tensor> Clone(const Tensor& value) = 0;
  // Writes `value` where `target`, of the same type and shape, has its elements. Others look there; the target's lock
  // is held.
  virtual absl::Status Overwrite(Tensor& target, const Tensor& value) = 0;
};

// Assign: input 1 becomes the value of the variable that input 0 is a reference to, which is handed on as output 0.
// InvalidArgument where types differ, or shapes with `validate_shape`.
absl::Status AssignReference(OpKernelContext& ctx, bool validate_shape, VariableCopier& copier);

// That `update` can be added to a variable, or subtracted: InvalidArgument unless the shapes are equal.
absl::Status CheckAssignUpdate(const OpKernelContext& ctx, const TensorShape& variable, const TensorShape& update);

// After an update: hands a reference input 0 on as output 0. Resource forms have no output.
inline void ForwardReference(OpKernelContext& ctx) {
  if (ctx.input_is_ref(0)) ctx.forward_ref_input_to_ref_output(0, 0);
}

}  // namespace weir
