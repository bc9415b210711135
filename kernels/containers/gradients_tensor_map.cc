// Gradients through tensor maps: the gradient of a map is a map of gradients, in which a key that is missing has zeros.
#include "graph/gradients/gradient_context.h"
#include "kernels/containers/family.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status Lookup(G& g) {
  g.set_grad(0, g.Call("TensorMapInsert", {g.Call("EmptyTensorMap", {}), g.input(1), g.dy()}));
  return absl::OkStatus();
}

// What has the key goes to the value; the map before had another one there, or none.
absl::Status Insert(G& g) {
  const Output key = g.input(1), value = g.input(2);
  const Output has_key = g.Call("TensorMapHasKey", {g.dy(), key});
  const Output without = g.Call("Switch", {g.dy(), has_key}), value_without = g.Call("Switch", {value, has_key});
  const Output with(without.op(), 1);
  const G::AttrSetter type = G::Set("value_dtype", value.type());
  g.set_grad(0, g.CallWithLists("Merge", {{without, g.Call("TensorMapErase", {with, key}, {type})}}));
  g.set_grad(2, g.CallWithLists(
                    "Merge", {{g.Call("ZerosLike", {value_without}), g.Call("TensorMapLookup", {with, key}, {type})}}));
  return absl::OkStatus();
}

absl::Status Erase(G& g) {
  g.set_grad(0, g.dy());
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterTensorMapGradients(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.RegisterGradient("TensorMapLookup", Lookup));
  RETURN_IF_ERROR(ops.RegisterGradient("TensorMapInsert", Insert));
  RETURN_IF_ERROR(ops.RegisterGradient("TensorMapErase", Erase));
  return ops.RegisterNotDifferentiable("EmptyTensorMap");
}

}  // namespace weir
