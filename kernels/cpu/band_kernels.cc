// Versions 2 and 3 of MatrixDiag, MatrixDiagPart and MatrixSetDiag: bands of diagonals.
#include <algorithm>

#include "core/index_tensor.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/numeric_families.h"

namespace weir {
namespace {

// Diagonals [lower, upper] of a matrix, 0 being the main one and positive ones above it. Packed, they are rows of
// `length` elements, the uppermost first, aligned left or right.
struct Band {
  int64_t rows = 0, columns = 0, lower = 0, upper = 0, length = 0;
  bool left_above = true, left_below = true;

  int64_t count() const { return upper - lower + 1; }
  int64_t LengthOf(int64_t d) const {
    return std::min(rows + std::min<int64_t>(0, d), columns - std::max<int64_t>(0, d));
  }
  // Where diagonal d begins in its packed row.
  int64_t Offset(int64_t d) const {
    const bool left = (d >= 0 && left_above) || (d <= 0 && left_below);
    return left ? 0 : length - LengthOf(d);
  }
};

absl::Status ReadAlignment(OpKernelConstruction& ctx, Band* band) {
  if (!ctx.HasAttr("align")) return absl::OkStatus();
  std::string align;
  RETURN_IF_ERROR(ctx.GetAttr("align", &align));
  band->left_above = align == "LEFT_LEFT" || align == "LEFT_RIGHT";
  band->left_below = align == "LEFT_LEFT" || align == "RIGHT_LEFT";
  return absl::OkStatus();
}

absl::Status CheckOrder(const Band& band) {
  if (band.lower <= band.upper) return absl::OkStatus();
  return errors::InvalidArgument("lower_diag_index must not be larger than upper_diag_index: ", band.lower, " > ",
                                 band.upper);
}

absl::Status ReadDiagonals(const Tensor& k, Band* band) {
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

// The matrix is known: the diagonals must lie in it. TensorFlow's sentence about the lower one ends in two ways.
absl::Status FitToMatrix(const TensorShape& matrix, absl::string_view stop_of_lower, Band* band) {
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
int64_t Product(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t size : dims) product *= size;
  return product;
}

// Packed diagonals of a batch of matrices with that band.
absl::StatusOr<TensorShape> PackedShape(absl::Span<const int64_t> batch, const Band& band) {
  ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Build(batch));
  if (band.lower != band.upper) RETURN_IF_ERROR(shape.AddDim(band.count()));
  RETURN_IF_ERROR(shape.AddDim(band.length));
  return shape;
}

// fn(place of the diagonal's start in the matrix, in the packed rows, number of elements).
template <typename Fn>
void EachDiagonal(const Band& band, Fn fn) {
  for (int64_t d = band.lower; d <= band.upper; ++d) {
    const int64_t n = band.LengthOf(d);
    if (n <= 0) continue;
    const int64_t start = d >= 0 ? d : -d * band.columns;
    fn(start, (band.upper - d) * band.length + band.Offset(d), n);
  }
}

void CopyDiagonals(OpKernelContext& ctx, DataType type, int64_t batch, const Band& band, bool to_matrix, char* matrix,
                   char* packed) {
  const int64_t width = static_cast<int64_t>(DataTypeSize(type));
  const int64_t matrix_size = band.rows * band.columns, packed_size = band.count() * band.length;
  EachDiagonal(band, [&](int64_t start, int64_t place, int64_t n) {
    char* const in_matrix = matrix + start * width;
    char* const in_packed = packed + place * width;
    const DimVector matrix_steps = {matrix_size, band.columns + 1}, packed_steps = {packed_size, 1};
    if (to_matrix) {
      StridedCopy(ctx, type, {batch, n}, in_packed, packed_steps, in_matrix, matrix_steps);
    } else {
      StridedCopy(ctx, type, {batch, n}, in_matrix, matrix_steps, in_packed, packed_steps);
    }
  });
}

// Inputs: diagonal, k, num_rows, num_cols, padding_value.
class MatrixDiagBandKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ReadAlignment(ctx, &alignment_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& diagonal = ctx.input(0);
    Band band = alignment_;
    RETURN_IF_ERROR(ReadDiagonals(ctx.input(1), &band));
    RETURN_IF_ERROR(CheckOrder(band));
    ASSIGN_OR_RETURN(band.rows, ReadScalarInteger(ctx.input(2), "num_rows"));
    ASSIGN_OR_RETURN(band.columns, ReadScalarInteger(ctx.input(3), "num_cols"));
    if (ctx.input(4).dims() != 0) return errors::InvalidArgument("padding_value must be a scalar");
    const int inner = band.lower == band.upper ? 1 : 2;
    if (diagonal.dims() < 1) {
      return errors::InvalidArgument("diagonal must be at least 1-dim, received shape: ", diagonal.shape().ToString());
    }
    if (inner == 2 && (diagonal.dims() < 2 || diagonal.dim_size(diagonal.dims() - 2) != band.count())) {
      return errors::InvalidArgument(
          "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index "
          "range.");
    }
    band.length = diagonal.dim_size(diagonal.dims() - 1);
    RETURN_IF_ERROR(SizeMatrix(&band));
    const absl::Span<const int64_t> batch = BatchDims(diagonal.shape(), inner);
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Build(batch));
    RETURN_IF_ERROR(shape.AddDim(band.rows));
    RETURN_IF_ERROR(shape.AddDim(band.columns));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    FillElements(output->dtype(), ctx.input(4).raw_data(), output->raw_data(), output->NumElements());
    if (diagonal.NumElements() == 0) return absl::OkStatus();
    CopyDiagonals(ctx, output->dtype(), Product(batch), band, true, static_cast<char*>(output->raw_data()),
                  static_cast<char*>(diagonal.raw_data()));
    return absl::OkStatus();
  }

 private:
  // Fills in the sizes that are not given (-1): the smallest that hold the diagonals.
  static absl::Status SizeMatrix(Band* band) {
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

  Band alignment_;
};

// Inputs: input, k, padding_value.
class MatrixDiagPartBandKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ReadAlignment(ctx, &alignment_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    Band band = alignment_;
    RETURN_IF_ERROR(ReadDiagonals(ctx.input(1), &band));
    if (ctx.input(2).NumElements() != 1) {
      return errors::InvalidArgument("Padding must be scalar.");
    }
    RETURN_IF_ERROR(FitToMatrix(input.shape(), ".", &band));
    const absl::Span<const int64_t> batch = BatchDims(input.shape(), 2);
    ASSIGN_OR_RETURN(const TensorShape shape, PackedShape(batch, band));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    FillElements(output->dtype(), ctx.input(2).raw_data(), output->raw_data(), output->NumElements());
    if (input.NumElements() == 0) return absl::OkStatus();
    CopyDiagonals(ctx, output->dtype(), Product(batch), band, false, static_cast<char*>(input.raw_data()),
                  static_cast<char*>(output->raw_data()));
    return absl::OkStatus();
  }

 private:
  Band alignment_;
};

// Inputs: input, diagonal, k.
class MatrixSetDiagBandKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ReadAlignment(ctx, &alignment_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& diagonal = ctx.input(1);
    Band band = alignment_;
    RETURN_IF_ERROR(ReadDiagonals(ctx.input(2), &band));
    if (diagonal.dims() < 1) {
      return errors::InvalidArgument("diagonal must be at least 1-dim, received shape: ", diagonal.shape().ToString());
    }
    RETURN_IF_ERROR(FitToMatrix(input.shape(), "", &band));
    const absl::Span<const int64_t> batch = BatchDims(input.shape(), 2);
    if (band.lower != band.upper && diagonal.dims() >= 2 && diagonal.dim_size(diagonal.dims() - 2) != band.count()) {
      return errors::InvalidArgument(
          "The number of diagonals provided in `diag` is not consistent with `lower_diag_index` and "
          "`upper_diag_index`");
    }
    ASSIGN_OR_RETURN(const TensorShape expected, PackedShape(batch, band));
    if (diagonal.shape() != expected) {
      return errors::InvalidArgument(
          "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to "
          "the longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: ",
          input.shape().ToString(), "\nDiagonal shape: ", diagonal.shape().ToString(),
          "\nExpected diagonal shape: ", expected.ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    CopyElements(output->dtype(), output->raw_data(), input.raw_data(), input.NumElements());
    if (diagonal.NumElements() == 0) return absl::OkStatus();
    CopyDiagonals(ctx, output->dtype(), Product(batch), band, true, static_cast<char*>(output->raw_data()),
                  static_cast<char*>(diagonal.raw_data()));
    return absl::OkStatus();
  }

 private:
  Band alignment_;
};

}  // namespace

absl::Status RegisterBandKernels(KernelRegistry& kernels) {
  for (const char* op : {"MatrixDiagV2", "MatrixDiagV3"}) {
    RETURN_IF_ERROR(kernels.Register<MatrixDiagBandKernel>(
        Kernel(op).Cpu().HostMemory("k").HostMemory("num_rows").HostMemory("num_cols").HostMemory("padding_value")));
  }
  for (const char* op : {"MatrixDiagPartV2", "MatrixDiagPartV3"}) {
    RETURN_IF_ERROR(
        kernels.Register<MatrixDiagPartBandKernel>(Kernel(op).Cpu().HostMemory("k").HostMemory("padding_value")));
  }
  for (const char* op : {"MatrixSetDiagV2", "MatrixSetDiagV3"}) {
    RETURN_IF_ERROR(kernels.Register<MatrixSetDiagBandKernel>(Kernel(op).Cpu().HostMemory("k")));
  }
  return absl::OkStatus();
}

}  // namespace weir
