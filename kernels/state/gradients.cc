// Reading a variable.

#include "graph/gradients/gradient_context.h"
#include "kernels/state/family.h"

namespace weir {
namespace {

// What was read flows back to the handle: the gradient of a variable is the gradient with respect to its handle.
absl::Status ReadVariable(GradientContext& g) {
  g.set_grad(0, g.grad(0));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterStateGradients(OpRegistry& ops) { return ops.RegisterGradient("ReadVariableOp", ReadVariable); }

}  // namespace weir
