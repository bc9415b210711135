// Ops that rearrange sparse tensors: indices [entries, rank], values [entries], shape [rank].
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::FillEmptyRowsGradShape;
using sparse_shapes::SetSparse;
using sparse_shapes::WithRanks;

absl::Status SerializeShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1}));
  c.set_output(0, c.Vector(3));
  return absl::OkStatus();
}

absl::Status SerializeManyShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1}));
  c.set_output(0, c.Matrix(kUnknown, 3));
  return absl::OkStatus();
}

absl::Status DeserializeShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRankAtLeast(c.input(0), 1).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(c.input(0), -1), 3).status());
  SetSparse(c, 0, kUnknown);
  return absl::OkStatus();
}

absl::Status DeserializeManyShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2}));
  return DeserializeShape(c);
}

absl::Status SparseToDenseShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.InputAsShape(1));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status SparseReshapeShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1}));
  c.set_output(0, c.Matrix(c.Dim(c.input(0), 0), c.Dim(c.input(2), 0)));
  c.set_output(1, c.Vector(c.Dim(c.input(2), 0)));
  return absl::OkStatus();
}

absl::Status SparseReorderShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1}));
  c.set_output(0, c.input(0));
  c.set_output(1, c.input(1));
  return absl::OkStatus();
}

absl::Status SparseConcatShape(InferenceContext& c) {
  const int n = c.num_inputs() / 3;
  int64_t rank = kUnknown, sizes = kUnknown, rows = 0;
  for (int i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(const PartialTensorShape indices, c.WithRank(c.input(i), 2));
    ASSIGN_OR_RETURN(const PartialTensorShape values, c.WithRank(c.input(i + n), 1));
    ASSIGN_OR_RETURN(const PartialTensorShape shape, c.WithRank(c.input(i + 2 * n), 1));
    ASSIGN_OR_RETURN(const int64_t count, c.MergeDim(c.Dim(indices, 0), c.Dim(values, 0)));
    ASSIGN_OR_RETURN(rows, op_shapes::AddDims(rows, count));
    ASSIGN_OR_RETURN(rank, c.MergeDim(rank, c.Dim(indices, 1)));
    ASSIGN_OR_RETURN(sizes, c.MergeDim(sizes, c.Dim(shape, 0)));
  }
  SetSparse(c, 0, rank, rows);
  c.set_output(2, c.Vector(sizes));
  return absl::OkStatus();
}

absl::Status SparseSliceShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1}));
  SetSparse(c, 0, c.Dim(c.input(2), 0));
  return absl::OkStatus();
}

absl::Status SparseSplitShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {0, 2, 1, 1}));
  const int n = c.num_outputs() / 3;
  for (int i = 0; i < n; ++i) {
    c.set_output(i, c.Matrix(kUnknown, c.Dim(c.input(3), 0)));
    c.set_output(i + n, c.Vector(kUnknown));
    c.set_output(i + 2 * n, c.input(3));
  }
  return absl::OkStatus();
}

absl::Status SparseFillEmptyRowsShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1, 0}));
  ASSIGN_OR_RETURN(const int64_t count, c.MergeDim(c.Dim(c.input(0), 0), c.Dim(c.input(1), 0)));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(c.input(0), 1), c.Dim(c.input(2), 0)).status());
  ASSIGN_OR_RETURN(const PartialTensorShape dense, c.InputAsShape(2));
  c.set_output(0, c.Matrix(kUnknown, c.Dim(c.input(0), 1)));
  c.set_output(1, c.Vector(kUnknown));
  c.set_output(2, c.Vector(dense.dims() > 0 ? c.Dim(dense, 0) : kUnknown));
  c.set_output(3, c.Vector(count));
  return absl::OkStatus();
}

absl::Status AddSparseToMapShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1}));
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status AddManySparseToMapShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1}));
  c.set_output(0, c.Vector(kUnknown));
  return absl::OkStatus();
}

absl::Status TakeManySparseShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {1}));
  SetSparse(c, 0, kUnknown);
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSparseOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("SerializeSparse")
                                   .Input("sparse_indices: int64")
                                   .Input("sparse_values: T")
                                   .Input("sparse_shape: int64")
                                   .Output("serialized_sparse: out_type")
                                   .Attr("T: type")
                                   .Attr("out_type: {string, variant} = DT_STRING")
                                   .Shape(SerializeShape)));
  RETURN_IF_ERROR(ops.Register(Op("SerializeManySparse")
                                   .Input("sparse_indices: int64")
                                   .Input("sparse_values: T")
                                   .Input("sparse_shape: int64")
                                   .Output("serialized_sparse: out_type")
                                   .Attr("T: type")
                                   .Attr("out_type: {string, variant} = DT_STRING")
                                   .Shape(SerializeManyShape)));
  RETURN_IF_ERROR(ops.Register(Op("DeserializeSparse")
                                   .Input("serialized_sparse: Tserialized")
                                   .Output("sparse_indices: int64")
                                   .Output("sparse_values: dtype")
                                   .Output("sparse_shape: int64")
                                   .Attr("dtype: type")
                                   .Attr("Tserialized: {string, variant} = DT_STRING")
                                   .Shape(DeserializeShape)));
  RETURN_IF_ERROR(ops.Register(Op("DeserializeManySparse")
                                   .Input("serialized_sparse: string")
                                   .Output("sparse_indices: int64")
                                   .Output("sparse_values: dtype")
                                   .Output("sparse_shape: int64")
                                   .Attr("dtype: type")
                                   .Shape(DeserializeManyShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseToDense")
                                   .Input("sparse_indices: Tindices")
                                   .Input("output_shape: Tindices")
                                   .Input("sparse_values: T")
                                   .Input("default_value: T")
                                   .Output("dense: T")
                                   .Attr("validate_indices: bool = true")
                                   .Attr("T: type")
                                   .Attr("Tindices: {int32, int64}")
                                   .Shape(SparseToDenseShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseReshape")
                                   .Input("input_indices: int64")
                                   .Input("input_shape: int64")
                                   .Input("new_shape: int64")
                                   .Output("output_indices: int64")
                                   .Output("output_shape: int64")
                                   .Shape(SparseReshapeShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseReorder")
                                   .Input("input_indices: int64")
                                   .Input("input_values: T")
                                   .Input("input_shape: int64")
                                   .Output("output_indices: int64")
                                   .Output("output_values: T")
                                   .Attr("T: type")
                                   .Shape(SparseReorderShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseConcat")
                                   .Input("indices: N * int64")
                                   .Input("values: N * T")
                                   .Input("shapes: N * int64")
                                   .Output("output_indices: int64")
                                   .Output("output_values: T")
                                   .Output("output_shape: int64")
                                   .Attr("concat_dim: int")
                                   .Attr("N: int >= 2")
                                   .Attr("T: type")
                                   .Shape(SparseConcatShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseSlice")
                                   .Input("indices: int64")
                                   .Input("values: T")
                                   .Input("shape: int64")
                                   .Input("start: int64")
                                   .Input("size: int64")
                                   .Output("output_indices: int64")
                                   .Output("output_values: T")
                                   .Output("output_shape: int64")
                                   .Attr("T: type")
                                   .Shape(SparseSliceShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseSplit")
                                   .Input("split_dim: int64")
                                   .Input("indices: int64")
                                   .Input("values: T")
                                   .Input("shape: int64")
                                   .Output("output_indices: num_split * int64")
                                   .Output("output_values: num_split * T")
                                   .Output("output_shape: num_split * int64")
                                   .Attr("num_split: int >= 1")
                                   .Attr("T: type")
                                   .Shape(SparseSplitShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseFillEmptyRows")
                                   .Input("indices: int64")
                                   .Input("values: T")
                                   .Input("dense_shape: int64")
                                   .Input("default_value: T")
                                   .Output("output_indices: int64")
                                   .Output("output_values: T")
                                   .Output("empty_row_indicator: bool")
                                   .Output("reverse_index_map: int64")
                                   .Attr("T: type")
                                   .Shape(SparseFillEmptyRowsShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseFillEmptyRowsGrad")
                                   .Input("reverse_index_map: int64")
                                   .Input("grad_values: T")
                                   .Output("d_values: T")
                                   .Output("d_default_value: T")
                                   .Attr("T: type")
                                   .Shape(FillEmptyRowsGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("AddSparseToTensorsMap")
                                   .Input("sparse_indices: int64")
                                   .Input("sparse_values: T")
                                   .Input("sparse_shape: int64")
                                   .Output("sparse_handle: int64")
                                   .Attr("T: type")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(AddSparseToMapShape)));
  RETURN_IF_ERROR(ops.Register(Op("AddManySparseToTensorsMap")
                                   .Input("sparse_indices: int64")
                                   .Input("sparse_values: T")
                                   .Input("sparse_shape: int64")
                                   .Output("sparse_handles: int64")
                                   .Attr("T: type")
                                   .Attr("container: string = ''")
                                   .Attr("shared_name: string = ''")
                                   .Stateful()
                                   .Shape(AddManySparseToMapShape)));
  return ops.Register(Op("TakeManySparseFromTensorsMap")
                          .Input("sparse_handles: int64")
                          .Output("sparse_indices: int64")
                          .Output("sparse_values: dtype")
                          .Output("sparse_shape: int64")
                          .Attr("dtype: type")
                          .Attr("container: string = ''")
                          .Attr("shared_name: string = ''")
                          .Stateful()
                          .Shape(TakeManySparseShape));
}

}  // namespace weir
