#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/quantized/family.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status FakeQuantArgs(G& g) {
  g.set_grad(0, g.Call("FakeQuantWithMinMaxArgsGradient", {g.dy(), g.input(0)},
                       CopiedAttrs(g, {"min", "max", "num_bits", "narrow_range"})));
  return absl::OkStatus();
}
template <const char* kGrad>
absl::Status FakeQuantVars(G& g) {
  const Output dx =
      g.Call(kGrad, {g.dy(), g.input(0), g.input(1), g.input(2)}, CopiedAttrs(g, {"num_bits", "narrow_range"}));
  for (int i = 0; i < 3; ++i) g.set_grad(i, Output(dx.op(), i));
  return absl::OkStatus();
}
constexpr char kVars[] = "FakeQuantWithMinMaxVarsGradient", kChannels[] = "FakeQuantWithMinMaxVarsPerChannelGradient";

}  // namespace

absl::Status RegisterFakeQuantGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"FakeQuantWithMinMaxArgs", FakeQuantArgs},
      {"FakeQuantWithMinMaxVars", FakeQuantVars<kVars>},
      {"FakeQuantWithMinMaxVarsPerChannel", FakeQuantVars<kChannels>},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
