// Gradients of eigenvalues and of matrix functions.

#include "graph/gradients/terms.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

using G = GradientContext;
using gradients::Conj;
using gradients::Expand;
using gradients::Mul;
using gradients::Sub;

Output Product(G& g, const Output& a, const Output& b, bool adjoint_a = false) {
  return g.Call("BatchMatMulV2", {a, b}, {G::Set("adj_x", adjoint_a)});
}
Output Diagonal(G& g, const Output& a) { return g.Call("MatrixDiagPart", {a}); }
Output DiagonalMatrix(G& g, const Output& a) { return g.Call("MatrixDiag", {a}); }

// 1 / (e_j - e_i), and zero on the diagonal.
Output InverseDifferences(G& g, const Output& e) {
  const Output differences = Sub(g, Expand(g, e, -2), Expand(g, e, -1));
  const Output apart = g.Call("MatrixSetDiag", {differences, g.Call("OnesLike", {e})});
  return g.Call("MatrixSetDiag", {g.Call("Reciprocal", {apart}), g.Call("ZerosLike", {e})});
}

// With V the eigenvectors, of length one, and F_ij = 1 / (e_j - e_i): V^-H (de + F* o (W - V^H V diag(re W))) V^H for
// W = V^H dV. Eigenvalues must be distinct, and the loss must not depend on the eigenvectors' phases.
absl::Status Eig(G& g) {
  const Output e = g.output(0), x = g.input(0);
  Output v = g.output(1), middle = DiagonalMatrix(g, g.dy(0));
  if (g.Attr<bool>("compute_v")) {
    const Output w = Product(g, v, g.dy(1), true);
    const Output real =
        g.Call("Real", {Diagonal(g, w)}, {G::Set("Tout", w.type() == DT_COMPLEX128 ? DT_DOUBLE : DT_FLOAT)});
    const Output along = DiagonalMatrix(g, g.Call("Cast", {real}, {G::Set("DstT", w.type())}));
    const Output across = Sub(g, w, Product(g, Product(g, v, v, true), along));
    middle = g.Call("AddV2", {middle, Mul(g, Conj(g, InverseDifferences(g, e)), across)});
  } else {
    const Output again = g.Call("Eig", {x}, {G::Set("compute_v", true), G::Set("Tout", e.type())});
    v = Output(again.op(), 1);
  }
  const Output left = g.Call("BatchMatMulV2", {middle, v}, {G::Set("adj_y", true)});
  const Output dx = g.Call("MatrixSolve", {v, left}, {G::Set("adjoint", true)});
  g.set_grad(0, IsComplex(x.type()) ? dx : g.Call("Real", {dx}, {G::Set("Tout", x.type())}));
  return absl::OkStatus();
}

// R = sqrt(A): R dR + dR R = dA, so that dy = R^H X + X R^H for the gradient X, a system of n^2 equations.
absl::Status MatrixSquareRoot(G& g) {
  const Output r = g.output(0), dy = g.dy();
  const Output shape = g.Call("Shape", {r});
  const Output eye = DiagonalMatrix(g, g.Call("OnesLike", {Diagonal(g, r)}));
  const Output adjoint = Product(g, r, eye, true), conjugate = Conj(g, r);
  // Factors that depend on rows, [.., i, 1, k, 1], and on columns, [.., 1, j, 1, l].
  const auto rows = [&g](const Output& a) { return Expand(g, Expand(g, a, -1), -3); };
  const auto columns = [&g](const Output& a) { return Expand(g, Expand(g, a, -2), -4); };
  const Output system = g.Call("AddV2", {Mul(g, rows(adjoint), columns(eye)), Mul(g, rows(eye), columns(conjugate))});
  const Output batch =
      g.Call("StridedSlice",
             {shape, Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({-2}), Tensor::Vector<int32_t>({1})},
             {G::Set("begin_mask", int64_t{1})});
  const Output order =
      g.Call("StridedSlice",
             {shape, Tensor::Vector<int32_t>({-1}), Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1})},
             {G::Set("end_mask", int64_t{1})});
  const Output equations = g.Call("Square", {order});
  const auto reshaped = [&](const Output& a, const Input& width) {
    return g.Call("Reshape",
                  {a, g.CallWithLists("ConcatV2", {{batch, equations, width}, {Tensor::Scalar<int32_t>(0)}})});
  };
  const Output x = g.Call("MatrixSolve", {reshaped(system, equations), reshaped(dy, Tensor::Vector<int32_t>({1}))});
  g.set_grad(0, g.Call("Reshape", {x, shape}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSpectralGradients(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.RegisterGradient("Eig", Eig));
  return ops.RegisterGradient("MatrixSquareRoot", MatrixSquareRoot);
}

}  // namespace weir
