#include "graph/gradients/gradient_context.h"
#include "kernels/ranking/family.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status PassOn(G& g) {
  g.set_grad(0, g.grad(0));
  return absl::OkStatus();
}

// Shared by all elements that are the n-th.
absl::Status NthElement(G& g) {
  const Output x = g.input(0);
  const Output chosen = g.Call("ExpandDims", {g.output(0), -1});
  const Output is_chosen = g.Call("Cast", {g.Call("Equal", {chosen, x})}, {G::Set("DstT", x.type())});
  const Output count = g.Call("Sum", {is_chosen, Tensor::Vector<int32_t>({-1})}, {G::Set("keep_dims", true)});
  const Output share = g.Call("RealDiv", {is_chosen, count});
  g.set_grad(0, g.Call("Mul", {share, g.Call("ExpandDims", {g.dy(), -1})}));
  return absl::OkStatus();
}

// Each value goes back to where it was, along dimension `axis`.
absl::Status ApproxTopK(G& g) {
  const int64_t axis = g.Attr<int64_t>("reduction_dimension");
  if (axis < -kMaxRank || axis >= kMaxRank) {
    return errors::InvalidArgument("reduction_dimension ", axis, " is not a dimension");
  }
  const Output x = g.input(0), dy = g.dy(0);
  const auto at = [](int32_t i) { return Tensor::Vector<int32_t>({i}); };
  const int32_t a = static_cast<int32_t>(axis);
  const Output length =
      g.Call("StridedSlice", {g.Call("Shape", {x}), at(a), at(a + 1), at(1)},
             {G::Set("end_mask", int64_t{axis == -1 ? 1 : 0}), G::Set("shrink_axis_mask", int64_t{1})});
  // [.., length, k, ..]: whether the k-th value was at each place.
  const Output rest = axis < 0 ? Output() : g.Call("ExpandDims", {g.Call("Sub", {g.Call("Rank", {x}), a}), 0});
  const Output ones = g.Call("Fill", {axis < 0 ? Input(at(-a)) : Input(rest), 1});
  const Output shape = g.CallWithLists("ConcatV2", {{at(-1), ones}, {Tensor::Scalar<int32_t>(0)}});
  const Output places = g.Call("Reshape", {g.Call("Range", {0, length, 1}, {G::Set("Tidx", DT_INT32)}), shape});
  const Tensor inserted = Tensor::Scalar<int32_t>(axis < 0 ? a - 1 : a);
  const Output was_there = g.Call("Equal", {places, g.Call("ExpandDims", {g.output(1), inserted})});
  const Output values = g.Call("ExpandDims", {dy, inserted});
  const Output spread = g.Call("SelectV2", {was_there, values, g.Call("ZerosLike", {values})});
  g.set_grad(0, g.Call("Sum", {spread, at(axis < 0 ? a : a + 1)}));
  return absl::OkStatus();
}

absl::Status FractionalMaxPool(G& g) {
  g.set_grad(0, g.Call("FractionalMaxPoolGrad", {g.input(0), g.output(0), g.dy(), g.output(1), g.output(2)},
                       {G::Set("overlapping", g.Attr<bool>("overlapping"))}));
  return absl::OkStatus();
}
absl::Status FractionalAvgPool(G& g) {
  const Output shape = g.Call("Shape", {g.input(0)}, {G::Set("out_type", DT_INT64)});
  g.set_grad(0, g.Call("FractionalAvgPoolGrad", {shape, g.dy(), g.output(1), g.output(2)},
                       {G::Set("overlapping", g.Attr<bool>("overlapping"))}));
  return absl::OkStatus();
}

// Of images of other types there is none.
absl::Status ScaleAndTranslate(G& g) {
  if (g.input(0).type() != DT_FLOAT) return absl::OkStatus();
  g.set_grad(0, g.Call("ScaleAndTranslateGrad", {g.dy(), g.input(0), g.input(2), g.input(3)},
                       {G::Set("kernel_type", g.Attr<std::string>("kernel_type")),
                        G::Set("antialias", g.Attr<bool>("antialias"))}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRankingGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"NthElement", NthElement},
      {"ApproxTopK", ApproxTopK},
      {"FractionalMaxPool", FractionalMaxPool},
      {"FractionalAvgPool", FractionalAvgPool},
      {"ScaleAndTranslate", ScaleAndTranslate},
      {"CheckNumericsV2", PassOn},
      {"DebugGradientIdentity", PassOn},
      {"DebugGradientRefIdentity", PassOn},
      {"DebugIdentityV2", PassOn},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
