// Diag, the MatrixDiag family and MatrixBandPart.
#include <algorithm>

#include "kernels/array/diagonal/args.h"
#include "kernels/array/family.h"
#include "kernels/device/elements.h"

namespace weir {
namespace {

// The matrix of a diagonal has twice its rank.
class DiagKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& diagonal = ctx.input(0);
    if (diagonal.dims() < 1) return errors::InvalidArgument("Input must be at least rank 1, got 0");
    TensorShape shape = diagonal.shape();
    RETURN_IF_ERROR(shape.Append(diagonal.shape()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    const int64_t n = diagonal.NumElements();
    StridedCopy(ctx, output->dtype(), {n}, diagonal.raw_data(), {1}, output->raw_data(), {n + 1});
    return absl::OkStatus();
  }
};

class DiagPartKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const TensorShape shape, DiagonalOfTensorShape(input.shape()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    const int64_t n = output->NumElements();
    StridedCopy(ctx, output->dtype(), {n}, input.raw_data(), {n + 1}, output->raw_data(), {1});
    return absl::OkStatus();
  }
};

// The last two dimensions of a batch of matrices.
struct Matrices {
  int64_t batch, rows, columns;
  int64_t diagonal() const { return std::min(rows, columns); }
};

Matrices MatricesOf(const TensorShape& shape) {
  Matrices m{1, shape.dim_size(shape.dims() - 2), shape.dim_size(shape.dims() - 1)};
  for (int i = 0; i < shape.dims() - 2; ++i) m.batch *= shape.dim_size(i);
  return m;
}

class MatrixDiagKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& diagonal = ctx.input(0);
    if (diagonal.dims() < 1) {
      return errors::InvalidArgument("diagonal must be at least 1-dim, received shape: ", diagonal.shape().ToString());
    }
    const int64_t n = diagonal.dim_size(diagonal.dims() - 1);
    TensorShape shape = diagonal.shape();
    RETURN_IF_ERROR(shape.AddDim(n));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    StridedCopy(ctx, output->dtype(), {MatricesOf(shape).batch, n}, diagonal.raw_data(), {n, 1}, output->raw_data(),
                {n * n, n + 1});
    return absl::OkStatus();
  }
};

class MatrixDiagPartKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const TensorShape shape, MainDiagonalShape(input.shape()));
    const Matrices m = MatricesOf(input.shape());
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    StridedCopy(ctx, output->dtype(), {m.batch, m.diagonal()}, input.raw_data(), {m.rows * m.columns, m.columns + 1},
                output->raw_data(), {m.diagonal(), 1});
    return absl::OkStatus();
  }
};

class MatrixSetDiagKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    const Tensor& diagonal = ctx.input(1);
    RETURN_IF_ERROR(CheckMainDiagonal(shape, diagonal.shape()));
    const Matrices m = MatricesOf(shape);
    const Tensor input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    CopyElements(output->dtype(), output->raw_data(), input.raw_data(), input.NumElements());
    StridedCopy(ctx, output->dtype(), {m.batch, m.diagonal()}, diagonal.raw_data(), {m.diagonal(), 1},
                output->raw_data(), {m.rows * m.columns, m.columns + 1});
    return absl::OkStatus();
  }
};

// Keeps num_lower diagonals below the main one and num_upper above; a negative number keeps all.
class MatrixBandPartKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const BandPart band, ReadBandPart(ctx));
    const int64_t lower = band.lower, upper = band.upper;
    const Matrices m = MatricesOf(input.shape());
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    const int64_t size = DataTypeSize(output->dtype());
    for (int64_t row = 0; row < m.batch * m.rows; ++row) {
      const int64_t i = row % m.rows;
      const int64_t begin = lower < 0 ? 0 : std::clamp<int64_t>(i - lower, 0, m.columns);
      const int64_t end = upper < 0 ? m.columns : std::min(m.columns, i + upper + 1);
      if (begin >= end) continue;
      const int64_t at = (row * m.columns + begin) * size;
      CopyElements(output->dtype(), static_cast<char*>(output->raw_data()) + at,
                   static_cast<const char*>(input.raw_data()) + at, end - begin);
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterDiagonalKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<DiagKernel>(Kernel("Diag").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DiagPartKernel>(Kernel("DiagPart").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MatrixDiagKernel>(Kernel("MatrixDiag").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MatrixDiagPartKernel>(Kernel("MatrixDiagPart").Cpu()));
  RETURN_IF_ERROR(kernels.Register<MatrixSetDiagKernel>(Kernel("MatrixSetDiag").Cpu()));
  return kernels.Register<MatrixBandPartKernel>(
      Kernel("MatrixBandPart").Cpu().HostMemory("num_lower").HostMemory("num_upper"));
}

}  // namespace weir
