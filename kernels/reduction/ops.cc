// Ops that fold dimensions away, and running totals.
#include "kernels/device/op_shapes.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

using op_shapes::ConstantScalar;
using op_shapes::ConstantVector;
using op_shapes::FrontAxis;
using op_shapes::SetOutput;

absl::Status ReductionShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(0);
  RETURN_IF_ERROR(c.WithRankAtMost(c.input(1), 1).status());
  bool keep_dims;
  RETURN_IF_ERROR(c.GetAttr("keep_dims", &keep_dims));
  const std::optional<std::vector<int64_t>> axes = ConstantVector(c, 1);
  if (input.unknown_rank()) return absl::OkStatus();
  if (!axes) {
    if (keep_dims) c.set_output(0, c.UnknownOfRank(input.dims()));
    return absl::OkStatus();
  }
  std::vector<bool> folded(input.dims());
  for (int64_t axis : *axes) {
    if (axis < -input.dims() || axis >= input.dims()) {
      return errors::InvalidArgument("Invalid reduction dimension ", axis, " for input with ", input.dims(),
                                     " dimensions.");
    }
    folded[axis < 0 ? axis + input.dims() : axis] = true;
  }
  DimVector dims;
  for (int i = 0; i < input.dims(); ++i) {
    if (!folded[i]) {
      dims.push_back(input.dim_size(i));
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  return SetOutput(c, 0, dims);
}

absl::Status ArgShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(0);
  ASSIGN_OR_RETURN(const std::optional<int64_t> axis_value, ConstantScalar(c, 1));
  if (input.unknown_rank()) return absl::OkStatus();
  if (input.dims() <= 1) {
    c.set_output(0, c.Scalar());
    return absl::OkStatus();
  }
  if (!axis_value) {
    c.set_output(0, c.UnknownOfRank(input.dims() - 1));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, FrontAxis(*axis_value, input.dims()));
  DimVector dims = op_shapes::Dims(input);
  dims.erase(dims.begin() + axis);
  return SetOutput(c, 0, dims);
}

}  // namespace

absl::Status RegisterReductionOps(OpRegistry& ops) {
  for (const char* name : {"Sum", "Mean", "Prod", "EuclideanNorm"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: T")
                                     .Input("reduction_indices: Tidx")
                                     .Output("output: T")
                                     .Attr("keep_dims: bool = false")
                                     .Attr("T: numbertype")
                                     .Attr("Tidx: {int32, int64} = DT_INT32")
                                     .Shape(ReductionShape)));
  }
  for (const char* name : {"Max", "Min"}) {
    RETURN_IF_ERROR(ops.Register(
        Op(name)
            .Input("input: T")
            .Input("reduction_indices: Tidx")
            .Output("output: T")
            .Attr("keep_dims: bool = false")
            .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, "
                  "quint8, qint32, qint16, quint16}")
            .Attr("Tidx: {int32, int64} = DT_INT32")
            .Shape(ReductionShape)));
  }
  for (const char* name : {"All", "Any"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: bool")
                                     .Input("reduction_indices: Tidx")
                                     .Output("output: bool")
                                     .Attr("keep_dims: bool = false")
                                     .Attr("Tidx: {int32, int64} = DT_INT32")
                                     .Shape(ReductionShape)));
  }
  RETURN_IF_ERROR(ops.Register(
      Op("ArgMax")
          .Input("input: T")
          .Input("dimension: Tidx")
          .Output("output: output_type")
          .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, "
                "quint8, qint32, qint16, quint16, bool}")
          .Attr("Tidx: {int16, int32, int64} = DT_INT32")
          .Attr("output_type: {int16, uint16, int32, int64} = DT_INT64")
          .Shape(ArgShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("ArgMin")
          .Input("input: T")
          .Input("dimension: Tidx")
          .Output("output: output_type")
          .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, "
                "quint8, qint32, qint16, quint16, bool}")
          .Attr("Tidx: {int32, int64} = DT_INT32")
          .Attr("output_type: {int32, int64} = DT_INT64")
          .Shape(ArgShape)));
  for (const char* name : {"Cumsum", "Cumprod"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("axis: Tidx")
                                     .Output("out: T")
                                     .Attr("exclusive: bool = false")
                                     .Attr("reverse: bool = false")
                                     .Attr("T: numbertype")
                                     .Attr("Tidx: {int32, int64} = DT_INT32")
                                     .Shape(shapes::Unchanged)));
  }
  return absl::OkStatus();
}

}  // namespace weir
