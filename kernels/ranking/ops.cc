// The k largest elements, the n-th largest, and whether a class is among the k best.
#include "graph/shapes/common_shapes.h"
#include "kernels/device/op_shapes.h"
#include "kernels/ranking/approx_top_k.h"
#include "kernels/ranking/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// The last dimension is dropped.
absl::Status NthElementShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), 1));
  ASSIGN_OR_RETURN(const int64_t n, c.InputAsScalar(1));
  const int64_t last = c.Dim(in, -1);
  if (n >= 0 && last >= 0 && last <= n) {
    return errors::InvalidArgument("Input must have last dimension > n = ", n, " but is ", last);
  }
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.Subshape(in, 0, -1));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status ApproxTopKShape(InferenceContext& c) {
  int64_t axis;
  RETURN_IF_ERROR(c.GetAttr("reduction_dimension", &axis));
  ASSIGN_OR_RETURN(const ApproxTopKSize size, ApproxTopKSize::Read(c));
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(0), 1));
  if (input.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int front, op_shapes::FrontAxis(axis, input.dims()));
  DimVector dims = op_shapes::Dims(input);
  if (dims[front] != kUnknown) {
    ASSIGN_OR_RETURN(dims[front], size.Of(dims[front], input.dims()));
  } else if (size.aggregate) {
    dims[front] = size.k;
  }
  for (int i : {0, 1}) c.set_output(i, c.Of(dims));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRankingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("TopKV2")
                                   .Input("input: T")
                                   .Input("k: Tk")
                                   .Output("values: T")
                                   .Output("indices: index_type")
                                   .Attr("sorted: bool = true")
                                   .Attr("T: realnumbertype")
                                   .Attr("Tk: {int16, int32, int64} = DT_INT32")
                                   .Attr("index_type: {int16, int32, int64} = DT_INT32")
                                   .Shape(shapes::TopK)));
  RETURN_IF_ERROR(ops.Register(Op("TopK")
                                   .Input("input: T")
                                   .Output("values: T")
                                   .Output("indices: int32")
                                   .Attr("k: int >= 0")
                                   .Attr("sorted: bool = true")
                                   .Attr("T: realnumbertype")
                                   .Deprecated(7, "Use TopKV2 instead")
                                   .Shape(shapes::TopK)));
  RETURN_IF_ERROR(ops.Register(Op("InTopK")
                                   .Input("predictions: float")
                                   .Input("targets: T")
                                   .Output("precision: bool")
                                   .Attr("k: int")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Shape(shapes::InTopK)));
  RETURN_IF_ERROR(ops.Register(Op("InTopKV2")
                                   .Input("predictions: float")
                                   .Input("targets: T")
                                   .Input("k: T")
                                   .Output("precision: bool")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Shape(shapes::InTopK)));
  RETURN_IF_ERROR(ops.Register(Op("NthElement")
                                   .Input("input: T")
                                   .Input("n: int32")
                                   .Output("values: T")
                                   .Attr("reverse: bool = false")
                                   .Attr("T: realnumbertype")
                                   .Shape(NthElementShape)));
  RETURN_IF_ERROR(ops.Register(Op("ApproxTopK")
                                   .Input("input: T")
                                   .Output("values: T")
                                   .Output("indices: int32")
                                   .Attr("k: int >= 0")
                                   .Attr("reduction_dimension: int = -1")
                                   .Attr("recall_target: float = 0.949999988")
                                   .Attr("is_max_k: bool = true")
                                   .Attr("reduction_input_size_override: int = -1")
                                   .Attr("aggregate_to_topk: bool = true")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Shape(ApproxTopKShape)));
  return absl::OkStatus();
}

}  // namespace weir
