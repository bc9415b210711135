#include "graph/gradients/gradient_context.h"
#include "kernels/softmax/family.h"

namespace weir {
namespace {

using G = GradientContext;

Output SumOverClasses(G& g, const Output& x) {
  return g.Call("Sum", {x, Tensor::Vector<int32_t>({-1})}, {G::Set("keep_dims", true)});
}

// (dy - sum(dy * y)) * y
absl::Status Softmax(G& g) {
  const Output y = g.output(0), dy = g.dy();
  g.set_grad(0, g.Call("Mul", {g.Call("Sub", {dy, SumOverClasses(g, g.Call("Mul", {dy, y}))}), y}));
  return absl::OkStatus();
}
// dy - sum(dy) * softmax
absl::Status LogSoftmax(G& g) {
  const Output dy = g.dy();
  g.set_grad(0, g.Call("Sub", {dy, g.Call("Mul", {SumOverClasses(g, dy), g.Call("Exp", {g.output(0)})})}));
  return absl::OkStatus();
}

Output ClassColumn(G& g, const Output& x) { return g.Call("ExpandDims", {x, Tensor::Scalar<int32_t>(-1)}); }

// The op computes d(loss)/d(logits) as its second output. When that output is differentiated again, the softmax's own
// gradient is added.
Output CrossEntropyGradient(G& g) {
  Output gradient = g.Call("Mul", {ClassColumn(g, g.dy(0)), g.output(1)});
  if (g.has_grad(1)) {
    const Output softmax = g.Call("Softmax", {g.input(0)}), dy = g.dy(1);
    const Output inner = g.Call("Sub", {dy, SumOverClasses(g, g.Call("Mul", {dy, softmax}))});
    gradient = g.Call("AddV2", {gradient, g.Call("Mul", {inner, softmax})});
  }
  return gradient;
}
absl::Status SoftmaxCrossEntropy(G& g) {
  g.set_grad(0, CrossEntropyGradient(g));
  const Output log_softmax = g.Call("LogSoftmax", {g.input(0)});
  g.set_grad(1, g.Call("Neg", {g.Call("Mul", {ClassColumn(g, g.dy(0)), log_softmax})}));
  return absl::OkStatus();
}
absl::Status SparseSoftmaxCrossEntropy(G& g) {
  g.set_grad(0, CrossEntropyGradient(g));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSoftmaxGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Softmax", Softmax},
      {"LogSoftmax", LogSoftmax},
      {"SoftmaxCrossEntropyWithLogits", SoftmaxCrossEntropy},
      {"SparseSoftmaxCrossEntropyWithLogits", SparseSoftmaxCrossEntropy},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
