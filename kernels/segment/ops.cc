// Ops that fold rows together by segment.
#include "kernels/device/op_shapes.h"
#include "kernels/segment/family.h"

namespace weir {
namespace {

using op_shapes::ConstantScalar;
using op_shapes::kUnknown;

// [rows, ...] where input `data` is [any, ...].
absl::Status RowsOf(InferenceContext& c, int data, int64_t rows) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRankAtLeast(c.input(data), 1));
  if (shape.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(PartialTensorShape row, c.Subshape(shape, 1));
  c.set_output(0, c.Concatenate(c.Vector(rows), row));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SegmentCount(InferenceContext& c, int input) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> count, ConstantScalar(c, input));
  if (count && *count < 0) return errors::InvalidArgument("Cannot specify a negative value for num_segments: ", *count);
  return count.value_or(kUnknown);
}

absl::Status SegmentShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  return RowsOf(c, 0, kUnknown);
}

absl::Status UnsortedSegmentShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int64_t count, SegmentCount(c, 2));
  const PartialTensorShape& data = c.input(0);
  const PartialTensorShape& ids = c.input(1);
  if (data.unknown_rank() || ids.unknown_rank()) return absl::OkStatus();
  if (data.dims() < ids.dims()) {
    return errors::InvalidArgument("Shape must be at least rank ", ids.dims(), " but is rank ", data.dims());
  }
  ASSIGN_OR_RETURN(PartialTensorShape start, c.Subshape(data, 0, ids.dims()));
  RETURN_IF_ERROR(start.MergeWith(ids).status());
  ASSIGN_OR_RETURN(PartialTensorShape row, c.Subshape(data, ids.dims()));
  c.set_output(0, c.Concatenate(c.Vector(count), row));
  return absl::OkStatus();
}

absl::Status CheckSparse(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(2), 1).status());
  return c.input(1).MergeWith(c.input(2)).status();
}

absl::Status SparseSegmentShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckSparse(c));
  return RowsOf(c, 0, kUnknown);
}

absl::Status SparseSegmentWithNumSegmentsShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckSparse(c));
  ASSIGN_OR_RETURN(const int64_t count, SegmentCount(c, 3));
  return RowsOf(c, 0, count);
}

absl::Status SparseSegmentGradShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckSparse(c));
  ASSIGN_OR_RETURN(const std::optional<int64_t> rows, ConstantScalar(c, 3));
  if (rows && *rows < 0) return errors::InvalidArgument("Cannot specify a negative value for output_dim0: ", *rows);
  return RowsOf(c, 0, rows.value_or(kUnknown));
}

// A row for each index that occurs.
absl::Status SparseSegmentGradV2Shape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckSparse(c));
  RETURN_IF_ERROR(c.WithRank(c.input(3), 0).status());
  c.set_output(1, c.Vector(kUnknown));
  return RowsOf(c, 0, kUnknown);
}

}  // namespace

absl::Status RegisterSegmentOps(OpRegistry& ops) {
  for (const char* name : {"SegmentSum", "SegmentMean", "SegmentProd"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("data: T")
                                     .Input("segment_ids: Tindices")
                                     .Output("output: T")
                                     .Attr("T: numbertype")
                                     .Attr("Tindices: {int32, int64}")
                                     .Shape(SegmentShape)));
  }
  for (const char* name : {"SegmentMax", "SegmentMin"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("data: T")
                                     .Input("segment_ids: Tindices")
                                     .Output("output: T")
                                     .Attr("T: realnumbertype")
                                     .Attr("Tindices: {int32, int64}")
                                     .Shape(SegmentShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("UnsortedSegmentSum")
                                   .Input("data: T")
                                   .Input("segment_ids: Tindices")
                                   .Input("num_segments: Tnumsegments")
                                   .Output("output: T")
                                   .Attr("T: numbertype")
                                   .Attr("Tindices: {int16, int32, int64}")
                                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                                   .Shape(UnsortedSegmentShape)));
  for (const char* name : {"UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("data: T")
                                     .Input("segment_ids: Tindices")
                                     .Input("num_segments: Tnumsegments")
                                     .Output("output: T")
                                     .Attr("T: realnumbertype")
                                     .Attr("Tindices: {int32, int64}")
                                     .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                                     .Shape(UnsortedSegmentShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("UnsortedSegmentProd")
                                   .Input("data: T")
                                   .Input("segment_ids: Tindices")
                                   .Input("num_segments: Tnumsegments")
                                   .Output("output: T")
                                   .Attr("T: numbertype")
                                   .Attr("Tindices: {int32, int64}")
                                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                                   .Shape(UnsortedSegmentShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseSegmentSum")
                                   .Input("data: T")
                                   .Input("indices: Tidx")
                                   .Input("segment_ids: Tsegmentids")
                                   .Output("output: T")
                                   .Attr("T: realnumbertype")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                                   .Attr("sparse_gradient: bool = false")
                                   .Shape(SparseSegmentShape)));
  for (const char* name : {"SparseSegmentMean", "SparseSegmentSqrtN"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("data: T")
                                     .Input("indices: Tidx")
                                     .Input("segment_ids: Tsegmentids")
                                     .Output("output: T")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Attr("Tidx: {int32, int64} = DT_INT32")
                                     .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                                     .Attr("sparse_gradient: bool = false")
                                     .Shape(SparseSegmentShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("SparseSegmentSumWithNumSegments")
                                   .Input("data: T")
                                   .Input("indices: Tidx")
                                   .Input("segment_ids: Tsegmentids")
                                   .Input("num_segments: Tnumsegments")
                                   .Output("output: T")
                                   .Attr("T: realnumbertype")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                                   .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                                   .Attr("sparse_gradient: bool = false")
                                   .Shape(SparseSegmentWithNumSegmentsShape)));
  for (const char* name : {"SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("data: T")
                                     .Input("indices: Tidx")
                                     .Input("segment_ids: Tsegmentids")
                                     .Input("num_segments: Tnumsegments")
                                     .Output("output: T")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Attr("Tidx: {int32, int64} = DT_INT32")
                                     .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                                     .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                                     .Attr("sparse_gradient: bool = false")
                                     .Shape(SparseSegmentWithNumSegmentsShape)));
  }
  for (const char* name : {"SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("grad: T")
                                     .Input("indices: Tidx")
                                     .Input("segment_ids: Tsegmentids")
                                     .Input("output_dim0: int32")
                                     .Output("output: T")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Attr("Tidx: {int32, int64} = DT_INT32")
                                     .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                                     .Shape(SparseSegmentGradShape)));
  }
  for (const char* name : {"SparseSegmentSumGradV2", "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("grad: T")
                                     .Input("indices: Tidx")
                                     .Input("segment_ids: Tsegmentids")
                                     .Input("dense_output_dim0: int32")
                                     .Output("output: T")
                                     .Output("sorted_unique_indices: Tidx")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Attr("Tidx: {int32, int64} = DT_INT32")
                                     .Attr("Tsegmentids: {int32, int64} = DT_INT32")
                                     .Shape(SparseSegmentGradV2Shape)));
  }
  return absl::OkStatus();
}

}  // namespace weir
