// Gradients of matrix products.

#include "graph/gradients/gradient_context.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

using G = GradientContext;

// One product, with what the op calls its flags; adjoints conjugate, so batched products need no Conj of their own.
struct Product {
  const char* op;
  const char* left;
  const char* right;
  Output operator()(G& g, const Output& a, const Output& b, bool flip_a, bool flip_b) const {
    return g.Call(op, {a, b}, {G::Set(left, flip_a), G::Set(right, flip_b)});
  }
};

// d(loss)/da and d(loss)/db of op(a) * op(b), for the four cases of transposed operands.
std::pair<Output, Output> ProductGradients(G& g, const Product& mul, bool flip_a, bool flip_b, const Output& a,
                                           const Output& b) {
  const Output dy = g.dy();
  const Output da = flip_a ? mul(g, b, dy, flip_b, true) : mul(g, dy, b, false, !flip_b);
  const Output db = flip_b ? mul(g, dy, a, true, flip_a) : mul(g, a, dy, !flip_a, false);
  return {da, db};
}

absl::Status MatMul(G& g) {
  Output a = g.input(0), b = g.input(1);
  if (IsComplex(a.type())) {
    a = g.Call("Conj", {a});
    b = g.Call("Conj", {b});
  }
  const auto [da, db] = ProductGradients(g, {"MatMul", "transpose_a", "transpose_b"}, g.Attr<bool>("transpose_a"),
                                         g.Attr<bool>("transpose_b"), a, b);
  g.set_grad(0, da);
  g.set_grad(1, db);
  return absl::OkStatus();
}

absl::Status BatchMatMul(G& g) {
  const auto [da, db] = ProductGradients(g, {"BatchMatMul", "adj_x", "adj_y"}, g.Attr<bool>("adj_x"),
                                         g.Attr<bool>("adj_y"), g.input(0), g.input(1));
  g.set_grad(0, da);
  g.set_grad(1, db);
  return absl::OkStatus();
}

// The batch dimensions broadcast: each gradient is summed over those that its operand was spread along.
absl::Status BatchMatMulV2(G& g) {
  const auto grads = ProductGradients(g, {"BatchMatMulV2", "adj_x", "adj_y"}, g.Attr<bool>("adj_x"),
                                      g.Attr<bool>("adj_y"), g.input(0), g.input(1));
  Output shapes[2], batch[2];
  for (int i : {0, 1}) {
    shapes[i] = g.Call("Shape", {g.input(i)});
    batch[i] =
        g.Call("StridedSlice",
               {shapes[i], Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({-2}), Tensor::Vector<int32_t>({1})},
               {G::Set("begin_mask", int64_t{1})});
  }
  const Output args = g.Call("BroadcastGradientArgs", {batch[0], batch[1]});
  g.set_grad(0, g.Call("Reshape", {g.Call("Sum", {grads.first, Output(args.op(), 0)}), shapes[0]}));
  g.set_grad(1, g.Call("Reshape", {g.Call("Sum", {grads.second, Output(args.op(), 1)}), shapes[1]}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterMatMulGradients(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.RegisterGradient("MatMul", MatMul));
  RETURN_IF_ERROR(ops.RegisterGradient("BatchMatMul", BatchMatMul));
  return ops.RegisterGradient("BatchMatMulV2", BatchMatMulV2);
}

}  // namespace weir
