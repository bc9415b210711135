// Gradients of TridiagonalMatMul, TridiagonalSolve and BandedTriangularSolve.

#include "graph/gradients/broadcast_gradient.h"
#include "graph/gradients/terms.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

using G = GradientContext;
using gradients::Conj;
using gradients::Mul;
using gradients::Neg;

Output SumLast(G& g, const Output& a) { return g.Call("Sum", {a, Tensor::Vector<int32_t>({-1})}); }
Output Squeeze(G& g, const Output& a, int64_t axis) {
  return g.Call("Squeeze", {a}, {G::Set("squeeze_dims", std::vector<int64_t>{axis})});
}
Output AsRow(G& g, const Output& vector) { return g.Call("ExpandDims", {vector, -2}); }
// A row as a column.
Output Turned(G& g, const Output& row) { return g.Call("ExpandDims", {Squeeze(g, row, -2), -1}); }
// Three rows, one below the other.
Output Stacked(G& g, const Output& a, const Output& b, const Output& c) {
  return g.CallWithLists("ConcatV2", {{a, b, c}, {Tensor::Scalar<int32_t>(-2)}});
}

// Rows [first, last) of each matrix; `last` 0 stands for the end.
Output Rows(G& g, const Output& x, int32_t first, int32_t last) {
  return g.Call("StridedSlice",
                {x, Tensor::Vector<int32_t>({0, first, 0}), Tensor::Vector<int32_t>({0, last, 0}),
                 Tensor::Vector<int32_t>({1, 1, 1})},
                {G::Set("ellipsis_mask", int64_t{1}), G::Set("begin_mask", int64_t{4}),
                 G::Set("end_mask", int64_t{last == 0 ? 6 : 4})});
}
// Shifts rows up by one; the last row becomes zero.
Output Next(G& g, const Output& x) {
  const Output zero = g.Call("ZerosLike", {Rows(g, x, 0, 1)});
  return g.CallWithLists("ConcatV2", {{Rows(g, x, 1, 0), zero}, {Tensor::Scalar<int32_t>(-2)}});
}
// Shifts rows down by one; the first row becomes zero.
Output Previous(G& g, const Output& x) {
  const Output zero = g.Call("ZerosLike", {Rows(g, x, 0, 1)});
  return g.CallWithLists("ConcatV2", {{zero, Rows(g, x, 0, -1)}, {Tensor::Scalar<int32_t>(-2)}});
}

// y_i = u_i x_(i+1) + d_i x_i + l_i x_(i-1)
absl::Status TridiagonalMatMul(G& g) {
  const Output x = Conj(g, g.input(3)), dy = g.dy();
  const Output shifted[] = {Next(g, x), x, Previous(g, x)};
  Output parts[3];
  for (int i = 0; i < 3; ++i) {
    g.set_grad(i, AsRow(g, SumLast(g, Mul(g, shifted[i], dy))));
    parts[i] = Mul(g, Turned(g, Conj(g, g.input(i))), dy);
  }
  g.set_grad(3, g.CallWithLists("AddN", {{Previous(g, parts[0]), parts[1], Next(g, parts[2])}}));
  return absl::OkStatus();
}

// For A x = b: db solves A^H db = dx, and dA = -db x^H on the three diagonals.
absl::Status TridiagonalSolve(G& g) {
  const Output diagonals = Conj(g, g.input(0)), x = Conj(g, g.output(0));
  const auto column = [&](int32_t i) { return Turned(g, Rows(g, diagonals, i, i + 1)); };
  const Output adjoint = Stacked(g, AsRow(g, Squeeze(g, Next(g, column(2)), -1)), Rows(g, diagonals, 1, 2),
                                 AsRow(g, Squeeze(g, Previous(g, column(0)), -1)));
  const Output db = g.Call("TridiagonalSolve", {adjoint, g.dy()},
                           {G::Set("partial_pivoting", g.Attr<bool>("partial_pivoting")),
                            G::Set("perturb_singular", g.Attr<bool>("perturb_singular"))});
  const auto diagonal = [&](const Output& shifted) { return AsRow(g, SumLast(g, Mul(g, db, shifted))); };
  g.set_grad(0, Neg(g, Stacked(g, diagonal(Next(g, x)), diagonal(x), diagonal(Previous(g, x)))));
  g.set_grad(1, db);
  return absl::OkStatus();
}

// The same for a triangular band, whose rows hold diagonals.
absl::Status BandedTriangularSolve(G& g) {
  const bool lower = g.Attr<bool>("lower"), adjoint = g.Attr<bool>("adjoint");
  const Output band = g.input(0), x = g.output(0);
  const Output db =
      g.Call("BandedTriangularSolve", {band, g.dy()}, {G::Set("lower", lower), G::Set("adjoint", !adjoint)});
  const Output da = Neg(g, g.Call("BatchMatMulV2", {adjoint ? x : db, adjoint ? db : x}, {G::Set("adj_y", true)}));
  const Output height = g.Call("StridedSlice", {g.Call("Shape", {band}), Tensor::Vector<int32_t>({-2}),
                                                Tensor::Vector<int32_t>({-1}), Tensor::Vector<int32_t>({1})});
  const Output furthest = g.Call("Sub", {height, 1}), main = g.Call("ZerosLike", {height});
  const Output diagonals = lower ? g.Call("Neg", {furthest}) : main;
  const Output range =
      g.CallWithLists("ConcatV2", {{diagonals, lower ? main : furthest}, {Tensor::Scalar<int32_t>(0)}});
  const Output zero = g.Call("Cast", {Tensor::Scalar<float>(0)}, {G::Set("DstT", band.type())});
  const Output dband = g.Call("MatrixDiagPartV3", {da, range, zero}, {G::Set("align", std::string("LEFT_RIGHT"))});
  BatchBroadcast broadcast(g);
  g.set_grad(0, broadcast.Reduce(0, dband));
  g.set_grad(1, broadcast.Reduce(1, db));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterTridiagonalGradients(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.RegisterGradient("TridiagonalMatMul", TridiagonalMatMul));
  RETURN_IF_ERROR(ops.RegisterGradient("TridiagonalSolve", TridiagonalSolve));
  return ops.RegisterGradient("BandedTriangularSolve", BandedTriangularSolve);
}

}  // namespace weir
