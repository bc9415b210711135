// Ops that take a slice, and put one back.
#include "kernels/array/family.h"
#include "kernels/array/slicing/strided_slice_spec.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::ConstantVector;
using op_shapes::kUnknown;
using op_shapes::SetOutput;

absl::Status SliceShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(0);
  ASSIGN_OR_RETURN(PartialTensorShape begin_shape, c.WithRank(c.input(1), 1));
  ASSIGN_OR_RETURN(PartialTensorShape size_shape, c.WithRank(c.input(2), 1));
  ASSIGN_OR_RETURN(int64_t rank, c.MergeDim(c.Dim(begin_shape, 0), c.Dim(size_shape, 0)));
  if (!input.unknown_rank()) {
    ASSIGN_OR_RETURN(rank, c.MergeDim(rank, input.dims()));
  }
  if (rank < 0 || rank > kMaxRank) return absl::OkStatus();
  DimVector dims(rank, kUnknown);
  const auto begin = ConstantVector(c, 1), size = ConstantVector(c, 2);
  for (int64_t i = 0; size && i < rank; ++i) {
    const int64_t whole = input.unknown_rank() ? kUnknown : input.dim_size(static_cast<int>(i));
    if ((*size)[i] < -1)
      return errors::InvalidArgument("Expected size[", i, "] to be -1 or more, but got ", (*size)[i]);
    dims[i] = (*size)[i];
    if (!begin) continue;
    const int64_t from = (*begin)[i];
    if (from < 0 || (whole != kUnknown && (from > whole || (*size)[i] > whole - from))) {
      return errors::InvalidArgument("Expected begin[", i, "] in [0, ", whole, "] and size[", i,
                                     "] to fit after it, but got ", from, " and ", (*size)[i]);
    }
    if ((*size)[i] == -1 && whole != kUnknown) dims[i] = whole - from;
  }
  return SetOutput(c, 0, dims);
}

absl::StatusOr<StridedSliceMasks> MasksOf(InferenceContext& c) {
  StridedSliceMasks masks;
  RETURN_IF_ERROR(c.GetAttr("begin_mask", &masks.begin));
  RETURN_IF_ERROR(c.GetAttr("end_mask", &masks.end));
  RETURN_IF_ERROR(c.GetAttr("ellipsis_mask", &masks.ellipsis));
  RETURN_IF_ERROR(c.GetAttr("new_axis_mask", &masks.new_axis));
  RETURN_IF_ERROR(c.GetAttr("shrink_axis_mask", &masks.shrink_axis));
  return masks;
}

absl::Status StridedSliceShape(InferenceContext& c) {
  for (int i = 1; i <= 3; ++i) {
    RETURN_IF_ERROR(c.WithRank(c.input(i), 1).status());
    RETURN_IF_ERROR(c.MergeDim(c.Dim(c.input(i), 0), c.Dim(c.input(3), 0)).status());
  }
  const auto strides = ConstantVector(c, 3);
  if (!strides) return absl::OkStatus();
  ASSIGN_OR_RETURN(const StridedSliceMasks masks, MasksOf(c));
  const auto begin = ConstantVector(c, 1), end = ConstantVector(c, 2);
  for (const auto& values : {begin, end}) {
    if (values && values->size() != strides->size()) {
      return errors::InvalidArgument("begin, end and strides must be of equal size");
    }
  }
  const auto span = [](const std::optional<std::vector<int64_t>>& v) {
    return v ? std::make_optional(absl::MakeConstSpan(*v)) : std::nullopt;
  };
  ASSIGN_OR_RETURN(StridedSliceSpec spec, StridedSliceSpec::Of(c.input(0), masks, span(begin), span(end), *strides));
  c.set_output(0, std::move(spec.output));
  return absl::OkStatus();
}

absl::Status StridedSliceGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape output, c.InputAsShape(0));
  c.set_output(0, std::move(output));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSlicingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Slice")
                                   .Input("input: T")
                                   .Input("begin: Index")
                                   .Input("size: Index")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Index: {int32, int64}")
                                   .Shape(SliceShape)));
  RETURN_IF_ERROR(ops.Register(Op("StridedSlice")
                                   .Input("input: T")
                                   .Input("begin: Index")
                                   .Input("end: Index")
                                   .Input("strides: Index")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Index: {int16, int32, int64}")
                                   .Attr("begin_mask: int = 0")
                                   .Attr("end_mask: int = 0")
                                   .Attr("ellipsis_mask: int = 0")
                                   .Attr("new_axis_mask: int = 0")
                                   .Attr("shrink_axis_mask: int = 0")
                                   .Shape(StridedSliceShape)));
  RETURN_IF_ERROR(ops.Register(Op("StridedSliceGrad")
                                   .Input("shape: Index")
                                   .Input("begin: Index")
                                   .Input("end: Index")
                                   .Input("strides: Index")
                                   .Input("dy: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Index: {int32, int64}")
                                   .Attr("begin_mask: int = 0")
                                   .Attr("end_mask: int = 0")
                                   .Attr("ellipsis_mask: int = 0")
                                   .Attr("new_axis_mask: int = 0")
                                   .Attr("shrink_axis_mask: int = 0")
                                   .Shape(StridedSliceGradShape)));
  return absl::OkStatus();
}

}  // namespace weir
