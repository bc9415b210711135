// Gradients through sparse matrices by rows, and through variants of composite tensors. The gradient of such a matrix
// is one with entries in the same places.
#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/sparse/family.h"

namespace weir {
namespace {

using G = GradientContext;

Output Indices(G& g, const Output& matrix, DataType type) {
  return g.Call("CSRSparseMatrixToSparseTensor", {matrix}, {G::Set("type", type)});
}
Output ToDense(G& g, const Output& matrix, DataType type) {
  return g.Call("CSRSparseMatrixToDense", {matrix}, {G::Set("type", type)});
}

absl::Status FromSparse(G& g) {
  const Output dense = ToDense(g, g.dy(), g.input(1).type());
  g.set_grad(1, g.Call("GatherNd", {dense, g.input(0)}));
  return absl::OkStatus();
}
absl::Status FromDense(G& g) {
  g.set_grad(0, ToDense(g, g.dy(), g.input(0).type()));
  return absl::OkStatus();
}
absl::Status ToSparse(G& g) {
  g.set_grad(0, g.Call("SparseTensorToCSRSparseMatrix", {g.output(0), g.dy(1), g.output(2)}));
  return absl::OkStatus();
}
absl::Status DenseFrom(G& g) {
  g.set_grad(0, g.Call("DenseToCSRSparseMatrix", {g.dy(), Indices(g, g.input(0), g.dy().type())}));
  return absl::OkStatus();
}
absl::Status Transpose(G& g) {
  g.set_grad(0, g.Call("SparseMatrixTranspose", {g.dy()}, CopiedAttrs(g, {"conjugate", "type"})));
  return absl::OkStatus();
}

// A dense matrix, or its adjoint.
struct Factor {
  Output x;
  bool adjoint = false;
};
Factor Adjoint(const Factor& f) { return {f.x, !f.adjoint}; }
Factor Transposed(G& g, const Factor& f) { return {IsComplex(f.x.type()) ? g.Call("Conj", {f.x}) : f.x, !f.adjoint}; }
Output Product(G& g, const Factor& a, const Factor& b) {
  return g.Call("BatchMatMulV2", {a.x, b.x}, {G::Set("adj_x", a.adjoint), G::Set("adj_y", b.adjoint)});
}
// As the op uses the operand.
Factor Turned(G& g, const Output& x, const std::string& operand) {
  if (g.Attr<bool>("adjoint_" + operand)) return Adjoint({x});
  return g.Attr<bool>("transpose_" + operand) ? Transposed(g, {x}) : Factor{x};
}
// `left` times `right` is the gradient of the operand as it is used.
Output TurnedBack(G& g, const Factor& left, const Factor& right, const std::string& operand) {
  if (g.Attr<bool>("adjoint_" + operand)) return Product(g, Adjoint(right), Adjoint(left));
  if (g.Attr<bool>("transpose_" + operand)) return Product(g, Transposed(g, right), Transposed(g, left));
  return Product(g, left, right);
}

absl::Status MatMul(G& g) {
  const Output b = g.input(1), a = ToDense(g, g.input(0), b.type());
  Factor dy = {g.dy()};
  if (g.Attr<bool>("conjugate_output") && IsComplex(b.type())) dy.x = g.Call("Conj", {dy.x});
  if (g.Attr<bool>("transpose_output")) dy = Transposed(g, dy);
  const Output da = TurnedBack(g, dy, Adjoint(Turned(g, b, "b")), "a");
  g.set_grad(0, g.Call("DenseToCSRSparseMatrix", {da, Indices(g, g.input(0), b.type())}));
  g.set_grad(1, TurnedBack(g, Adjoint(Turned(g, a, "a")), dy, "b"));
  return absl::OkStatus();
}

absl::Status CsrSparseMatMul(G& g) {
  const DataType type = g.Attr<DataType>("type");
  const Factor dy = {ToDense(g, g.dy(), type)}, a = Turned(g, ToDense(g, g.input(0), type), "a"),
               b = Turned(g, ToDense(g, g.input(1), type), "b");
  const Output dense[] = {TurnedBack(g, dy, Adjoint(b), "a"), TurnedBack(g, Adjoint(a), dy, "b")};
  for (const int i : {0, 1}) {
    g.set_grad(i, g.Call("DenseToCSRSparseMatrix", {dense[i], Indices(g, g.input(i), type)}));
  }
  return absl::OkStatus();
}

absl::Status FromComponents(G& g) {
  const Output parts =
      g.Call("CompositeTensorVariantToComponents", {g.dy()}, CopiedAttrs(g, {"metadata", "Tcomponents"}));
  for (int i = 0; i < g.num_inputs(); ++i) g.set_grad(i, Output(parts.op(), i));
  return absl::OkStatus();
}
absl::Status ToComponents(G& g) {
  InputList parts;
  for (int i = 0; i < g.op().num_outputs(); ++i) parts.push_back(g.dy(i));
  g.set_grad(0, g.CallWithLists("CompositeTensorVariantFromComponents", {parts}, CopiedAttrs(g, {"metadata"})));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterCsrGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"SparseTensorToCSRSparseMatrix", FromSparse},
      {"DenseToCSRSparseMatrix", FromDense},
      {"CSRSparseMatrixToSparseTensor", ToSparse},
      {"CSRSparseMatrixToDense", DenseFrom},
      {"SparseMatrixTranspose", Transpose},
      {"SparseMatrixMatMul", MatMul},
      {"SparseMatrixSparseMatMul", CsrSparseMatMul},
      {"CompositeTensorVariantFromComponents", FromComponents},
      {"CompositeTensorVariantToComponents", ToComponents},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return ops.RegisterNotDifferentiable("SparseMatrixNNZ");
}

}  // namespace weir
