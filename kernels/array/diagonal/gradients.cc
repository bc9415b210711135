// Gradients of diagonals and bands of matrices.

#include "graph/gradients/gradient_context.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status Diag(G& g) {
  g.set_grad(0, g.Call("DiagPart", {g.dy()}));
  return absl::OkStatus();
}
absl::Status DiagPart(G& g) {
  g.set_grad(0, g.Call("Diag", {g.dy()}));
  return absl::OkStatus();
}

absl::Status MatrixDiag(G& g) {
  g.set_grad(0, g.Call("MatrixDiagPart", {g.dy()}));
  return absl::OkStatus();
}
// Zeros off the diagonal; the matrices need not be square.
absl::Status MatrixDiagPart(G& g) {
  g.set_grad(0, g.Call("MatrixSetDiag", {g.Call("ZerosLike", {g.input(0)}), g.dy()}));
  return absl::OkStatus();
}
absl::Status MatrixSetDiag(G& g) {
  const Output dy = g.dy();
  g.set_grad(0, g.Call("MatrixSetDiag", {dy, g.Call("ZerosLike", {g.input(1)})}));
  g.set_grad(1, g.Call("MatrixDiagPart", {dy}));
  return absl::OkStatus();
}
absl::Status MatrixBandPart(G& g) {
  g.set_grad(0, g.Call("MatrixBandPart", {g.dy(), g.input(1), g.input(2)}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterDiagonalGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Diag", Diag},
      {"DiagPart", DiagPart},
      {"MatrixDiag", MatrixDiag},
      {"MatrixDiagPart", MatrixDiagPart},
      {"MatrixSetDiag", MatrixSetDiag},
      {"MatrixBandPart", MatrixBandPart},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
