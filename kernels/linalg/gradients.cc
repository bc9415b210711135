// Gradients of linear algebra.

#include "graph/gradients/broadcast_gradient.h"
#include "graph/gradients/terms.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

using G = GradientContext;
using gradients::Add;
using gradients::Expand;
using gradients::Mul;
using gradients::Neg;
using gradients::Sub;

Output Product(G& g, const Output& a, const Output& b, bool adjoint_a = false, bool adjoint_b = false) {
  return g.Call("BatchMatMulV2", {a, b}, {G::Set("adj_x", adjoint_a), G::Set("adj_y", adjoint_b)});
}
Output Adjoint(G& g, const Output& a) {
  // Exchanges the last two dimensions; the rank may be unknown.
  const Output rank = g.Call("Rank", {a});
  const Output last = g.Call("Sub", {rank, 1}), before = g.Call("Sub", {rank, 2});
  const Output batch = g.Call("Range", {0, before, 1}, {G::Set("Tidx", DT_INT32)});
  const Output turned = g.CallWithLists("Pack", {{last, before}});
  const Output order = g.CallWithLists("ConcatV2", {{batch, turned}, {Tensor::Scalar<int32_t>(0)}});
  return g.Call("ConjugateTranspose", {a, order});
}
Output Band(G& g, const Output& a, int64_t lower, int64_t upper) {
  return g.Call("MatrixBandPart", {a, Tensor::Scalar<int64_t>(lower), Tensor::Scalar<int64_t>(upper)});
}
Output Diagonal(G& g, const Output& a) { return g.Call("MatrixDiagPart", {a}); }
Output WithDiagonal(G& g, const Output& a, const Output& diagonal) { return g.Call("MatrixSetDiag", {a, diagonal}); }
// 1 / x, or zero where x is zero.
Output SafeReciprocal(G& g, const Output& x) {
  const Output one = g.Call("OnesLike", {x}), zero = g.Call("Equal", {x, g.Call("ZerosLike", {x})});
  return g.Call("SelectV2",
                {zero, g.Call("ZerosLike", {x}), g.Call("RealDiv", {one, g.Call("SelectV2", {zero, one, x})})});
}

absl::Status MatrixInverse(G& g) {
  const bool adjoint = g.Attr<bool>("adjoint");
  const Output inverse = g.output(0);
  g.set_grad(0, Neg(g, Product(g, inverse, Product(g, g.dy(), inverse, adjoint, !adjoint), !adjoint, false)));
  return absl::OkStatus();
}

// The adjoint inverse of each matrix times a number of its own.
Output ScaledInverse(G& g, const Output& factor) {
  const Output inverse = g.Call("MatrixInverse", {g.input(0)}, {G::Set("adjoint", true)});
  return Mul(g, Expand(g, Expand(g, factor, -1), -1), inverse);
}
absl::Status MatrixDeterminant(G& g) {
  const Output y = IsComplex(g.output(0).type()) ? g.Call("Conj", {g.output(0)}) : g.output(0);
  g.set_grad(0, ScaledInverse(g, Mul(g, g.dy(), y)));
  return absl::OkStatus();
}
// The sign is constant.
absl::Status LogMatrixDeterminant(G& g) {
  g.set_grad(0, ScaledInverse(g, g.dy(1)));
  return absl::OkStatus();
}

absl::Status MatrixSolve(G& g) {
  const bool adjoint = g.Attr<bool>("adjoint");
  const Output x = g.output(0);
  const Output db = g.Call("MatrixSolve", {g.input(0), g.dy()}, {G::Set("adjoint", !adjoint)});
  g.set_grad(0, Neg(g, adjoint ? Product(g, x, db, false, true) : Product(g, db, x, false, true)));
  g.set_grad(1, db);
  return absl::OkStatus();
}

absl::Status MatrixTriangularSolve(G& g) {
  const bool adjoint = g.Attr<bool>("adjoint"), lower = g.Attr<bool>("lower");
  const Output x = g.output(0);
  const Output db =
      g.Call("MatrixTriangularSolve", {g.input(0), g.dy()}, {G::Set("adjoint", !adjoint), G::Set("lower", lower)});
  const Output da = Neg(g, adjoint ? Product(g, x, db, false, true) : Product(g, db, x, false, true));
  BatchBroadcast broadcast(g);
  g.set_grad(0, broadcast.Reduce(0, lower ? Band(g, da, -1, 0) : Band(g, da, 0, -1)));
  g.set_grad(1, broadcast.Reduce(1, db));
  return absl::OkStatus();
}

absl::Status Cholesky(G& g) {
  g.set_grad(0, g.Call("CholeskyGrad", {g.output(0), g.dy()}));
  return absl::OkStatus();
}

// Least squares by normal equations, x = (A^H A + l2)^-1 A^H b. For wide matrices, for which the op solves another
// equation with the same solution, these are regular only if l2 is positive.
absl::Status MatrixSolveLs(G& g) {
  if (!g.Attr<bool>("fast")) {
    return errors::Unimplemented("Gradient of MatrixSolveLs is defined for fast=true only");
  }
  const Output a = g.input(0), b = g.input(1), x = g.output(0), dx = g.dy();
  const Output l2 = g.Call("Cast", {g.input(2)}, {G::Set("DstT", a.type())});
  const Output gram = Product(g, a, a, true, false);
  const Output eye = g.Call("MatrixDiag", {g.Call("OnesLike", {Diagonal(g, gram)})});
  const Output factor = g.Call("Cholesky", {Add(g, gram, Mul(g, eye, l2))});
  const Output half = g.Call("MatrixTriangularSolve", {factor, dx}, {G::Set("adjoint", false)});
  const Output z = g.Call("MatrixTriangularSolve", {factor, half}, {G::Set("adjoint", true)});
  const Output residual = Sub(g, b, Product(g, a, x));
  const Output az = Product(g, a, z);
  g.set_grad(0, Sub(g, Product(g, residual, z, false, true), Product(g, az, x, false, true)));
  g.set_grad(1, az);
  return absl::OkStatus();
}

// X R^-H for upper triangular R.
Output TimesInverseAdjoint(G& g, const Output& x, const Output& r) {
  const Output solved =
      g.Call("MatrixTriangularSolve", {r, Adjoint(g, x)}, {G::Set("lower", false), G::Set("adjoint", false)});
  return Adjoint(g, solved);
}

// For matrices at least as tall as wide, in the reduced form (or square).
absl::Status Qr(G& g) {
  const Output q = g.output(0), r = g.output(1), dq = g.dy(0), dr = g.dy(1);
  const Output qdq = Product(g, q, dq, true, false), rdr = Product(g, r, dr, false, true);
  const Output skew = Add(g, Sub(g, qdq, Adjoint(g, qdq)), Sub(g, rdr, Adjoint(g, rdr)));
  const Output lower = Band(g, skew, -1, 0);
  const Output first = Product(g, q, Add(g, dr, TimesInverseAdjoint(g, lower, r)));
  const Output second = TimesInverseAdjoint(g, Sub(g, dq, Product(g, q, qdq)), r);
  g.set_grad(0, Add(g, first, second));
  return absl::OkStatus();
}

// Only the lower triangle is read: the gradient of the upper one is added to it.
Output FoldToLower(G& g, const Output& a) {
  const Output both = Band(g, Add(g, a, Adjoint(g, a)), -1, 0);
  return WithDiagonal(
      g, both,
      g.Call("Mul", {Diagonal(g, both), g.Call("Cast", {Tensor::Scalar<float>(0.5f)}, {G::Set("DstT", a.type())})}));
}
absl::Status SelfAdjointEig(G& g) {
  Output e = g.output(0), v = g.output(1);
  Output inner;
  if (g.Attr<bool>("compute_v")) {
    const Output differences = Sub(g, Expand(g, e, -2), Expand(g, e, -1));
    const Output f = SafeReciprocal(g, differences);
    inner = Add(g, g.Call("MatrixDiag", {g.dy(0)}), Mul(g, f, Product(g, v, g.dy(1), true, false)));
  } else {
    const Output again = g.Call("SelfAdjointEigV2", {g.input(0)}, {G::Set("compute_v", true)});
    v = Output(again.op(), 1);
    inner = g.Call("MatrixDiag", {g.dy(0)});
  }
  g.set_grad(0, FoldToLower(g, Product(g, v, Product(g, inner, v, false, true))));
  return absl::OkStatus();
}

// For distinct singular values, in the reduced form: with F_ij = 1 / (s_j^2 - s_i^2),
// U ((F o (U^H dU - dU^H U)) S + S (F o (V^H dV - dV^H V)) + dS) V^H, plus the parts orthogonal to U and V.
absl::Status Svd(G& g) {
  Output s = g.output(0), u = g.output(1), v = g.output(2);
  if (!g.Attr<bool>("compute_uv")) {
    const Output again = g.Call("Svd", {g.input(0)}, {G::Set("compute_uv", true)});
    u = Output(again.op(), 1);
    v = Output(again.op(), 2);
    g.set_grad(0, Product(g, Mul(g, u, Expand(g, g.dy(0), -2)), v, false, true));
    return absl::OkStatus();
  }
  if (g.Attr<bool>("full_matrices")) {
    return errors::Unimplemented("Gradient of Svd is defined for full_matrices=false only");
  }
  const Output du = g.dy(1), dv = g.dy(2), squares = g.Call("Square", {s});
  const Output f = SafeReciprocal(g, Sub(g, Expand(g, squares, -2), Expand(g, squares, -1)));
  const Output udu = Product(g, u, du, true, false), vdv = Product(g, v, dv, true, false);
  const Output left = Mul(g, Mul(g, f, Sub(g, udu, Adjoint(g, udu))), Expand(g, s, -2));
  const Output right = Mul(g, Mul(g, f, Sub(g, vdv, Adjoint(g, vdv))), Expand(g, s, -1));
  const Output inner = Add(g, Add(g, left, right), g.Call("MatrixDiag", {g.dy(0)}));
  const Output inverse = Expand(g, SafeReciprocal(g, s), -2);
  const Output outside_u = Mul(g, Sub(g, du, Product(g, u, udu)), inverse);
  const Output outside_v = Mul(g, Sub(g, dv, Product(g, v, vdv)), inverse);
  const Output from_u = Product(g, outside_u, v, false, true), from_v = Product(g, u, outside_v, false, true);
  g.set_grad(0, Add(g, Product(g, Product(g, u, inner), v, false, true), Add(g, from_u, from_v)));
  return absl::OkStatus();
}

// The batch dimensions broadcast.
absl::Status BatchMatMulV3(G& g) {
  const bool adj_x = g.Attr<bool>("adj_x"), adj_y = g.Attr<bool>("adj_y");
  const Output x = g.input(0), y = g.input(1), dz = g.dy();
  BatchBroadcast broadcast(g);
  g.set_grad(0, broadcast.Reduce(0, adj_x ? Product(g, y, dz, adj_y, true) : Product(g, dz, y, false, !adj_y)));
  g.set_grad(1, broadcast.Reduce(1, adj_y ? Product(g, dz, x, true, adj_x) : Product(g, x, dz, !adj_x, false)));
  return absl::OkStatus();
}

// exp(x) times the reversed cumulative sums of dy exp(-y). Positive and negative dy are summed apart, as logarithms.
absl::Status CumulativeLogsumexp(G& g) {
  const Output x = g.input(0), axis = g.input(1), y = g.output(0), dy = g.dy();
  const Output zero = g.Call("ZerosLike", {dy}), one = g.Call("OnesLike", {dy});
  const Output none = g.Call("Log", {zero});
  const bool reverse = !g.Attr<bool>("reverse"), exclusive = g.Attr<bool>("exclusive");
  const auto part = [&](const Output& sign_dy) {
    const Output positive = g.Call("Greater", {sign_dy, zero});
    const Output log =
        g.Call("SelectV2", {positive, Sub(g, g.Call("Log", {g.Call("SelectV2", {positive, sign_dy, one})}), y), none});
    const Output sums =
        g.Call("CumulativeLogsumexp", {log, axis}, {G::Set("reverse", reverse), G::Set("exclusive", exclusive)});
    return g.Call("Exp", {Add(g, sums, x)});
  };
  g.set_grad(0, Sub(g, part(dy), part(Neg(g, dy))));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterDecompositionGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"MatrixInverse", MatrixInverse},
      {"MatrixDeterminant", MatrixDeterminant},
      {"LogMatrixDeterminant", LogMatrixDeterminant},
      {"MatrixSolve", MatrixSolve},
      {"MatrixSolveLs", MatrixSolveLs},
      {"MatrixTriangularSolve", MatrixTriangularSolve},
      {"Cholesky", Cholesky},
      {"Qr", Qr},
      {"SelfAdjointEigV2", SelfAdjointEig},
      {"Svd", Svd},
      {"BatchMatMulV3", BatchMatMulV3},
      {"CumulativeLogsumexp", CumulativeLogsumexp},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
