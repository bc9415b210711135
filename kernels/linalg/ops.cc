// Ops that multiply, solve, invert and factorise matrices.
#include <algorithm>

#include "kernels/device/op_shapes.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// The batch dimensions of input 0, then `item`.
absl::Status SetItem(InferenceContext& c, int output, const PartialTensorShape& in, absl::Span<const int64_t> item) {
  ASSIGN_OR_RETURN(PartialTensorShape batch, c.Subshape(in, 0, -2));
  c.set_output(output, c.Concatenate(batch, c.Of(item)));
  return absl::OkStatus();
}
// Input i, which must be a batch of square matrices.
absl::StatusOr<int64_t> Square(InferenceContext& c, int i) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(i), 2));
  if (in.unknown_rank()) return kUnknown;
  return c.MergeDim(c.Dim(in, -2), c.Dim(in, -1));
}
int64_t Smaller(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a == kUnknown || b == kUnknown ? kUnknown : std::min(a, b);
}

absl::Status SquareShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int64_t n, Square(c, 0));
  return c.input(0).unknown_rank() ? absl::OkStatus() : SetItem(c, 0, c.input(0), {n, n});
}

template <int kOutputs>
absl::Status DeterminantShape(InferenceContext& c) {
  RETURN_IF_ERROR(Square(c, 0).status());
  if (c.input(0).unknown_rank()) return absl::OkStatus();
  for (int i = 0; i < kOutputs; ++i) RETURN_IF_ERROR(SetItem(c, i, c.input(0), {}));
  return absl::OkStatus();
}

// Inputs: matrix and right-hand sides. The matrix has a column for each unknown.
absl::Status SolveShape(InferenceContext& c, bool square) {
  ASSIGN_OR_RETURN(PartialTensorShape matrix, c.WithRankAtLeast(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape rhs, c.WithRankAtLeast(c.input(1), 2));
  if (square) RETURN_IF_ERROR(Square(c, 0).status());
  if (matrix.unknown_rank() || rhs.unknown_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(c.MergeDim(c.Dim(matrix, -2), c.Dim(rhs, -2)).status());
  return SetItem(c, 0, rhs, {c.Dim(matrix, -1), c.Dim(rhs, -1)});
}
absl::Status MatrixSolveShape(InferenceContext& c) { return SolveShape(c, true); }
absl::Status LeastSquaresShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(2), 0).status());
  return SolveShape(c, false);
}

// The batch dimensions broadcast.
absl::Status TriangularShape(InferenceContext& c, bool banded) {
  ASSIGN_OR_RETURN(PartialTensorShape matrix, c.WithRankAtLeast(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape rhs, c.WithRankAtLeast(c.input(1), 2));
  if (!banded) RETURN_IF_ERROR(Square(c, 0).status());
  if (matrix.unknown_rank() || rhs.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t rows, c.MergeDim(c.Dim(matrix, -1), c.Dim(rhs, -2)));
  ASSIGN_OR_RETURN(PartialTensorShape matrix_batch, c.Subshape(matrix, 0, -2));
  ASSIGN_OR_RETURN(PartialTensorShape rhs_batch, c.Subshape(rhs, 0, -2));
  ASSIGN_OR_RETURN(PartialTensorShape batch, shapes::Broadcast(matrix_batch, rhs_batch));
  c.set_output(0, c.Concatenate(batch, c.Of({rows, c.Dim(rhs, -1)})));
  return absl::OkStatus();
}
absl::Status TriangularSolveShape(InferenceContext& c) { return TriangularShape(c, false); }
absl::Status BandedSolveShape(InferenceContext& c) { return TriangularShape(c, true); }

absl::Status QrShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), 2));
  if (in.unknown_rank()) return absl::OkStatus();
  bool full;
  RETURN_IF_ERROR(c.GetAttr("full_matrices", &full));
  const int64_t rows = c.Dim(in, -2), columns = c.Dim(in, -1), inner = full ? rows : Smaller(rows, columns);
  RETURN_IF_ERROR(SetItem(c, 0, in, {rows, inner}));
  return SetItem(c, 1, in, {inner, columns});
}

absl::Status SvdShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), 2));
  bool full, vectors;
  RETURN_IF_ERROR(c.GetAttr("full_matrices", &full));
  RETURN_IF_ERROR(c.GetAttr("compute_uv", &vectors));
  if (in.unknown_rank()) return absl::OkStatus();
  const int64_t rows = c.Dim(in, -2), columns = c.Dim(in, -1), inner = Smaller(rows, columns);
  RETURN_IF_ERROR(SetItem(c, 0, in, {inner}));
  if (!vectors) {
    for (int i : {1, 2}) c.set_output(i, c.Vector(0));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(SetItem(c, 1, in, {rows, full ? rows : inner}));
  return SetItem(c, 2, in, {columns, full ? columns : inner});
}

absl::Status EigV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int64_t n, Square(c, 0));
  bool vectors;
  RETURN_IF_ERROR(c.GetAttr("compute_v", &vectors));
  if (c.input(0).unknown_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(SetItem(c, 0, c.input(0), {n}));
  if (vectors) return SetItem(c, 1, c.input(0), {n, n});
  c.set_output(1, c.Vector(0));
  return absl::OkStatus();
}
absl::Status EigShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int64_t n, Square(c, 0));
  if (c.input(0).unknown_rank()) return absl::OkStatus();
  return SetItem(c, 0, c.input(0), {n == kUnknown ? kUnknown : n + 1, n});
}

// The batch dimensions broadcast, as in BatchMatMulV2.
absl::Status BatchMatMulV3Shape(InferenceContext& c) {
  bool adjoint[2];
  RETURN_IF_ERROR(c.GetAttr("adj_x", &adjoint[0]));
  RETURN_IF_ERROR(c.GetAttr("adj_y", &adjoint[1]));
  for (int i : {0, 1}) RETURN_IF_ERROR(c.WithRankAtLeast(c.input(i), 2).status());
  const PartialTensorShape &x = c.input(0), &y = c.input(1);
  if (x.unknown_rank() || y.unknown_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(c.MergeDim(c.Dim(x, adjoint[0] ? -2 : -1), c.Dim(y, adjoint[1] ? -1 : -2)).status());
  ASSIGN_OR_RETURN(PartialTensorShape x_batch, c.Subshape(x, 0, -2));
  ASSIGN_OR_RETURN(PartialTensorShape y_batch, c.Subshape(y, 0, -2));
  ASSIGN_OR_RETURN(PartialTensorShape batch, shapes::Broadcast(x_batch, y_batch));
  c.set_output(0, c.Concatenate(batch, c.Of({c.Dim(x, adjoint[0] ? -1 : -2), c.Dim(y, adjoint[1] ? -2 : -1)})));
  return absl::OkStatus();
}

// One operand of an equation: labels before and after "...".
struct EinsumTerm {
  explicit EinsumTerm(const std::string& text) {
    const size_t dots = text.find("...");
    has_ellipsis = dots != std::string::npos;
    before = text.substr(0, dots);
    if (has_ellipsis) after = text.substr(dots + 3);
  }
  int Labels() const { return static_cast<int>(before.size() + after.size()); }
  std::string before, after;
  bool has_ellipsis;
};

absl::Status MergeLabel(InferenceContext& c, const PartialTensorShape& shape, int d, char label, int64_t* sizes) {
  int64_t& size = sizes[static_cast<unsigned char>(label)];
  ASSIGN_OR_RETURN(size, c.MergeDim(size, shape.dim_size(d)));
  return absl::OkStatus();
}

absl::Status EinsumShape(InferenceContext& c) {
  std::string equation;
  RETURN_IF_ERROR(c.GetAttr("equation", &equation));
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos)
    return errors::InvalidArgument("Expecting exactly one '->' in einsum equation: ", equation);
  int64_t sizes[256];
  std::fill(sizes, sizes + 256, kUnknown);
  PartialTensorShape rest = c.Of({});  // the broadcast dimensions of the ellipses
  size_t at = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const size_t end = std::min(arrow, equation.find(',', at));
    const EinsumTerm term(at > end ? "" : equation.substr(at, end - at));
    at = end + 1;
    if (!term.has_ellipsis) {
      RETURN_IF_ERROR(c.WithRank(c.input(i), term.Labels()).status());
    }
    ASSIGN_OR_RETURN(const PartialTensorShape shape, c.WithRankAtLeast(c.input(i), term.Labels()));
    if (shape.unknown_rank()) {
      if (term.has_ellipsis) rest = PartialTensorShape();
      continue;
    }
    const int back = static_cast<int>(term.after.size());
    for (size_t d = 0; d < term.before.size(); ++d)
      RETURN_IF_ERROR(MergeLabel(c, shape, static_cast<int>(d), term.before[d], sizes));
    for (int d = 0; d < back; ++d) RETURN_IF_ERROR(MergeLabel(c, shape, shape.dims() - back + d, term.after[d], sizes));
    if (!term.has_ellipsis) continue;
    ASSIGN_OR_RETURN(const PartialTensorShape between,
                     c.Subshape(shape, static_cast<int>(term.before.size()), shape.dims() - back));
    ASSIGN_OR_RETURN(rest, shapes::Broadcast(rest, between));
  }
  const EinsumTerm result(equation.substr(arrow + 2));
  const auto sizes_of = [&](const std::string& labels) {
    DimVector dims;
    for (const char label : labels) dims.push_back(sizes[static_cast<unsigned char>(label)]);
    return c.Of(dims);
  };
  if (result.has_ellipsis && rest.unknown_rank()) return absl::OkStatus();
  c.set_output(0, c.Concatenate(c.Concatenate(sizes_of(result.before), result.has_ellipsis ? rest : c.Of({})),
                                sizes_of(result.after)));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterDecompositionOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Cholesky")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Shape(SquareShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixInverse")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("adjoint: bool = false")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Shape(SquareShape)));
  RETURN_IF_ERROR(ops.Register(Op("CholeskyGrad")
                                   .Input("l: T")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("T: {half, float, double}")
                                   .Shape(SquareShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixDeterminant")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: {half, float, double, complex64, complex128}")
                                   .Shape(DeterminantShape<1>)));
  RETURN_IF_ERROR(ops.Register(Op("LogMatrixDeterminant")
                                   .Input("input: T")
                                   .Output("sign: T")
                                   .Output("log_abs_determinant: T")
                                   .Attr("T: {half, float, double, complex64, complex128}")
                                   .Shape(DeterminantShape<2>)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixSolve")
                                   .Input("matrix: T")
                                   .Input("rhs: T")
                                   .Output("output: T")
                                   .Attr("adjoint: bool = false")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Shape(MatrixSolveShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixSolveLs")
                                   .Input("matrix: T")
                                   .Input("rhs: T")
                                   .Input("l2_regularizer: double")
                                   .Output("output: T")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Attr("fast: bool = true")
                                   .Shape(LeastSquaresShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixTriangularSolve")
                                   .Input("matrix: T")
                                   .Input("rhs: T")
                                   .Output("output: T")
                                   .Attr("lower: bool = true")
                                   .Attr("adjoint: bool = false")
                                   .Attr("T: {bfloat16, double, float, half, complex64, complex128}")
                                   .Shape(TriangularSolveShape)));
  RETURN_IF_ERROR(ops.Register(Op("BandedTriangularSolve")
                                   .Input("matrix: T")
                                   .Input("rhs: T")
                                   .Output("output: T")
                                   .Attr("lower: bool = true")
                                   .Attr("adjoint: bool = false")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Shape(BandedSolveShape)));
  RETURN_IF_ERROR(ops.Register(Op("Qr")
                                   .Input("input: T")
                                   .Output("q: T")
                                   .Output("r: T")
                                   .Attr("full_matrices: bool = false")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Shape(QrShape)));
  RETURN_IF_ERROR(ops.Register(Op("Svd")
                                   .Input("input: T")
                                   .Output("s: T")
                                   .Output("u: T")
                                   .Output("v: T")
                                   .Attr("compute_uv: bool = true")
                                   .Attr("full_matrices: bool = false")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Shape(SvdShape)));
  RETURN_IF_ERROR(ops.Register(Op("SelfAdjointEigV2")
                                   .Input("input: T")
                                   .Output("e: T")
                                   .Output("v: T")
                                   .Attr("compute_v: bool = true")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Shape(EigV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("SelfAdjointEig")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: {double, float, half}")
                                   .Deprecated(11, "Use SelfAdjointEigV2 instead.")
                                   .Shape(EigShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("BatchMatMulV3")
          .Input("x: Ta")
          .Input("y: Tb")
          .Output("output: Tout")
          .Attr("Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}")
          .Attr("Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}")
          .Attr("Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, complex128}")
          .Attr("adj_x: bool = false")
          .Attr("adj_y: bool = false")
          .Attr("grad_x: bool = false")
          .Attr("grad_y: bool = false")
          .Shape(BatchMatMulV3Shape)));
  RETURN_IF_ERROR(ops.Register(Op("CumulativeLogsumexp")
                                   .Input("x: T")
                                   .Input("axis: Tidx")
                                   .Output("out: T")
                                   .Attr("exclusive: bool = false")
                                   .Attr("reverse: bool = false")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Einsum")
                                   .Input("inputs: N * T")
                                   .Output("output: T")
                                   .Attr("equation: string")
                                   .Attr("N: int >= 1")
                                   .Attr("T: type")
                                   .Shape(EinsumShape)));
  return absl::OkStatus();
}

}  // namespace weir
