// Eigenvalues of any square matrix, with their vectors: by Eigen, in the type of the elements, hence in the order and
// with the phases that TensorFlow's programs know.
#include <Eigen/Eigenvalues>
#include <atomic>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

template <typename Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Of any square matrix; values and vectors are complex, of the precision of the elements.
class EigKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("compute_v", &vectors_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    if (shape.dims() < 2) return errors::InvalidArgument("Input tensor 0 must have rank >= 2, got ", shape.dims());
    if (shape.dim_size(shape.dims() - 2) != shape.dim_size(shape.dims() - 1)) {
      return errors::InvalidArgument("Input matrix must be square.");
    }
    switch (ctx.input_dtype(0)) {
      case DT_FLOAT:
        return ComputeAs<Eigen::EigenSolver<Matrix<float>>, complex64>(ctx, DT_COMPLEX64);
      case DT_DOUBLE:
        return ComputeAs<Eigen::EigenSolver<Matrix<double>>, complex128>(ctx, DT_COMPLEX128);
      case DT_COMPLEX64:
        return ComputeAs<Eigen::ComplexEigenSolver<Matrix<complex64>>, complex64>(ctx, DT_COMPLEX64);
      default:
        return ComputeAs<Eigen::ComplexEigenSolver<Matrix<complex128>>, complex128>(ctx, DT_COMPLEX128);
    }
  }

 private:
  // Real matrices have a solver of their own, which puts pairs of conjugates side by side.
  template <typename Solver, typename Complex>
  absl::Status ComputeAs(OpKernelContext& ctx, DataType type) const {
    using In = typename Solver::MatrixType;
    using Out = Matrix<Complex>;
    const Tensor& input = ctx.input(0);
    const TensorShape& shape = input.shape();
    const int64_t n = shape.dim_size(shape.dims() - 1);
    TensorShape value_shape = shape;
    value_shape.RemoveDim(shape.dims() - 1);
    ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(type, value_shape));
    ASSIGN_OR_RETURN(Tensor vectors, ctx.allocate_temp(type, vectors_ ? shape : TensorShape()));
    if (!vectors_) *vectors.data<Complex>() = Complex(0);  // nobody asked
    const int64_t matrices = n == 0 ? 0 : input.NumElements() / (n * n);
    std::atomic<bool> failed{false};
    const double cost = std::min(1e15, 1e5 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
    ParallelRanges(ctx, matrices, static_cast<int64_t>(cost), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const Eigen::Map<const In> a(input.data<typename In::Scalar>() + b * n * n, n, n);
        Solver solver;
        if (a.allFinite()) solver.compute(a, vectors_);
        if (!a.allFinite() || solver.info() != Eigen::Success) {
          failed = true;
          return;
        }
        Eigen::Map<Out>(values.data<Complex>() + b * n, n, 1) = solver.eigenvalues();
        if (vectors_) Eigen::Map<Out>(vectors.data<Complex>() + b * n * n, n, n) = solver.eigenvectors();
      }
    });
    if (failed) {
      return errors::InvalidArgument("Eigen decomposition was not successful. The input might not be valid.");
    }
    ASSIGN_OR_RETURN(Tensor e, ConvertTensor(ctx, values, ctx.expected_output_dtype(0)));
    ASSIGN_OR_RETURN(Tensor v, ConvertTensor(ctx, vectors, ctx.expected_output_dtype(1)));
    ctx.set_output(0, std::move(e));
    ctx.set_output(1, std::move(v));
    return absl::OkStatus();
  }

  bool vectors_ = true;
};

}  // namespace

absl::Status RegisterEigKernels(KernelRegistry& kernels) {
  return kernels.Register<EigKernel>(
      Kernel("Eig").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128}));
}

}  // namespace weir
