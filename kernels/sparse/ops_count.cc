// Counts of values: histograms, and sparse tensors of counts.
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::SetSparse;
using sparse_shapes::WithRanks;

// The rows of a matrix are counted apart.
absl::Status DenseCountShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape values, c.WithRankAtMost(c.input(0), 2));
  SetSparse(c, 0, values.unknown_rank() ? kUnknown : values.dims());
  return absl::OkStatus();
}

absl::Status SparseCountShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2}));
  SetSparse(c, 0, c.Dim(c.input(0), 1));
  return absl::OkStatus();
}

absl::Status RaggedCountShape(InferenceContext& c) {
  SetSparse(c, 0, 2);
  return absl::OkStatus();
}

absl::Status SparseBincountShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1}));
  ASSIGN_OR_RETURN(const int64_t size, c.InputAsScalar(3));
  if (c.input_tensor(2) == nullptr || size == kUnknown) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PartialTensorShape dense, c.InputAsShape(2));
  c.set_output(0, dense.dims() == 1 ? c.Vector(size) : c.Matrix(c.Dim(dense, 0), size));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSparseCountOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("DenseCountSparseOutput")
                                   .Input("values: T")
                                   .Input("weights: output_type")
                                   .Output("output_indices: int64")
                                   .Output("output_values: output_type")
                                   .Output("output_dense_shape: int64")
                                   .Attr("T: {int32, int64}")
                                   .Attr("minlength: int >= -1 = -1")
                                   .Attr("maxlength: int >= -1 = -1")
                                   .Attr("binary_output: bool")
                                   .Attr("output_type: {int32, int64, float, double}")
                                   .Shape(DenseCountShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseCountSparseOutput")
                                   .Input("indices: int64")
                                   .Input("values: T")
                                   .Input("dense_shape: int64")
                                   .Input("weights: output_type")
                                   .Output("output_indices: int64")
                                   .Output("output_values: output_type")
                                   .Output("output_dense_shape: int64")
                                   .Attr("T: {int32, int64}")
                                   .Attr("minlength: int >= -1 = -1")
                                   .Attr("maxlength: int >= -1 = -1")
                                   .Attr("binary_output: bool")
                                   .Attr("output_type: {int32, int64, float, double}")
                                   .Shape(SparseCountShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedCountSparseOutput")
                                   .Input("splits: int64")
                                   .Input("values: T")
                                   .Input("weights: output_type")
                                   .Output("output_indices: int64")
                                   .Output("output_values: output_type")
                                   .Output("output_dense_shape: int64")
                                   .Attr("T: {int32, int64}")
                                   .Attr("minlength: int >= -1 = -1")
                                   .Attr("maxlength: int >= -1 = -1")
                                   .Attr("binary_output: bool")
                                   .Attr("output_type: {int32, int64, float, double}")
                                   .Shape(RaggedCountShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseBincount")
                                   .Input("indices: int64")
                                   .Input("values: Tidx")
                                   .Input("dense_shape: int64")
                                   .Input("size: Tidx")
                                   .Input("weights: T")
                                   .Output("output: T")
                                   .Attr("Tidx: {int32, int64}")
                                   .Attr("T: {int32, int64, float, double}")
                                   .Attr("binary_output: bool = false")
                                   .Shape(SparseBincountShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedBincount")
                                   .Input("splits: int64")
                                   .Input("values: Tidx")
                                   .Input("size: Tidx")
                                   .Input("weights: T")
                                   .Output("output: T")
                                   .Attr("Tidx: {int32, int64}")
                                   .Attr("T: {int32, int64, float, double}")
                                   .Attr("binary_output: bool = false")
                                   .Shape(shapes::Unknown)));
  return absl::OkStatus();
}

}  // namespace weir
