// Sparse matrices by rows, as variants.
#include "kernels/device/op_shapes.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// The shape of the matrix in input i, of 2 or 3 dimensions or not known.
absl::StatusOr<PartialTensorShape> MatrixShape(InferenceContext& c, int i) {
  RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  if (c.input_handle(i).empty()) return PartialTensorShape();
  ASSIGN_OR_RETURN(const PartialTensorShape shape, c.WithRankAtLeast(c.input_handle(i)[0].shape, 2));
  return c.WithRankAtMost(shape, 3);
}

absl::Status SetMatrix(InferenceContext& c, const PartialTensorShape& shape, const char* type_attr) {
  DataType type;
  RETURN_IF_ERROR(c.GetAttr(type_attr, &type));
  c.set_output(0, c.Scalar());
  c.set_output_handle(0, {{type, shape}});
  return absl::OkStatus();
}

absl::Status FromSparseShape(InferenceContext& c) {
  RETURN_IF_ERROR(sparse_shapes::WithRanks(c, {2, 1, 1}));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(c.input(0), 0), c.Dim(c.input(1), 0)).status());
  ASSIGN_OR_RETURN(const PartialTensorShape shape, c.InputAsShape(2));
  return SetMatrix(c, shape, "T");
}

absl::Status FromDenseShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRankAtLeast(c.input(0), 2).status());
  RETURN_IF_ERROR(c.WithRankAtMost(c.input(0), 3).status());
  RETURN_IF_ERROR(c.WithRank(c.input(1), 2).status());
  return SetMatrix(c, c.input(0), "T");
}

absl::Status ToSparseShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape, MatrixShape(c, 0));
  sparse_shapes::SetSparse(c, 0, shape.unknown_rank() ? kUnknown : shape.dims());
  return absl::OkStatus();
}

absl::Status ToDenseShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, MatrixShape(c, 0));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status ComponentsShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape, MatrixShape(c, 0));
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  ASSIGN_OR_RETURN(const int64_t rows, op_shapes::AddDims(shape.unknown_rank() ? kUnknown : c.Dim(shape, -2), 1));
  c.set_output(0, c.Vector(rows));
  c.set_output(1, c.Vector(kUnknown));
  c.set_output(2, c.Vector(kUnknown));
  return absl::OkStatus();
}

absl::Status CountShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape, MatrixShape(c, 0));
  if (!shape.unknown_rank()) c.set_output(0, shape.dims() == 3 ? c.Vector(c.Dim(shape, 0)) : c.Scalar());
  return absl::OkStatus();
}

// Whether an operand is transposed; InvalidArgument for one that would be both transposed and the adjoint.
absl::StatusOr<bool> IsTransposed(InferenceContext& c, const std::string& operand) {
  bool transpose, adjoint;
  RETURN_IF_ERROR(c.GetAttr("transpose_" + operand, &transpose));
  RETURN_IF_ERROR(c.GetAttr("adjoint_" + operand, &adjoint));
  if (!transpose || !adjoint) return transpose || adjoint;
  return errors::InvalidArgument("Only one of adjoint_", operand, " and transpose_", operand, " may be true.");
}

// What a product of matrices of these shapes has.
absl::StatusOr<PartialTensorShape> ProductShape(InferenceContext& c, const PartialTensorShape& a,
                                                const PartialTensorShape& b, bool transpose_output) {
  ASSIGN_OR_RETURN(const bool transpose_a, IsTransposed(c, "a"));
  ASSIGN_OR_RETURN(const bool transpose_b, IsTransposed(c, "b"));
  if (a.unknown_rank() || b.unknown_rank()) return PartialTensorShape();
  ASSIGN_OR_RETURN(const PartialTensorShape a_batch, c.Subshape(a, 0, -2));
  ASSIGN_OR_RETURN(const PartialTensorShape b_batch, c.Subshape(b, 0, -2));
  ASSIGN_OR_RETURN(const PartialTensorShape batch, c.Merge(a_batch, b_batch));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(a, transpose_a ? -2 : -1), c.Dim(b, transpose_b ? -1 : -2)).status());
  const int64_t rows = c.Dim(a, transpose_a ? -1 : -2), columns = c.Dim(b, transpose_b ? -2 : -1);
  return c.Concatenate(batch, transpose_output ? c.Matrix(columns, rows) : c.Matrix(rows, columns));
}

absl::Status MatMulShape(InferenceContext& c) {
  bool transpose_output;
  RETURN_IF_ERROR(c.GetAttr("transpose_output", &transpose_output));
  ASSIGN_OR_RETURN(const PartialTensorShape a, MatrixShape(c, 0));
  ASSIGN_OR_RETURN(PartialTensorShape b, c.WithRankAtLeast(c.input(1), 2));
  ASSIGN_OR_RETURN(b, c.WithRankAtMost(b, 3));
  ASSIGN_OR_RETURN(PartialTensorShape product, ProductShape(c, a, b, transpose_output));
  c.set_output(0, std::move(product));
  return absl::OkStatus();
}

absl::Status SparseMatMulShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape a, MatrixShape(c, 0));
  ASSIGN_OR_RETURN(const PartialTensorShape b, MatrixShape(c, 1));
  ASSIGN_OR_RETURN(const PartialTensorShape product, ProductShape(c, a, b, false));
  return SetMatrix(c, product, "type");
}

absl::Status TransposeShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, MatrixShape(c, 0));
  if (!shape.unknown_rank()) {
    ASSIGN_OR_RETURN(const PartialTensorShape batch, c.Subshape(shape, 0, -2));
    shape = c.Concatenate(batch, c.Matrix(c.Dim(shape, -1), c.Dim(shape, -2)));
  }
  return SetMatrix(c, shape, "type");
}

// The shape of a square matrix, or a batch of them, in input 0.
absl::StatusOr<PartialTensorShape> SquareShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape, MatrixShape(c, 0));
  if (!shape.unknown_rank()) RETURN_IF_ERROR(c.MergeDim(c.Dim(shape, -2), c.Dim(shape, -1)).status());
  return shape;
}

// One number for each row.
absl::Status OrderingShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape, SquareShape(c));
  if (shape.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(PartialTensorShape order, c.Subshape(shape, 0, -1));
  c.set_output(0, std::move(order));
  return absl::OkStatus();
}

absl::Status CholeskyShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape shape, SquareShape(c));
  if (!shape.unknown_rank()) {
    ASSIGN_OR_RETURN(const PartialTensorShape order, c.Subshape(shape, 0, -1));
    RETURN_IF_ERROR(c.Merge(order, c.input(1)).status());
  }
  return SetMatrix(c, shape, "type");
}

constexpr char kT[] = "T: {float, double, complex64, complex128}";
constexpr char kType[] = "type: {float, double, complex64, complex128}";

absl::Status RegisterConversions(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("SparseTensorToCSRSparseMatrix")
                                   .Input("indices: int64")
                                   .Input("values: T")
                                   .Input("dense_shape: int64")
                                   .Output("sparse_matrix: variant")
                                   .Attr(kT)
                                   .Shape(FromSparseShape)));
  RETURN_IF_ERROR(ops.Register(Op("DenseToCSRSparseMatrix")
                                   .Input("dense_input: T")
                                   .Input("indices: int64")
                                   .Output("sparse_output: variant")
                                   .Attr(kT)
                                   .Shape(FromDenseShape)));
  RETURN_IF_ERROR(ops.Register(Op("CSRSparseMatrixToSparseTensor")
                                   .Input("sparse_matrix: variant")
                                   .Output("indices: int64")
                                   .Output("values: type")
                                   .Output("dense_shape: int64")
                                   .Attr(kType)
                                   .Shape(ToSparseShape)));
  RETURN_IF_ERROR(ops.Register(Op("CSRSparseMatrixToDense")
                                   .Input("sparse_input: variant")
                                   .Output("dense_output: type")
                                   .Attr(kType)
                                   .Shape(ToDenseShape)));
  RETURN_IF_ERROR(ops.Register(Op("CSRSparseMatrixComponents")
                                   .Input("csr_sparse_matrix: variant")
                                   .Input("index: int32")
                                   .Output("row_ptrs: int32")
                                   .Output("col_inds: int32")
                                   .Output("values: type")
                                   .Attr(kType)
                                   .Shape(ComponentsShape)));
  return ops.Register(Op("SparseMatrixNNZ").Input("sparse_matrix: variant").Output("nnz: int32").Shape(CountShape));
}

}  // namespace

absl::Status RegisterCsrOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterConversions(ops));
  RETURN_IF_ERROR(ops.Register(Op("SparseMatrixMatMul")
                                   .Input("a: variant")
                                   .Input("b: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("transpose_a: bool = false")
                                   .Attr("transpose_b: bool = false")
                                   .Attr("adjoint_a: bool = false")
                                   .Attr("adjoint_b: bool = false")
                                   .Attr("transpose_output: bool = false")
                                   .Attr("conjugate_output: bool = false")
                                   .Shape(MatMulShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseMatrixSparseMatMul")
                                   .Input("a: variant")
                                   .Input("b: variant")
                                   .Output("c: variant")
                                   .Attr(kType)
                                   .Attr("transpose_a: bool = false")
                                   .Attr("transpose_b: bool = false")
                                   .Attr("adjoint_a: bool = false")
                                   .Attr("adjoint_b: bool = false")
                                   .Shape(SparseMatMulShape)));
  RETURN_IF_ERROR(
      ops.Register(Op("SparseMatrixOrderingAMD").Input("input: variant").Output("output: int32").Shape(OrderingShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseMatrixSparseCholesky")
                                   .Input("input: variant")
                                   .Input("permutation: int32")
                                   .Output("output: variant")
                                   .Attr(kType)
                                   .Shape(CholeskyShape)));
  return ops.Register(Op("SparseMatrixTranspose")
                          .Input("input: variant")
                          .Output("output: variant")
                          .Attr("conjugate: bool = false")
                          .Attr(kType)
                          .Shape(TransposeShape));
}

}  // namespace weir
