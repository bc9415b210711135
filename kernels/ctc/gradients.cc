#include "graph/gradients/gradient_context.h"
#include "kernels/ctc/family.h"

namespace weir {
namespace {

using G = GradientContext;

// The op's second output is the gradient of the loss, with one example per column.
absl::Status CtcLoss(G& g) {
  const Output scale =
      g.Call("ExpandDims", {g.Call("ExpandDims", {g.dy(0), Tensor::Scalar<int32_t>(0)}), Tensor::Scalar<int32_t>(-1)});
  g.set_grad(0, g.Call("Mul", {scale, g.output(1)}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterCtcGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"CTCLoss", CtcLoss},
      {"CTCLossV2", CtcLoss},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
