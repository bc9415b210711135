// Gradients of reductions and scans.

#include "graph/gradients/gradient_context.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

using G = GradientContext;

// What a reduction over `axes` did to the shape.
struct Reduced {
  explicit Reduced(G& g) {
    shape = g.Call("Shape", {g.input(0)});
    // The output's shape with 1 where a dimension was summed: scatter ones into the input's shape.
    const Output rank = g.Call("Size", {shape});
    const Output axes32 = g.Call("Cast", {g.input(1)}, {G::Set("DstT", DT_INT32)});
    const Output axes =
        g.Call("Reshape", {g.Call("FloorMod", {g.Call("AddV2", {axes32, rank}), rank}), Tensor::Vector<int32_t>({-1})});
    const Output all = g.Call("Range", {0, rank, 1}, {G::Set("Tidx", DT_INT32)});
    const Output ones = g.Call("OnesLike", {axes});
    kept = g.CallWithLists("DynamicStitch", {{all, axes}, {shape, ones}});
  }
  Output shape, kept;
};

Output Spread(G& g, const Reduced& reduced, const Output& value) {
  return g.Call("BroadcastTo", {g.Call("Reshape", {value, reduced.kept}), reduced.shape});
}

absl::Status Sum(G& g) {
  g.set_grad(0, Spread(g, Reduced(g), g.dy()));
  return absl::OkStatus();
}

absl::Status Mean(G& g) {
  const Output spread = Spread(g, Reduced(g), g.dy());
  const Output in_size = g.Call("Size", {g.input(0)}), out_size = g.Call("Size", {g.output(0)});
  const Output count = g.Call("FloorDiv", {in_size, g.Call("Maximum", {out_size, 1})});
  const Output divisor = g.Call("Maximum", {count, 1});
  g.set_grad(0, g.Call("RealDiv", {spread, g.Call("Cast", {divisor}, {G::Set("DstT", spread.type())})}));
  return absl::OkStatus();
}

// Shared evenly among the elements that equal the extremum.
absl::Status MinOrMax(G& g) {
  const Reduced reduced(g);
  const Output y = g.Call("Reshape", {g.output(0), reduced.kept});
  const Output chosen = g.Call("Cast", {g.Call("Equal", {g.input(0), y})}, {G::Set("DstT", y.type())});
  const Output count = g.Call("Reshape", {g.Call("Sum", {chosen, g.input(1)}), reduced.kept});
  const Output dy = g.Call("Reshape", {g.dy(), reduced.kept});
  g.set_grad(0, g.Call("Mul", {g.Call("RealDiv", {chosen, count}), dy}));
  return absl::OkStatus();
}

Output Conjugated(G& g, const Output& x) { return IsComplex(x.type()) ? g.Call("Conj", {x}) : x; }

// The product of the others: the product of those before times the product of those behind, so that zeros need no
// division. The reduced dimensions are moved to the front and made one.
absl::Status Prod(G& g) {
  const Reduced reduced(g);
  const Output rank = g.Call("Rank", {g.input(0)});
  const Output axes32 =
      g.Call("Cast", {g.Call("Reshape", {g.input(1), Tensor::Vector<int32_t>({-1})})}, {G::Set("DstT", DT_INT32)});
  const Output axes = g.Call("FloorMod", {g.Call("AddV2", {axes32, rank}), rank});
  const Output all = g.Call("Range", {0, rank, 1}, {G::Set("Tidx", DT_INT32)});
  const Output others = g.Call("ListDiff", {all, axes});
  const Output permutation = g.CallWithLists("ConcatV2", {{axes, others}, {Tensor::Scalar<int32_t>(0)}});
  const Output front = g.Call("Prod", {g.Call("GatherV2", {reduced.shape, axes, 0}), 0});
  const Output back = g.Call("Prod", {g.Call("GatherV2", {reduced.shape, others, 0}), 0});
  const Output permuted = g.Call("Transpose", {g.input(0), permutation});
  const Output matrix = g.Call("Reshape", {permuted, g.CallWithLists("Pack", {{front, back}})});
  const Output before = g.Call("Cumprod", {matrix, Tensor::Scalar<int32_t>(0)}, {G::Set("exclusive", true)});
  const Output behind =
      g.Call("Cumprod", {matrix, Tensor::Scalar<int32_t>(0)}, {G::Set("exclusive", true), G::Set("reverse", true)});
  const Output others_product = Conjugated(g, g.Call("Mul", {before, behind}));
  const Output product = g.Call("Reshape", {others_product, g.Call("Shape", {permuted})});
  const Output restored = g.Call("Transpose", {product, g.Call("InvertPermutation", {permutation})});
  g.set_grad(0, g.Call("Mul", {restored, Spread(g, reduced, g.dy())}));
  return absl::OkStatus();
}

absl::Status Cumsum(G& g) {
  const bool exclusive = g.Attr<bool>("exclusive"), reverse = g.Attr<bool>("reverse");
  g.set_grad(0, g.Call("Cumsum", {g.dy(), g.input(1)}, {G::Set("exclusive", exclusive), G::Set("reverse", !reverse)}));
  return absl::OkStatus();
}

absl::Status Cumprod(G& g) {
  const bool exclusive = g.Attr<bool>("exclusive"), reverse = g.Attr<bool>("reverse");
  const Output weighted = g.Call("Mul", {Conjugated(g, g.output(0)), g.dy()});
  const Output sums =
      g.Call("Cumsum", {weighted, g.input(1)}, {G::Set("exclusive", exclusive), G::Set("reverse", !reverse)});
  g.set_grad(0, g.Call("DivNoNan", {sums, Conjugated(g, g.input(0))}));
  return absl::OkStatus();
}

// sqrt(sum of squares): dy * x / y, zero where all elements are.
absl::Status EuclideanNorm(G& g) {
  const Reduced reduced(g);
  const Output ratio = g.Call("DivNoNan", {g.dy(), g.output(0)});
  g.set_grad(0, g.Call("Mul", {g.input(0), g.Call("Reshape", {ratio, reduced.kept})}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterReductionGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Sum", Sum},       {"Mean", Mean},       {"Min", MinOrMax},
      {"Max", MinOrMax},  {"Prod", Prod},       {"EuclideanNorm", EuclideanNorm},
      {"Cumsum", Cumsum}, {"Cumprod", Cumprod},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
