// Gradients of bands of diagonals.
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

using G = GradientContext;

Output Zero(G& g, const Output& like) {
  return g.Call("Cast", {Tensor::Scalar<float>(0)}, {G::Set("DstT", like.type())});
}
// The attribute `align`, which the second versions lack.
std::vector<G::AttrSetter> Align(G& g) {
  if (FindAttr(g.op().def(), "align") == nullptr) return {};
  return {G::Set("align", g.Attr<std::string>("align"))};
}
template <const char* kPart>
absl::Status MatrixDiag(G& g) {
  g.set_grad(0, g.Call(kPart, {g.dy(), g.input(1), Zero(g, g.dy())}, Align(g)));
  return absl::OkStatus();
}
template <const char* kSet>
absl::Status MatrixDiagPart(G& g) {
  g.set_grad(0, g.Call(kSet, {g.Call("ZerosLike", {g.input(0)}), g.dy(), g.input(1)}, Align(g)));
  return absl::OkStatus();
}
template <const char* kSet, const char* kPart>
absl::Status MatrixSetDiag(G& g) {
  const Output dy = g.dy();
  g.set_grad(0, g.Call(kSet, {dy, g.Call("ZerosLike", {g.input(1)}), g.input(2)}, Align(g)));
  g.set_grad(1, g.Call(kPart, {dy, g.input(2), Zero(g, dy)}, Align(g)));
  return absl::OkStatus();
}
constexpr char kPartV2[] = "MatrixDiagPartV2", kPartV3[] = "MatrixDiagPartV3", kSetV2[] = "MatrixSetDiagV2",
               kSetV3[] = "MatrixSetDiagV3";

}  // namespace

absl::Status RegisterBandGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"MatrixDiagV2", MatrixDiag<kPartV2>},
      {"MatrixDiagV3", MatrixDiag<kPartV3>},
      {"MatrixDiagPartV2", MatrixDiagPart<kSetV2>},
      {"MatrixDiagPartV3", MatrixDiagPart<kSetV3>},
      {"MatrixSetDiagV2", MatrixSetDiag<kSetV2, kPartV2>},
      {"MatrixSetDiagV3", MatrixSetDiag<kSetV3, kPartV3>},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
