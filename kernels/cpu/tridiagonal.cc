// Matrices of three diagonals: products, and solving by elimination with or without row exchanges.
#include <cmath>
#include <vector>

#include "kernels/cpu/linear_algebra.h"
#include "kernels/cpu/rare_families.h"

namespace weir {
namespace {

#define WEIR_RUN_BOTH                                                                     \
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); } \
  absl::Status Run(const MatrixArgs<std::complex<double>>& args) const override { return RunAs(args); }

// Inputs: the upper, main and lower diagonal, each a matrix of one row, and what they are multiplied with.
class TridiagonalMatMulKernel : public LinearKernel {
 private:
  int MatrixInputs() const override { return 4; }
  double Cost(const std::vector<MatrixSize>& in) const override {
    return std::min(1e15, 3000.0 * static_cast<double>(in[3].rows) * static_cast<double>(in[3].columns));
  }
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    constexpr const char* kNames[] = {"superdiagonal", "main diagonal", "subdiagonal"};
    for (int i = 0; i < 3; ++i) {
      if (in[i].rows != 1) {
        return errors::InvalidArgument("Expected ", kNames[i], " to have 1 row, got ", in[i].rows);
      }
      if (in[i].columns != in[3].rows) {
        return errors::InvalidArgument("Expected same length of diagonals and rhs rows, got ", in[i].columns, " and ",
                                       in[3].rows);
      }
    }
    return std::vector<DimVector>{{in[3].rows, in[3].columns}};
  }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const auto [rows, columns] = args.in_sizes[3];
    const Scalar* const x = args.in[3];
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        Scalar sum = args.in[1][i] * x[i * columns + j];
        if (i + 1 < rows) sum += args.in[0][i] * x[(i + 1) * columns + j];
        if (i > 0) sum += args.in[2][i] * x[(i - 1) * columns + j];
        args.out[0][i * columns + j] = sum;
      }
    }
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH
};

// Inputs: the three diagonals as rows, upper first, and right-hand sides.
class TridiagonalSolveKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    bool perturb;
    RETURN_IF_ERROR(ctx.GetAttr("partial_pivoting", &pivoting_));
    RETURN_IF_ERROR(ctx.GetAttr("perturb_singular", &perturb));
    if (perturb && !pivoting_) {
      return errors::InvalidArgument("Setting perturb_singular requires pivoting.");
    }
    if (perturb) return errors::Unimplemented("perturb_singular is not supported on CPU");
    return absl::OkStatus();
  }

 private:
  int MatrixInputs() const override { return 2; }
  double Cost(const std::vector<MatrixSize>& in) const override {
    return std::min(1e15, 10'000.0 * static_cast<double>(in[1].rows) * static_cast<double>(in[1].columns + 1));
  }
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    if (in[0].rows != 3) return errors::InvalidArgument("Expected diagonals to have 3 rows, got ", in[0].rows);
    if (in[0].columns != in[1].rows) {
      return errors::InvalidArgument("Expected same number of left-hand sides and right-hand sides, got ",
                                     in[0].columns, " and ", in[1].rows);
    }
    return std::vector<DimVector>{{in[1].rows, in[1].columns}};
  }

  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const auto [n, sides] = args.in_sizes[1];
    if (n == 0) return absl::OkStatus();
    // Each row as its diagonal element and the two behind it.
    std::vector<Scalar> u(args.in[0] + n, args.in[0] + 2 * n), v(args.in[0], args.in[0] + n), w(n, Scalar(0));
    v[n - 1] = Scalar(0);
    Scalar* const x = args.out[0];
    std::copy_n(args.in[1], n * sides, x);
    if (!pivoting_ && u[0] == Scalar(0)) {
      return errors::InvalidArgument("The first element of diagonal is zero.");
    }
    for (int64_t i = 0; i + 1 < n; ++i) {
      Scalar below = args.in[0][2 * n + i + 1];
      if (pivoting_ && std::abs(u[i]) < std::abs(below)) {
        std::swap(u[i], below);
        std::swap(v[i], u[i + 1]);
        w[i] = std::exchange(v[i + 1], Scalar(0));
        for (int64_t j = 0; j < sides; ++j) std::swap(x[i * sides + j], x[(i + 1) * sides + j]);
      }
      if (u[i] == Scalar(0)) return NotInvertible();
      const Scalar factor = below / u[i];
      u[i + 1] -= factor * v[i];
      v[i + 1] -= factor * w[i];
      for (int64_t j = 0; j < sides; ++j) x[(i + 1) * sides + j] -= factor * x[i * sides + j];
    }
    if (u[n - 1] == Scalar(0)) return NotInvertible();
    for (int64_t i = n - 1; i >= 0; --i) {
      for (int64_t j = 0; j < sides; ++j) {
        Scalar rest = x[i * sides + j];
        if (i + 1 < n) rest -= v[i] * x[(i + 1) * sides + j];
        if (i + 2 < n) rest -= w[i] * x[(i + 2) * sides + j];
        x[i * sides + j] = rest / u[i];
      }
    }
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH

  absl::Status NotInvertible() const {
    return pivoting_ ? errors::InvalidArgument("The matrix is not invertible.")
                     : errors::InvalidArgument("Thomas algorithm failed: division by zero. Consider setting ",
                                               "partial_pivoting=True.");
  }

  bool pivoting_ = true;
};

}  // namespace

absl::Status RegisterTridiagonalKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128};
  RETURN_IF_ERROR(kernels.Register<TridiagonalMatMulKernel>(Kernel("TridiagonalMatMul").Cpu().Types("T", types)));
  return kernels.Register<TridiagonalSolveKernel>(Kernel("TridiagonalSolve").Cpu().Types("T", types));
}

}  // namespace weir
