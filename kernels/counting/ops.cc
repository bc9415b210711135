// Counting, searching, and small ops on indices and formats.
#include "kernels/counting/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

absl::Status BincountShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> size, op_shapes::ConstantScalar(c, 1));
  if (size && *size < 0) return errors::InvalidArgument("size (", *size, ") must be non-negative");
  c.set_output(0, c.Vector(size.value_or(kUnknown)));
  return absl::OkStatus();
}

absl::Status DenseBincountShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtMost(c.input(0), 2));
  ASSIGN_OR_RETURN(const std::optional<int64_t> size, op_shapes::ConstantScalar(c, 1));
  if (size && *size < 0) return errors::InvalidArgument("size (", *size, ") must be non-negative");
  if (input.unknown_rank()) return absl::OkStatus();
  if (input.dims() == 2) {
    c.set_output(0, c.Matrix(input.dim_size(0), size.value_or(kUnknown)));
  } else {
    c.set_output(0, c.Vector(size.value_or(kUnknown)));
  }
  return absl::OkStatus();
}

absl::Status HistogramShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape range, c.WithRank(c.input(1), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(range, 0), 2).status());
  ASSIGN_OR_RETURN(const std::optional<int64_t> bins, op_shapes::ConstantScalar(c, 2));
  if (bins && *bins <= 0) return errors::InvalidArgument("Requires nbins > 0: ", *bins);
  c.set_output(0, c.Vector(bins.value_or(kUnknown)));
  return absl::OkStatus();
}

absl::Status BoundShape(InferenceContext& c) {
  for (int i : {0, 1}) RETURN_IF_ERROR(c.WithRank(c.input(i), 2).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(c.input(0), 0), c.Dim(c.input(1), 0)).status());
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

absl::Status UnravelIndexShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape indices, c.WithRankAtMost(c.input(0), 1));
  ASSIGN_OR_RETURN(PartialTensorShape dims, c.WithRank(c.input(1), 1));
  if (indices.unknown_rank()) return absl::OkStatus();
  const int64_t rank = c.Dim(dims, 0);
  c.set_output(0, indices.dims() == 0 ? c.Vector(rank) : c.Matrix(rank, indices.dim_size(0)));
  return absl::OkStatus();
}

absl::Status CrossShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape a, c.WithRankAtLeast(c.input(0), 1));
  ASSIGN_OR_RETURN(PartialTensorShape both, c.Merge(a, c.input(1)));
  if (!both.unknown_rank()) RETURN_IF_ERROR(c.MergeDim(c.Dim(both, -1), 3).status());
  c.set_output(0, std::move(both));
  return absl::OkStatus();
}

absl::Status IsotonicShape(InferenceContext& c) {
  c.set_output(0, c.input(0));
  c.set_output(1, c.input(0));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterCountingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Bincount")
                                   .Input("arr: int32")
                                   .Input("size: int32")
                                   .Input("weights: T")
                                   .Output("bins: T")
                                   .Attr("T: {int32, int64, float, double}")
                                   .Shape(BincountShape)));
  RETURN_IF_ERROR(ops.Register(Op("DenseBincount")
                                   .Input("input: Tidx")
                                   .Input("size: Tidx")
                                   .Input("weights: T")
                                   .Output("output: T")
                                   .Attr("Tidx: {int32, int64}")
                                   .Attr("T: {int32, int64, float, double}")
                                   .Attr("binary_output: bool = false")
                                   .Shape(DenseBincountShape)));
  RETURN_IF_ERROR(ops.Register(Op("HistogramFixedWidth")
                                   .Input("values: T")
                                   .Input("value_range: T")
                                   .Input("nbins: int32")
                                   .Output("out: dtype")
                                   .Attr("T: {int32, int64, float, double}")
                                   .Attr("dtype: {int32, int64} = DT_INT32")
                                   .Shape(HistogramShape)));
  RETURN_IF_ERROR(ops.Register(Op("Bucketize")
                                   .Input("input: T")
                                   .Output("output: int32")
                                   .Attr("T: {int32, int64, float, double}")
                                   .Attr("boundaries: list(float)")
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"DataFormatDimMap", "DataFormatVecPermute"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Output("y: T")
                                     .Attr("T: {int32, int64} = DT_INT32")
                                     .Attr("src_format: string = 'NHWC'")
                                     .Attr("dst_format: string = 'NCHW'")
                                     .Shape(shapes::Unchanged)));
  }
  for (const char* name : {"LowerBound", "UpperBound"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("sorted_inputs: T")
                                     .Input("values: T")
                                     .Output("output: out_type")
                                     .Attr("T: type")
                                     .Attr("out_type: {int32, int64} = DT_INT32")
                                     .Shape(BoundShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("UnravelIndex")
                                   .Input("indices: Tidx")
                                   .Input("dims: Tidx")
                                   .Output("output: Tidx")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Shape(UnravelIndexShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("Cross").Input("a: T").Input("b: T").Output("product: T").Attr("T: realnumbertype").Shape(CrossShape)));
  RETURN_IF_ERROR(ops.Register(Op("IsotonicRegression")
                                   .Input("input: T")
                                   .Output("output: output_dtype")
                                   .Output("segments: int32")
                                   .Attr("T: realnumbertype")
                                   .Attr("output_dtype: {half, bfloat16, float, double} = DT_FLOAT")
                                   .Shape(IsotonicShape)));
  return absl::OkStatus();
}

}  // namespace weir
