// TridiagonalMatMul, and TridiagonalSolve by elimination with or without partial pivoting.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/linalg/family.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

#define WEIR_RUN_BOTH                                                                     \
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); } \
  absl::Status Run(const MatrixArgs<std::complex<double>>& args) const override { return RunAs(args); }

// Inputs: the upper, main and lower diagonal, each a matrix of one row, and the right factor.
class TridiagonalMatMulKernel : public LinearKernel {
 private:
  int MatrixInputs() const override { return 4; }
  double Cost(const std::vector<MatrixSize>& in) const override {
    return std::min(1e15, 3000.0 * static_cast<double>(in[3].rows) * static_cast<double>(in[3].columns));
  }
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    constexpr const char* kNames[] = {"superdiagonal", "main diagonal", "subdiagonal"};
    for (int i = 0; i < 3; ++i) {
      if (in[i].rows == 1 && in[i].columns == in[3].rows) continue;
      return errors::InvalidArgument("Invalid ", kNames[i], " shape.");
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

// Inputs: the three diagonals as rows, upper first, and right-hand sides. The solution for a singular matrix is NaN,
// or, with perturb_singular, that for a regular matrix close to it, as in LAPACK's xLAGTS.
class TridiagonalSolveKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("partial_pivoting", &pivoting_));
    RETURN_IF_ERROR(ctx.GetAttr("perturb_singular", &perturb_));
    if (perturb_ && !pivoting_) {
      return errors::InvalidArgument("Setting perturb_singular requires also setting partial_pivoting.");
    }
    DataType type;
    RETURN_IF_ERROR(ctx.GetAttr("T", &type));
    if (type == DT_FLOAT || type == DT_COMPLEX64) precision_ = Precision::Of<float>();
    return absl::OkStatus();
  }

 private:
  // Of the elements; the computation itself is in double precision.
  struct Precision {
    template <typename T>
    static Precision Of() {
      return {std::numeric_limits<T>::epsilon(), std::numeric_limits<T>::min()};
    }
    double epsilon, least;
  };

  int MatrixInputs() const override { return 2; }
  double Cost(const std::vector<MatrixSize>& in) const override {
    return std::min(1e15, 10'000.0 * static_cast<double>(in[1].rows) * static_cast<double>(in[1].columns + 1));
  }
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    if (in[0].rows != 3) {
      return errors::InvalidArgument("Expected diagonals to be provided as a matrix with 3 rows, got ", in[0].rows,
                                     " rows.");
    }
    if (in[0].columns != in[1].rows) {
      return errors::InvalidArgument("Expected the same number of left-hand sides and right-hand sides, got ",
                                     in[0].columns, " and ", in[1].rows, ".");
    }
    return std::vector<DimVector>{{in[1].rows, in[1].columns}};
  }

  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const auto [n, sides] = args.in_sizes[1];
    if (n == 0) return absl::OkStatus();
    Eliminated<Scalar> upper(args.in[0], n);
    Scalar* const x = args.out[0];
    std::copy_n(args.in[1], n * sides, x);
    if (!upper.Eliminate(args.in[0] + 2 * n, pivoting_, perturb_, x, sides)) {
      std::fill_n(x, n * sides, std::numeric_limits<Scalar>::quiet_NaN());
      return absl::OkStatus();
    }
    double most = 0;
    if (perturb_) most = upper.Greatest();
    for (int64_t i = n - 1; i >= 0; --i) {
      Scalar* const row = x + i * sides;
      for (int64_t j = 0; j < sides; ++j) {
        if (i + 1 < n) row[j] -= upper.next[i] * row[j + sides];
        if (i + 2 < n) row[j] -= upper.last[i] * row[j + 2 * sides];
      }
      if (perturb_) Perturb(most, row, sides, &upper.diagonal[i]);
      for (int64_t j = 0; j < sides; ++j) row[j] /= upper.diagonal[i];
    }
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH

  // The matrix after elimination: each row's diagonal element and the two to its right.
  template <typename Scalar>
  struct Eliminated {
    Eliminated(const Scalar* rows, int64_t n)
        : diagonal(rows + n, rows + 2 * n), next(rows, rows + n), last(n, Scalar(0)) {
      next[n - 1] = Scalar(0);
    }

    // Applies the same steps to x. False at a zero pivot, unless zero pivots are kept to be perturbed.
    bool Eliminate(const Scalar* below, bool pivoting, bool keep_zeros, Scalar* x, int64_t sides) {
      const int64_t n = static_cast<int64_t>(diagonal.size());
      double size = std::abs(diagonal[0]) + std::abs(next[0]);
      for (int64_t i = 0; i + 1 < n; ++i) {
        Scalar under = below[i + 1];
        const double size_under = std::abs(under) + std::abs(diagonal[i + 1]) + std::abs(next[i + 1]);
        const bool exchange =
            pivoting && (keep_zeros ? under != Scalar(0) && std::abs(under) / size_under > Part(diagonal[i], size)
                                    : std::abs(diagonal[i]) < std::abs(under));
        if (exchange) {
          std::swap(diagonal[i], under);
          std::swap(next[i], diagonal[i + 1]);
          last[i] = std::exchange(next[i + 1], Scalar(0));
          std::swap_ranges(x + i * sides, x + (i + 1) * sides, x + (i + 1) * sides);
        } else {
          size = size_under;
        }
        if (under == Scalar(0) && keep_zeros) continue;
        if (diagonal[i] == Scalar(0)) return false;
        const Scalar factor = under / diagonal[i];
        diagonal[i + 1] -= factor * next[i];
        next[i + 1] -= factor * last[i];
        for (int64_t j = 0; j < sides; ++j) x[(i + 1) * sides + j] -= factor * x[i * sides + j];
      }
      return keep_zeros || diagonal[n - 1] != Scalar(0);
    }
    static double Part(Scalar x, double size) { return x == Scalar(0) ? 0 : std::abs(x) / size; }

    double Greatest() const {
      double most = 0;
      for (const std::vector<Scalar>* band : {&diagonal, &next, &last}) {
        for (const Scalar& x : *band) most = std::max(most, std::abs(x));
      }
      return most;
    }

    std::vector<Scalar> diagonal, next, last;
  };

  // Moves a pivot away from zero until the quotients by it are finite.
  template <typename Scalar>
  void Perturb(double most, Scalar* row, int64_t sides, Scalar* pivot) const {
    const double large = 1 / precision_.least;
    double factor = 0;
    for (int64_t j = 0; j < sides; ++j) factor = std::max(factor, std::abs(row[j]));
    double step = std::copysign(std::max(precision_.epsilon * most, precision_.least), std::real(*pivot));
    for (double size = std::abs(*pivot); size < 1; size = std::abs(*pivot)) {
      const bool tiny = size < precision_.least;
      if (tiny && size != 0 && factor * precision_.least <= size) {
        *pivot *= large;
        for (int64_t j = 0; j < sides; ++j) row[j] *= large;
        return;
      }
      if (!tiny && factor <= size * large) return;
      *pivot += step;
      step *= 2;
    }
  }

  bool pivoting_ = true, perturb_ = false;
  Precision precision_ = Precision::Of<double>();
};

#undef WEIR_RUN_BOTH

}  // namespace

absl::Status RegisterTridiagonalKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128};
  RETURN_IF_ERROR(kernels.Register<TridiagonalMatMulKernel>(Kernel("TridiagonalMatMul").Cpu().Types("T", types)));
  return kernels.Register<TridiagonalSolveKernel>(Kernel("TridiagonalSolve").Cpu().Types("T", types));
}

}  // namespace weir
