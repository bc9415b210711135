#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/quantized/family.h"

namespace weir {
namespace {

using G = GradientContext;

// Rounding is taken for the identity within the range.
absl::Status StraightThrough(G& g) {
  g.set_grad(0, g.grad(0));
  return absl::OkStatus();
}
absl::Status QuantizeAndDequantizeV4(G& g) {
  const Output dx =
      g.Call("QuantizeAndDequantizeV4Grad", {g.dy(), g.input(0), g.input(1), g.input(2)}, CopiedAttrs(g, {"axis"}));
  for (int i = 0; i < 3; ++i) g.set_grad(i, Output(dx.op(), i));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterQuantizeDequantizeGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"QuantizeAndDequantize", StraightThrough},
      {"QuantizeAndDequantizeV2", StraightThrough},
      {"QuantizeAndDequantizeV3", StraightThrough},
      {"QuantizeAndDequantizeV4", QuantizeAndDequantizeV4},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
