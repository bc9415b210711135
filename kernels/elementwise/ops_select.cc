// Selection, clipping and broadcasting.
#include <algorithm>

#include "core/status.h"
#include "graph/shapes/common_shapes.h"
#include "kernels/device/op_shapes.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// The condition has the shape of the values, or is a vector over their first dimension, or a scalar.
absl::Status SelectShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape data, c.input(1).MergeWith(c.input(2)));
  c.set_output(0, data);
  const PartialTensorShape& condition = c.input(0);
  if (data.unknown_rank() || condition.unknown_rank() || condition.dims() == 0) return absl::OkStatus();
  if (condition.dims() == 1 && data.dims() > 1) {
    return c.MergeDim(condition.dim_size(0), data.dim_size(0)).status();
  }
  ASSIGN_OR_RETURN(PartialTensorShape merged, data.MergeWith(condition));
  c.set_output(0, std::move(merged));
  return absl::OkStatus();
}

absl::Status SelectV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape values, shapes::Broadcast(c.input(1), c.input(2)));
  ASSIGN_OR_RETURN(PartialTensorShape output, shapes::Broadcast(c.input(0), values));
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

absl::Status BroadcastToShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  ASSIGN_OR_RETURN(PartialTensorShape output, c.InputAsShape(1));
  const PartialTensorShape& input = c.input(0);
  c.set_output(0, output);
  if (output.unknown_rank() || input.unknown_rank()) return absl::OkStatus();
  DimVector dims = op_shapes::Dims(output);
  if (input.dims() > output.dims()) {
    return errors::InvalidArgument("Shape must be at most rank ", output.dims(), " but is rank ", input.dims());
  }
  const int lead = output.dims() - input.dims();
  for (int i = 0; i < input.dims(); ++i) {
    const int64_t from = input.dim_size(i), to = output.dim_size(lead + i);
    if (from != kUnknown && to != kUnknown && from != 1 && from != to) {
      return errors::InvalidArgument("Incompatible shapes: cannot broadcast ", input.ToString(), " to ",
                                     output.ToString());
    }
    if (to == kUnknown && from != 1) dims[lead + i] = from;
  }
  return op_shapes::SetOutput(c, 0, dims);
}

absl::Status BroadcastArgsShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(0), 1));
  ASSIGN_OR_RETURN(PartialTensorShape y, c.WithRank(c.input(1), 1));
  const int64_t nx = c.Dim(x, 0), ny = c.Dim(y, 0);
  c.set_output(0, c.Vector(nx == kUnknown || ny == kUnknown ? kUnknown : std::max(nx, ny)));
  return absl::OkStatus();
}

absl::Status BroadcastGradientArgsShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  c.set_output(0, c.Vector(kUnknown));
  c.set_output(1, c.Vector(kUnknown));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSelectOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("ClipByValue")
                                   .Input("t: T")
                                   .Input("clip_value_min: T")
                                   .Input("clip_value_max: T")
                                   .Output("output: T")
                                   .Attr("T: numbertype")
                                   .Elementwise()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Select")
                                   .Input("condition: bool")
                                   .Input("t: T")
                                   .Input("e: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Shape(SelectShape)));
  RETURN_IF_ERROR(ops.Register(Op("SelectV2")
                                   .Input("condition: bool")
                                   .Input("t: T")
                                   .Input("e: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Elementwise()
                                   .Shape(SelectV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("BroadcastTo")
                                   .Input("input: T")
                                   .Input("shape: Tidx")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Shape(BroadcastToShape)));
  RETURN_IF_ERROR(ops.Register(Op("BroadcastArgs")
                                   .Input("s0: T")
                                   .Input("s1: T")
                                   .Output("r0: T")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Shape(BroadcastArgsShape)));
  RETURN_IF_ERROR(ops.Register(Op("BroadcastGradientArgs")
                                   .Input("s0: T")
                                   .Input("s1: T")
                                   .Output("r0: T")
                                   .Output("r1: T")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Shape(BroadcastGradientArgsShape)));
  return absl::OkStatus();
}

}  // namespace weir
