// Gradients of ragged tensors: of their values, for row splits have none.

#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/ragged/family.h"

namespace weir {
namespace {

using G = GradientContext;

Output ShapeOf(G& g, const Output& x) { return g.Call("Shape", {x}); }

absl::Status RaggedToSparse(G& g) {
  const int values = g.num_inputs() - 1;
  g.set_grad(values, g.Call("Reshape", {g.dy(1), ShapeOf(g, g.input(values))}));
  return absl::OkStatus();
}

// The numbers of the values, laid out as the values are, tell which gradient belongs to which; -1 stands for the
// default.
absl::Status RaggedToTensor(G& g) {
  const Output values = g.input(1), initial = g.input(2), dy = g.dy();
  const auto types = g.Attr<std::vector<std::string>>("row_partition_types");
  int32_t levels = 0;
  for (const std::string& type : types) levels += type != "FIRST_DIM_SIZE";
  const Output values_shape = ShapeOf(g, values), shape = ShapeOf(g, dy);
  const Output rows = g.Call("GatherV2", {values_shape, Tensor::Scalar<int32_t>(0), 0});
  const Output numbers = g.Call("Range", {0, rows, 1}, {G::Set("Tidx", DT_INT32)});
  const Output outer = g.Call("Slice", {shape, Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1 + levels})});
  InputList partitions;
  for (int i = 3; i < g.num_inputs(); ++i) partitions.push_back(g.input(i));
  const Output laid_out =
      g.CallWithLists("RaggedTensorToTensor", {{outer}, {numbers}, {Tensor::Scalar<int32_t>(-1)}, partitions},
                      {G::Set("row_partition_types", types)});
  // One row of dy for each number: -1 goes to an extra segment, which is the default's.
  const Output flat = g.Call("Reshape", {laid_out, Tensor::Vector<int32_t>({-1})});
  const Output extra = g.Call("SelectV2", {g.Call("Less", {flat, 0}), rows, flat});
  const Output element = g.Call("Slice", {values_shape, Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({-1})});
  const Output count = g.Call("ExpandDims", {g.Call("Size", {flat}), 0});
  const Output by_row =
      g.Call("Reshape", {dy, g.CallWithLists("ConcatV2", {{count, element}, {Tensor::Scalar<int32_t>(0)}})});
  const Output sums = g.Call("UnsortedSegmentSum", {by_row, extra, g.Call("AddV2", {rows, 1})});
  const Output all = g.Call("Range", {0, g.Call("AddV2", {rows, 1}), 1}, {G::Set("Tidx", DT_INT32)});
  const Output first = g.Call("Slice", {all, Tensor::Vector<int32_t>({0}), g.Call("ExpandDims", {rows, 0})});
  g.set_grad(1, g.Call("GatherV2", {sums, first, 0}));
  // Dimensions along which the default was broadcast are summed.
  const Output of_default = g.Call("GatherV2", {sums, rows, 0});
  const Output axes = g.Call("BroadcastGradientArgs", {ShapeOf(g, initial), ShapeOf(g, of_default)});
  g.set_grad(2, g.Call("Reshape", {g.Call("Sum", {of_default, Output(axes.op(), 0)}), ShapeOf(g, initial)}));
  return absl::OkStatus();
}

// Rows of the values that each index stands for.
absl::Status RaggedGather(G& g) {
  const int values = g.num_inputs() - 2;
  Output ends = g.input(0);
  for (int i = 1; i < values; ++i) ends = g.Call("GatherV2", {g.input(i), ends, 0});
  const Output flat = g.Call("Reshape", {g.input(values + 1), Tensor::Vector<int32_t>({-1})});
  const Output one = g.Call("OnesLike", {flat});
  const Output begins = g.Call("GatherV2", {ends, flat, 0});
  const Output limits = g.Call("GatherV2", {ends, g.Call("AddV2", {flat, one}), 0});
  const Output step = g.Call("Cast", {Tensor::Scalar<int32_t>(1)}, {G::Set("DstT", begins.type())});
  const Output rows = g.Call("RaggedRange", {begins, limits, step}, {G::Set("Tsplits", begins.type())});
  g.set_grad(values, Gradient(g.dy(g.op().num_outputs() - 1), Output(rows.op(), 1), ShapeOf(g, g.input(values))));
  return absl::OkStatus();
}

absl::Status RaggedToVariant(G& g) {
  const int values = g.num_inputs() - 1;
  const Output values_in = g.input(values);
  const Input splits = values == 0 ? Input(Tensor::Scalar<int64_t>(0)) : Input(g.input(0));
  g.set_grad(values, g.Call("RaggedTensorToVariantGradient", {g.dy(), splits, ShapeOf(g, values_in)},
                            {G::Set("Tvalues", values_in.type())}));
  return absl::OkStatus();
}

absl::Status RaggedFromVariant(G& g) {
  const int values = g.op().num_outputs() - 1;
  InputList splits;
  for (int i = 0; i < values; ++i) splits.push_back(g.output(i));
  const bool batched = values > 0 && g.Attr<int64_t>("input_ragged_rank") < values;
  g.set_grad(0, g.CallWithLists("RaggedTensorToVariant", {splits, {g.dy(values)}},
                                {G::Set("batched_input", batched), G::Set("RAGGED_RANK", int64_t{values}),
                                 G::Set("Tsplits", g.Attr<DataType>("Tsplits"))}));
  return absl::OkStatus();
}

absl::Status RaggedFillEmptyRows(G& g) {
  const Output grads = g.Call("RaggedFillEmptyRowsGrad", {g.output(3), g.dy(1)});
  g.set_grad(1, Output(grads.op(), 0));
  g.set_grad(3, Output(grads.op(), 1));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRaggedGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"RaggedFillEmptyRows", RaggedFillEmptyRows}, {"RaggedTensorToSparse", RaggedToSparse},
      {"RaggedTensorToTensor", RaggedToTensor},     {"RaggedGather", RaggedGather},
      {"RaggedTensorToVariant", RaggedToVariant},   {"RaggedTensorFromVariant", RaggedFromVariant},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
