// Eigenvalues of self-adjoint matrices, with their vectors. Vectors are unique but for signs, phases and order; Eigen's
// algorithms, each in the type of its elements, give those that TensorFlow's programs know.
#include <Eigen/Eigenvalues>
#include <algorithm>

#include "kernels/linalg/family.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

template <typename Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename Scalar>
Eigen::Map<Matrix<Scalar>> Out(Scalar* to, int64_t rows, int64_t columns) {
  return {to, rows, columns};
}
template <typename Scalar>
Eigen::Map<const Matrix<Scalar>> In(const Scalar* from, int64_t rows, int64_t columns) {
  return {from, rows, columns};
}

// A kernel whose runs are all RunAs of the class below.
#define WEIR_RUN_ALL                                                                         \
  bool ComputesInSingle() const override { return true; }                                    \
  absl::Status RunSingle(const MatrixArgs<float>& a) const override { return RunAs(a); }     \
  absl::Status Run(const MatrixArgs<double>& a) const override { return RunAs(a); }          \
  absl::Status RunSingle(const MatrixArgs<complex64>& a) const override { return RunAs(a); } \
  absl::Status Run(const MatrixArgs<complex128>& a) const override { return RunAs(a); }

// SelfAdjointEigV2, and SelfAdjointEig, whose one output has the values as its first row. Reads the lower triangle.
class SelfAdjointEigKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    joined_ = ctx.op() == "SelfAdjointEig" || ctx.op() == "BatchSelfAdjointEig";
    return joined_ ? absl::OkStatus() : ctx.GetAttr("compute_v", &vectors_);
  }

 private:
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    RETURN_IF_ERROR(CheckSquare(in[0]));
    const int64_t n = in[0].rows;
    if (joined_) return std::vector<DimVector>{{n + 1, n}};
    return std::vector<DimVector>{{n}, vectors_ ? DimVector{n, n} : DimVector{-1}};
  }
  double Cost(const std::vector<MatrixSize>& in) const override { return std::min(1e15, 20 * LinearKernel::Cost(in)); }

  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const int64_t n = args.in_sizes[0].rows;
    if (n == 0) return absl::OkStatus();
    const auto a = In(args.in[0], n, n);
    const Matrix<Scalar> lower = a.template triangularView<Eigen::Lower>();
    Eigen::SelfAdjointEigenSolver<Matrix<Scalar>> solver;
    if (lower.allFinite()) solver.compute(a, vectors_ ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
    if (!lower.allFinite() || solver.info() != Eigen::Success) {
      return errors::InvalidArgument(
          "Self-adjoint eigen decomposition was not successful. The input might not be valid.");
    }
    Out(args.out[0], n, 1) = solver.eigenvalues().template cast<Scalar>();
    if (vectors_) Out(joined_ ? args.out[0] + n : args.out[1], n, n) = solver.eigenvectors();
    return absl::OkStatus();
  }
  WEIR_RUN_ALL

  bool joined_ = false, vectors_ = true;
};

}  // namespace

absl::Status RegisterSelfAdjointKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_COMPLEX64, DT_COMPLEX128};
  RETURN_IF_ERROR(kernels.Register<SelfAdjointEigKernel>(Kernel("SelfAdjointEigV2").Cpu().Types("T", types)));
  return kernels.Register<SelfAdjointEigKernel>(Kernel("SelfAdjointEig").Cpu().Types("T", types));
}

}  // namespace weir
