// Packing tensors into an optional and taking them out: each is the other's gradient.
#include <vector>

#include "core/tensor/tensor_shape.h"
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status OptionalFromValue(G& g) {
  std::vector<DataType> types;
  for (int i = 0; i < g.num_inputs(); ++i) types.push_back(g.input(i).type());
  const std::vector<PartialTensorShape> shapes(types.size());
  const Output values =
      g.Call("OptionalGetValue", {g.dy()}, {G::Set("output_types", types), G::Set("output_shapes", shapes)});
  if (!g.status().ok()) return g.status();
  for (int i = 0; i < g.num_inputs(); ++i) g.set_grad(i, Output(values.op(), i));
  return absl::OkStatus();
}

absl::Status OptionalGetValue(G& g) {
  InputList dys;
  for (int i = 0; i < g.op().num_outputs(); ++i) dys.push_back(g.dy(i));
  g.set_grad(0, g.CallWithLists("OptionalFromValue", {dys}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterOptionalGradients(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.RegisterGradient("OptionalFromValue", OptionalFromValue));
  RETURN_IF_ERROR(ops.RegisterGradient("OptionalGetValue", OptionalGetValue));
  return absl::OkStatus();
}

}  // namespace weir
