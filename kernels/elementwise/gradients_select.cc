// Gradients of selection, clipping and broadcasting.
#include "graph/gradients/gradient_context.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

using G = GradientContext;

// Each bound gets the gradients of what it clipped.
absl::Status ClipByValue(G& g) {
  const Output dz = g.dy(), x = g.input(0);
  const Output zero = g.Call("ZerosLike", {dz});
  const Output below = g.Call("Less", {x, g.input(1)}), above = g.Call("Greater", {x, g.input(2)});
  const Output clipped = g.Call("LogicalOr", {below, above});
  const Output parts[] = {g.Call("SelectV2", {clipped, zero, dz}), g.Call("SelectV2", {below, dz, zero}),
                          g.Call("SelectV2", {above, dz, zero})};
  const Output z_shape = g.Call("Shape", {dz});
  for (int i = 0; i < 3; ++i) {
    const Output shape = g.Call("Shape", {g.input(i)});
    const Output axes = g.Call("BroadcastGradientArgs", {shape, z_shape});
    g.set_grad(i, g.Call("Reshape", {g.Call("Sum", {parts[i], axes}), shape}));
  }
  return absl::OkStatus();
}

absl::Status Select(G& g) {
  const Output dz = g.dy(), condition = g.input(0);
  const Output zero = g.Call("ZerosLike", {dz});
  g.set_grad(1, g.Call("Select", {condition, dz, zero}));
  g.set_grad(2, g.Call("Select", {condition, zero, dz}));
  return absl::OkStatus();
}
absl::Status SelectV2(G& g) {
  const Output dz = g.dy(), condition = g.input(0);
  const Output zero = g.Call("ZerosLike", {dz});
  const Output z_shape = g.Call("Shape", {dz});
  const Output taken[] = {g.Call("SelectV2", {condition, dz, zero}), g.Call("SelectV2", {condition, zero, dz})};
  for (int i : {1, 2}) {
    const Output shape = g.Call("Shape", {g.input(i)});
    const Output axes = g.Call("BroadcastGradientArgs", {shape, z_shape});
    g.set_grad(i, g.Call("Reshape", {g.Call("Sum", {taken[i - 1], axes}), shape}));
  }
  return absl::OkStatus();
}

absl::Status BroadcastTo(G& g) {
  const Output shape = g.Call("Shape", {g.input(0)}, {G::Set("out_type", g.input(1).type())});
  const Output axes = g.Call("BroadcastGradientArgs", {shape, g.input(1)});
  g.set_grad(0, g.Call("Reshape", {g.Call("Sum", {g.dy(), axes}), shape}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSelectGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"ClipByValue", ClipByValue},
      {"Select", Select},
      {"SelectV2", SelectV2},
      {"BroadcastTo", BroadcastTo},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
