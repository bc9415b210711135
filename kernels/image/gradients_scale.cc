#include "graph/gradients/gradient_context.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

using G = GradientContext;

// Of images of other types there is none.
absl::Status ScaleAndTranslate(G& g) {
  if (g.input(0).type() != DT_FLOAT) return absl::OkStatus();
  g.set_grad(0, g.Call("ScaleAndTranslateGrad", {g.dy(), g.input(0), g.input(2), g.input(3)},
                       {G::Set("kernel_type", g.Attr<std::string>("kernel_type")),
                        G::Set("antialias", g.Attr<bool>("antialias"))}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterScaleGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"ScaleAndTranslate", ScaleAndTranslate},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
