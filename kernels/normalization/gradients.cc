#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/normalization/family.h"

namespace weir {
namespace {

using G = GradientContext;

// A training step saves moments for the gradient; in inference the gradient uses the given moments.
absl::Status FusedBatchNorm(G& g, const char* grad_op) {
  const bool training = g.Attr<bool>("is_training");
  std::vector<Input> inputs = {g.dy(), g.input(0), g.input(1), training ? g.output(3) : g.input(3),
                               training ? g.output(4) : g.input(4)};
  const std::string name = grad_op;
  if (name == "FusedBatchNormGradV3") inputs.push_back(g.output(5));
  const Output dx = g.Call(grad_op, inputs, CopiedAttrs(g, {"epsilon", "data_format", "is_training"}));
  for (int i = 0; i < 3; ++i) g.set_grad(i, Output(dx.op(), i));
  return absl::OkStatus();
}
absl::Status FusedBatchNormV1(G& g) { return FusedBatchNorm(g, "FusedBatchNormGrad"); }
absl::Status FusedBatchNormV2(G& g) { return FusedBatchNorm(g, "FusedBatchNormGradV2"); }
absl::Status FusedBatchNormV3(G& g) { return FusedBatchNorm(g, "FusedBatchNormGradV3"); }

// The op has a gradient op of its own.
absl::Status GlobalNormalization(G& g) {
  const Output dx =
      g.Call("BatchNormWithGlobalNormalizationGrad", {g.input(0), g.input(1), g.input(2), g.input(4), g.dy()},
             CopiedAttrs(g, {"variance_epsilon", "scale_after_normalization"}));
  for (int i = 0; i < 5; ++i) g.set_grad(i, Output(dx.op(), i));
  return absl::OkStatus();
}

absl::Status Lrn(G& g) {
  g.set_grad(0, g.Call("LRNGrad", {g.dy(), g.input(0), g.output(0)},
                       CopiedAttrs(g, {"depth_radius", "bias", "alpha", "beta"})));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterNormalizationGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"FusedBatchNorm", FusedBatchNormV1},
      {"FusedBatchNormV2", FusedBatchNormV2},
      {"FusedBatchNormV3", FusedBatchNormV3},
      {"BatchNormWithGlobalNormalization", GlobalNormalization},
      {"LRN", Lrn},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
