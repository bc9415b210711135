#include "graph/gradients/gradient_context.h"
#include "kernels/ranking/family.h"

namespace weir {
namespace {

using G = GradientContext;

// Scatters dy to the places of the k values: one-hot rows times dy, summed.
absl::Status TopK(G& g) {
  const Output shape = g.Call("Shape", {g.input(0)});
  const Output columns =
      g.Call("StridedSlice",
             {shape, Tensor::Vector<int32_t>({-1}), Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1})},
             {G::Set("end_mask", int64_t{1}), G::Set("shrink_axis_mask", int64_t{1})});
  auto number = [&g](float value) {
    return g.Call("Cast", {Tensor::Scalar<float>(value)}, {G::Set("DstT", g.input(0).type())});
  };
  const Output places = g.Call("OneHot", {g.output(1), columns, number(1), number(0)});
  const Output weighted = g.Call("Mul", {places, g.Call("ExpandDims", {g.dy(0), Tensor::Scalar<int32_t>(-1)})});
  g.set_grad(0, g.Call("Sum", {weighted, Tensor::Vector<int32_t>({-2})}));
  return absl::OkStatus();
}

// All elements equal to the n-th share dy.
absl::Status NthElement(G& g) {
  const Output x = g.input(0);
  const Output chosen = g.Call("ExpandDims", {g.output(0), -1});
  const Output is_chosen = g.Call("Cast", {g.Call("Equal", {chosen, x})}, {G::Set("DstT", x.type())});
  const Output count = g.Call("Sum", {is_chosen, Tensor::Vector<int32_t>({-1})}, {G::Set("keep_dims", true)});
  const Output share = g.Call("RealDiv", {is_chosen, count});
  g.set_grad(0, g.Call("Mul", {share, g.Call("ExpandDims", {g.dy(), -1})}));
  return absl::OkStatus();
}

// Scatters dy to the places of the k values along dimension `axis`.
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

}  // namespace

absl::Status RegisterRankingGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"TopK", TopK},
      {"TopKV2", TopK},
      {"NthElement", NthElement},
      {"ApproxTopK", ApproxTopK},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
