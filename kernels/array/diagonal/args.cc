#include "kernels/array/diagonal/args.h"

#include <algorithm>

#include "core/tensor/index_tensor.h"

namespace weir {
namespace {

absl::Status CheckOrder(const DiagonalBand& band) {
  if (band.lower <= band.upper) return absl::OkStatus();
  return errors::InvalidArgument("lower_diag_index must not be larger than upper_diag_index: ", band.lower, " > ",
                                 band.upper);
}

absl::Status ReadDiagonals(const Tensor& k, DiagonalBand* band) {
  if (k.dims() > 1) {
    return errors::InvalidArgument("diag_index must be a scalar or vector, received shape: ", k.shape().ToString());
  }
  ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(k));
  if (values.empty() || values.size() > 2) {
    return errors::InvalidArgument("diag_index must have only one or two elements, received ", values.size(),
                                   " elements.");
  }
  band->lower = values.front();
  band->upper = values.back();
  return absl::OkStatus();
}

// Checks that the diagonals lie in the matrix. TensorFlow's message for the lower one has two endings.
absl::Status FitToMatrix(const TensorShape& matrix, absl::string_view stop_of_lower, DiagonalBand* band) {
  if (matrix.dims() < 2) {
    return errors::InvalidArgument("input must be at least 2-dim, received shape: ", matrix.ToString());
  }
  band->rows = matrix.dim_size(matrix.dims() - 2);
  band->columns = matrix.dim_size(matrix.dims() - 1);
  for (const auto& [name, d] : {std::pair{"lower", band->lower}, std::pair{"upper", band->upper}}) {
    if (d == 0 || (-band->rows < d && d < band->columns)) continue;
    return errors::InvalidArgument(name, "_diag_index is out of bound: ", d,
                                   name == absl::string_view("lower") ? stop_of_lower : "", " It must be between ",
                                   -band->rows, " and ", band->columns);
  }
  RETURN_IF_ERROR(CheckOrder(*band));
  band->length =
      std::min(band->rows + std::min<int64_t>(band->upper, 0), band->columns - std::max<int64_t>(band->lower, 0));
  return absl::OkStatus();
}

absl::Span<const int64_t> BatchDims(const TensorShape& shape, int inner) {
  return shape.dim_sizes().first(shape.dims() - inner);
}

// Packed diagonals of a batch of matrices with that band.
absl::StatusOr<TensorShape> PackedShape(absl::Span<const int64_t> batch, const DiagonalBand& band) {
  ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Build(batch));
  if (band.lower != band.upper) RETURN_IF_ERROR(shape.AddDim(band.count()));
  RETURN_IF_ERROR(shape.AddDim(band.length));
  return shape;
}

// Fills in the sizes that are not given (-1): the smallest that hold the diagonals.
absl::Status SizeMatrix(DiagonalBand* band) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  if (band->lower < -kLimit || band->upper > kLimit || band->length > kLimit) {
    return errors::InvalidArgument("diag_index is out of range");
  }
  const int64_t least_rows = band->length - std::min<int64_t>(band->upper, 0);
  const int64_t least_columns = band->length + std::max<int64_t>(band->lower, 0);
  if (band->rows != -1 && band->rows < least_rows) return errors::InvalidArgument("The number of rows is too small.");
  if (band->columns != -1 && band->columns < least_columns) {
    return errors::InvalidArgument("The number of columns is too small.");
  }
  if (band->rows == -1 && band->columns == -1) {
    band->rows = band->columns = std::max(least_rows, least_columns);
  } else if (band->rows == -1) {
    band->rows = least_rows;
  } else if (band->columns == -1) {
    band->columns = least_columns;
  }
  if (band->rows != least_rows && band->columns != least_columns) {
    return errors::InvalidArgument(
        "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.");
  }
  return absl::OkStatus();
}

absl::Status DiagonalDoesNotFit(const TensorShape& input, const TensorShape& diagonal, const TensorShape& expected) {
  return errors::InvalidArgument(
      "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to "
      "the longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: ",
      input.ToString(), "\nDiagonal shape: ", diagonal.ToString(), "\nExpected diagonal shape: ", expected.ToString());
}

absl::Status CheckMatrices(const TensorShape& shape) {
  if (shape.dims() >= 2) return absl::OkStatus();
  return errors::InvalidArgument("input must be at least 2-dim, received shape: ", shape.ToString());
}

}  // namespace

absl::Status ReadAlignment(OpKernelConstruction& ctx, DiagonalBand* band) {
  if (!ctx.HasAttr("align")) return absl::OkStatus();
  std::string align;
  RETURN_IF_ERROR(ctx.GetAttr("align", &align));
  band->left_above = align == "LEFT_LEFT" || align == "LEFT_RIGHT";
  band->left_below = align == "LEFT_LEFT" || align == "RIGHT_LEFT";
  return absl::OkStatus();
}

absl::StatusOr<TensorShape> ReadDiagonalsToPlace(OpKernelContext& ctx, DiagonalBand* band) {
  const TensorShape& diagonal = ctx.input(0).shape();
  RETURN_IF_ERROR(ReadDiagonals(ctx.input(1), band));
  RETURN_IF_ERROR(CheckOrder(*band));
  ASSIGN_OR_RETURN(band->rows, ReadScalarInteger(ctx.input(2), "num_rows"));
  ASSIGN_OR_RETURN(band->columns, ReadScalarInteger(ctx.input(3), "num_cols"));
  if (ctx.input(4).dims() != 0) return errors::InvalidArgument("padding_value must be a scalar");
  const int inner = band->lower == band->upper ? 1 : 2;
  if (diagonal.dims() < 1) {
    return errors::InvalidArgument("diagonal must be at least 1-dim, received shape: ", diagonal.ToString());
  }
  if (inner == 2 && (diagonal.dims() < 2 || diagonal.dim_size(diagonal.dims() - 2) != band->count())) {
    return errors::InvalidArgument(
        "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index "
        "range.");
  }
  band->length = diagonal.dim_size(diagonal.dims() - 1);
  RETURN_IF_ERROR(SizeMatrix(band));
  ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Build(BatchDims(diagonal, inner)));
  RETURN_IF_ERROR(shape.AddDim(band->rows));
  RETURN_IF_ERROR(shape.AddDim(band->columns));
  return shape;
}

absl::StatusOr<TensorShape> ReadDiagonalsToTake(OpKernelContext& ctx, DiagonalBand* band) {
  RETURN_IF_ERROR(ReadDiagonals(ctx.input(1), band));
  if (ctx.input(2).NumElements() != 1) return errors::InvalidArgument("Padding must be scalar.");
  RETURN_IF_ERROR(FitToMatrix(ctx.input(0).shape(), ".", band));
  return PackedShape(BatchDims(ctx.input(0).shape(), 2), *band);
}

absl::Status ReadDiagonalsToSet(OpKernelContext& ctx, DiagonalBand* band) {
  const TensorShape& input = ctx.input(0).shape();
  const TensorShape& diagonal = ctx.input(1).shape();
  RETURN_IF_ERROR(ReadDiagonals(ctx.input(2), band));
  if (diagonal.dims() < 1) {
    return errors::InvalidArgument("diagonal must be at least 1-dim, received shape: ", diagonal.ToString());
  }
  RETURN_IF_ERROR(FitToMatrix(input, "", band));
  if (band->lower != band->upper && diagonal.dims() >= 2 && diagonal.dim_size(diagonal.dims() - 2) != band->count()) {
    return errors::InvalidArgument(
        "The number of diagonals provided in `diag` is not consistent with `lower_diag_index` and "
        "`upper_diag_index`");
  }
  ASSIGN_OR_RETURN(const TensorShape expected, PackedShape(BatchDims(input, 2), *band));
  return diagonal == expected ? absl::OkStatus() : DiagonalDoesNotFit(input, diagonal, expected);
}

int64_t CountMatrices(const TensorShape& shape) {
  int64_t count = 1;
  for (const int64_t size : BatchDims(shape, 2)) count *= size;
  return count;
}

absl::StatusOr<TensorShape> MainDiagonalShape(const TensorShape& matrices) {
  RETURN_IF_ERROR(CheckMatrices(matrices));
  TensorShape shape = matrices;
  shape.RemoveDim(shape.dims() - 1);
  RETURN_IF_ERROR(shape.SetDim(
      shape.dims() - 1, std::min(matrices.dim_size(matrices.dims() - 2), matrices.dim_size(matrices.dims() - 1))));
  return shape;
}

absl::Status CheckMainDiagonal(const TensorShape& matrices, const TensorShape& diagonal) {
  ASSIGN_OR_RETURN(const TensorShape expected, MainDiagonalShape(matrices));
  return diagonal == expected ? absl::OkStatus() : DiagonalDoesNotFit(matrices, diagonal, expected);
}

absl::StatusOr<TensorShape> DiagonalOfTensorShape(const TensorShape& tensor) {
  const int rank = tensor.dims();
  if (rank == 0 || rank % 2 != 0) {
    return errors::InvalidArgument(
        "The rank of the tensor should be                                          even and positive, got shape ",
        tensor.ToString());
  }
  for (int i = 0; i < rank / 2; ++i) {
    if (tensor.dim_size(i) == tensor.dim_size(i + rank / 2)) continue;
    return errors::InvalidArgument("Invalid shape ", tensor.ToString(), ": dimensions ", i, " and ", i + rank / 2,
                                   " do not match.");
  }
  return TensorShape(tensor.dim_sizes().first(rank / 2));
}

absl::StatusOr<BandPart> ReadBandPart(OpKernelContext& ctx) {
  const TensorShape& shape = ctx.input(0).shape();
  RETURN_IF_ERROR(CheckMatrices(shape));
  for (int i = 1; i < 3; ++i) {
    if (ctx.input(i).dims() == 0) continue;
    return errors::InvalidArgument(i == 1 ? "num_lower" : "num_upper", " must be scalar, got shape ",
                                   ctx.input(i).shape().ToString());
  }
  BandPart band;
  ASSIGN_OR_RETURN(band.lower, ReadInteger(ctx.input(1), "num_lower"));
  ASSIGN_OR_RETURN(band.upper, ReadInteger(ctx.input(2), "num_upper"));
  const int64_t rows = shape.dim_size(shape.dims() - 2), columns = shape.dim_size(shape.dims() - 1);
  if (band.lower > rows) {
    return errors::InvalidArgument("num_lower must be negative or less or equal to number of rows (", rows,
                                   ") got: ", band.lower);
  }
  if (band.upper > columns) {
    return errors::InvalidArgument("num_upper must be negative or less or equal to number of columns (", columns,
                                   ") got: ", band.upper);
  }
  return band;
}

}  // namespace weir
