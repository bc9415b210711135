// Gradients of gathers, scatters, stitching and partitioning.

#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/indexing/family.h"

namespace weir {
namespace {

using G = GradientContext;

Output ShapeOf(G& g, const Output& x) { return g.Call("Shape", {x}); }

// Rows picked by index: a sparse gradient, with the picked rows flattened to [n, row…].
Gradient RowGradient(G& g, const Output& params_shape, const Output& indices) {
  const Output row =
      g.Call("StridedSlice",
             {params_shape, Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1})},
             {G::Set("end_mask", int64_t{1})});
  const Output count = g.Call("ExpandDims", {g.Call("Size", {indices}), 0});
  const Output shape = g.CallWithLists("ConcatV2", {{count, row}, {Tensor::Scalar<int32_t>(0)}});
  const Output values = g.Call("Reshape", {g.dy(), shape});
  const Output flat = g.Call("Reshape", {indices, Tensor::Vector<int32_t>({-1})});
  return Gradient(values, flat, params_shape);
}

absl::Status Gather(G& g) {
  g.set_grad(0, RowGradient(g, ShapeOf(g, g.input(0)), g.input(1)));
  return absl::OkStatus();
}

// The product of shape[begin : end].
Output Extent(G& g, const Output& shape, const Output& begin, const Output& end) {
  const Output one = g.Call("OnesLike", {begin});
  const Output part = g.Call("StridedSlice", {shape, g.Call("ExpandDims", {begin, 0}), g.Call("ExpandDims", {end, 0}),
                                              g.Call("ExpandDims", {one, 0})});
  return g.Call("Prod", {part, 0});
}
Output Vector(G& g, const InputList& numbers) { return g.CallWithLists("Pack", {numbers}); }

bool IsConstantZero(const Output& x) {
  Tensor value;
  if (!x.node()->IsConstant() || !GetNodeAttr(x.node()->def(), "value", &value).ok()) return false;
  return value.NumElements() == 1 &&
         (value.dtype() == DT_INT64 ? value.scalar<int64_t>() == 0 : value.scalar<int32_t>() == 0);
}

// Along axis 0 the gradient is sparse. Else params are seen as [batch, outer, rows, inner] and dy as [batch, outer,
// picked, inner]: dy's slices are summed by batch and index, and put back in order.
absl::Status GatherV2(G& g) {
  const int64_t batch_dims = g.Attr<int64_t>("batch_dims");
  if (batch_dims == 0 && IsConstantZero(g.input(2))) return Gather(g);
  const Output shape = ShapeOf(g, g.input(0)), indices_shape = ShapeOf(g, g.input(1));
  const Output rank = g.Call("Size", {shape}), indices_rank = g.Call("Size", {indices_shape});
  const Output zero = g.Call("ZerosLike", {rank});
  const Output batched = g.Call("AddV2", {batch_dims < 0 ? indices_rank : zero, static_cast<int32_t>(batch_dims)});
  const Output raw_axis = g.Call("Cast", {g.input(2)}, {G::Set("DstT", DT_INT32)});
  const Output axis = g.Call("FloorMod", {g.Call("AddV2", {raw_axis, rank}), rank});
  const Output after = g.Call("AddV2", {axis, 1});
  const Output batch = Extent(g, shape, zero, batched), outer = Extent(g, shape, batched, axis);
  const Output rows = Extent(g, shape, axis, after), inner = Extent(g, shape, after, rank);
  const Output picked = Extent(g, indices_shape, batched, indices_rank);

  const Tensor swap = Tensor::Vector<int32_t>({0, 2, 1, 3});
  const Output dy = g.Call("Transpose", {g.Call("Reshape", {g.dy(), Vector(g, {batch, outer, picked, inner})}), swap});
  const Output slices = g.Call("Reshape", {dy, Vector(g, {g.Call("Mul", {batch, picked}), outer, inner})});
  const Output first = g.Call("Mul", {g.Call("Range", {zero, batch, 1}), rows});
  const Output offsets = g.Call("Cast", {g.Call("ExpandDims", {first, 1})}, {G::Set("DstT", g.input(1).type())});
  const Output ids = g.Call("AddV2", {g.Call("Reshape", {g.input(1), Vector(g, {batch, picked})}), offsets});
  const Output flat_ids = g.Call("Reshape", {ids, Tensor::Vector<int32_t>({-1})});
  const Output summed = g.Call("UnsortedSegmentSum", {slices, flat_ids, g.Call("Mul", {batch, rows})});
  const Output parts = g.Call("Reshape", {summed, Vector(g, {batch, rows, outer, inner})});
  g.set_grad(0, g.Call("Reshape", {g.Call("Transpose", {parts, swap}), shape}));
  return absl::OkStatus();
}

absl::Status ResourceGather(G& g) {
  const Output shape = g.Call("VariableShape", {g.input(0)});
  g.set_grad(0, RowGradient(g, shape, g.input(1)));
  return absl::OkStatus();
}

absl::Status GatherNd(G& g) {
  const Output shape = g.Call("Shape", {g.input(0)}, {G::Set("out_type", g.input(1).type())});
  g.set_grad(0, g.Call("ScatterNd", {g.input(1), g.dy(), shape}));
  return absl::OkStatus();
}
absl::Status ScatterNd(G& g) {
  g.set_grad(1, g.Call("GatherNd", {g.dy(), g.input(0)}));
  return absl::OkStatus();
}

absl::Status ResourceGatherNd(G& g) {
  const Output shape = g.Call("VariableShape", {g.input(0)}, {G::Set("out_type", g.input(1).type())});
  g.set_grad(0, g.Call("ScatterNd", {g.input(1), g.dy(), shape}));
  return absl::OkStatus();
}

// tensor with updates added (or subtracted) at the indices.
absl::Status TensorScatterAdd(G& g) {
  g.set_grad(0, g.dy());
  g.set_grad(2, g.Call("GatherNd", {g.dy(), g.input(1)}));
  return absl::OkStatus();
}
absl::Status TensorScatterSub(G& g) {
  g.set_grad(0, g.dy());
  g.set_grad(2, g.Call("Neg", {g.Call("GatherNd", {g.dy(), g.input(1)})}));
  return absl::OkStatus();
}
// Overwritten elements have no gradient.
absl::Status TensorScatterUpdate(G& g) {
  g.set_grad(0, g.Call("TensorScatterUpdate", {g.dy(), g.input(1), g.Call("ZerosLike", {g.input(2)})}));
  g.set_grad(2, g.Call("GatherNd", {g.dy(), g.input(1)}));
  return absl::OkStatus();
}
// Shared evenly among the old element and the updates that equal the extremum.
absl::Status TensorScatterMinOrMax(G& g) {
  const Output y = g.output(0), indices = g.input(1), dy = g.dy();
  const Output old_wins = g.Call("Cast", {g.Call("Equal", {g.input(0), y})}, {G::Set("DstT", y.type())});
  const Output y_there = g.Call("GatherNd", {y, indices});
  const Output update_wins = g.Call("Cast", {g.Call("Equal", {g.input(2), y_there})}, {G::Set("DstT", y.type())});
  const Output winners = g.Call("TensorScatterAdd", {old_wins, indices, update_wins});
  const Output share = g.Call("DivNoNan", {dy, winners});
  g.set_grad(0, g.Call("Mul", {share, old_wins}));
  g.set_grad(2, g.Call("Mul", {g.Call("GatherNd", {share, indices}), update_wins}));
  return absl::OkStatus();
}

absl::Status DynamicStitch(G& g) {
  const int n = g.num_inputs() / 2;
  for (int i = 0; i < n; ++i) g.set_grad(n + i, g.Call("GatherV2", {g.dy(), g.input(i), 0}));
  return absl::OkStatus();
}

// Each row's place in the partitions, stitched back together.
absl::Status DynamicPartition(G& g) {
  const int n = g.op().num_outputs();
  const Output prefix = ShapeOf(g, g.input(1));
  const Output positions =
      g.Call("Reshape", {g.Call("Range", {0, g.Call("Size", {g.input(1)}), 1}, {G::Set("Tidx", DT_INT32)}), prefix});
  const Output parts = g.Call("DynamicPartition", {positions, g.input(1)}, {G::Set("num_partitions", int64_t{n})});
  InputList indices, dys;
  for (int i = 0; i < n; ++i) {
    indices.push_back(Output(parts.op(), i));
    dys.push_back(g.dy(i));
  }
  const Output stitched = g.CallWithLists("DynamicStitch", {indices, dys});
  g.set_grad(0, g.Call("Reshape", {stitched, ShapeOf(g, g.input(0))}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterIndexingGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Gather", Gather},
      {"GatherV2", GatherV2},
      {"ResourceGather", ResourceGather},
      {"GatherNd", GatherNd},
      {"ResourceGatherNd", ResourceGatherNd},
      {"ScatterNd", ScatterNd},
      {"ScatterNdNonAliasingAdd", TensorScatterAdd},
      {"TensorScatterAdd", TensorScatterAdd},
      {"TensorScatterSub", TensorScatterSub},
      {"TensorScatterUpdate", TensorScatterUpdate},
      {"TensorScatterMax", TensorScatterMinOrMax},
      {"TensorScatterMin", TensorScatterMinOrMax},
      {"DynamicStitch", DynamicStitch},
      {"ParallelDynamicStitch", DynamicStitch},
      {"DynamicPartition", DynamicPartition},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
