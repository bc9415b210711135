// Linear equations by LU and Cholesky factors and by substitution: MatrixInverse, MatrixSolve, the determinants,
// Cholesky and its gradient, MatrixTriangularSolve, BandedTriangularSolve.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/linalg/family.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

// Both forms of Run call the template RunAs of the class.
#define WEIR_RUN_BOTH                                                                     \
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); } \
  absl::Status Run(const MatrixArgs<std::complex<double>>& args) const override { return RunAs(args); }

// Up to this size plain loops are faster than calls of LAPACK.
constexpr int64_t kSmallMatrix = 16;

// The LU factors of F, the transpose of a row-major square matrix, which is what LAPACK sees.
template <typename Scalar>
struct LuFactors {
  LuFactors(const Scalar* matrix, int64_t size) : n(size), lu(matrix, matrix + n * n), pivots(n) {
    if (n > kSmallMatrix) {
      lapack::Getrf(n, n, lu.data(), n, pivots.data());
    } else {
      Factorise();
    }
  }
  Scalar pivot(int64_t i) const { return lu[i * n + i]; }
  bool IsSingular() const {
    double least = std::abs(pivot(0));
    for (int64_t i = 1; i < n; ++i) least = std::min(least, std::abs(pivot(i)));
    return !(least > 0);
  }
  // Solves F x = b, or F^T x = b, in place for column-major right-hand sides.
  void Solve(bool transposed, int64_t sides, Scalar* x) const {
    if (n > kSmallMatrix) {
      lapack::Getrs(transposed ? 'T' : 'N', n, sides, lu.data(), n, pivots.data(), x, n);
      return;
    }
    for (int64_t c = 0; c < sides; ++c, x += n) {
      if (transposed) {
        SubstituteTransposed(x);
      } else {
        Substitute(x);
      }
    }
  }
  // F^-1, column-major.
  std::vector<Scalar> Inverse() const {
    std::vector<Scalar> inverse = lu;
    if (n > kSmallMatrix) {
      lapack::Getri(n, inverse.data(), n, pivots.data());
      return inverse;
    }
    std::fill(inverse.begin(), inverse.end(), Scalar(0));
    for (int64_t i = 0; i < n; ++i) inverse[i * n + i] = Scalar(1);
    Solve(false, n, inverse.data());
    return inverse;
  }

  const int64_t n;
  std::vector<Scalar> lu;
  std::vector<int> pivots;  // row i was exchanged with row pivots[i] - 1

 private:
  void Factorise() {
    for (int64_t k = 0; k < n; ++k) {
      Scalar* const column = lu.data() + k * n;
      int64_t best = k;
      for (int64_t i = k + 1; i < n; ++i) {
        if (std::abs(column[i]) > std::abs(column[best])) best = i;
      }
      pivots[k] = static_cast<int>(best + 1);
      if (column[best] == Scalar(0)) continue;
      if (best != k) {
        for (int64_t j = 0; j < n; ++j) std::swap(lu[j * n + k], lu[j * n + best]);
      }
      for (int64_t i = k + 1; i < n; ++i) column[i] /= column[k];
      for (int64_t j = k + 1; j < n; ++j) {
        for (int64_t i = k + 1; i < n; ++i) lu[j * n + i] -= column[i] * lu[j * n + k];
      }
    }
  }
  void Substitute(Scalar* x) const {
    for (int64_t i = 0; i < n; ++i) std::swap(x[i], x[pivots[i] - 1]);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = j + 1; i < n; ++i) x[i] -= lu[j * n + i] * x[j];
    }
    for (int64_t j = n - 1; j >= 0; --j) {
      x[j] /= pivot(j);
      for (int64_t i = 0; i < j; ++i) x[i] -= lu[j * n + i] * x[j];
    }
  }
  void SubstituteTransposed(Scalar* x) const {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < j; ++i) x[j] -= lu[j * n + i] * x[i];
      x[j] /= pivot(j);
    }
    for (int64_t j = n - 1; j >= 0; --j) {
      for (int64_t i = j + 1; i < n; ++i) x[j] -= lu[j * n + i] * x[i];
    }
    for (int64_t i = n - 1; i >= 0; --i) std::swap(x[i], x[pivots[i] - 1]);
  }
};

// Replaces the lower triangle of a row-major matrix by its Cholesky factor; false if it is not positive definite.
template <typename Scalar>
bool FactoriseSmall(int64_t n, Scalar* a) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      Scalar sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * lapack::Conj(a[j * n + k]);
      if (j < i) {
        a[i * n + j] = sum / a[j * n + j];
      } else {
        if (!(std::real(sum) > 0)) return false;
        a[i * n + i] = Scalar(std::sqrt(std::real(sum)));
      }
    }
  }
  return true;
}

class MatrixInverseKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("adjoint", &adjoint_); }

 private:
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    RETURN_IF_ERROR(CheckSquare(in[0]));
    return std::vector<DimVector>{{in[0].rows, in[0].rows}};
  }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const int64_t n = args.in_sizes[0].rows;
    if (n == 0) return absl::OkStatus();
    const LuFactors<Scalar> factors(args.in[0], n);
    if (factors.IsSingular()) return errors::InvalidArgument("Input is not invertible.");
    const std::vector<Scalar> inverse = factors.Inverse();
    if (!adjoint_) {
      std::copy(inverse.begin(), inverse.end(), args.out[0]);
      return absl::OkStatus();
    }
    lapack::Transpose(inverse.data(), n, n, args.out[0]);
    for (int64_t i = 0; i < n * n; ++i) args.out[0][i] = lapack::Conj(args.out[0][i]);
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH

  bool adjoint_ = false;
};

class MatrixSolveKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("adjoint", &adjoint_); }

 private:
  int MatrixInputs() const override { return 2; }
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    if (in[0].rows != in[0].columns) {
      return errors::InvalidArgument("First input (lhs) must be a square matrix.");
    }
    if (in[0].rows != in[1].rows) {
      return errors::InvalidArgument("Input matrix and rhs are incompatible.");
    }
    return std::vector<DimVector>{{in[0].columns, in[1].columns}};
  }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const int64_t n = args.in_sizes[0].rows, sides = args.in_sizes[1].columns;
    if (n == 0 || sides == 0) return absl::OkStatus();
    const LuFactors<Scalar> factors(args.in[0], n);
    if (factors.IsSingular()) return errors::InvalidArgument("Input matrix is not invertible.");
    std::vector<Scalar> x(n * sides);
    lapack::Transpose(args.in[1], n, sides, x.data());
    // With F = A^T: A x = b is F^T x = b, and A^H x = b is F conj(x) = conj(b).
    const auto conjugate = [&] {
      if (adjoint_) std::transform(x.begin(), x.end(), x.begin(), [](Scalar v) { return lapack::Conj(v); });
    };
    conjugate();
    factors.Solve(!adjoint_, sides, x.data());
    conjugate();
    lapack::Transpose(x.data(), sides, n, args.out[0]);
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH

  bool adjoint_ = false;
};

// x / |x|; of a real infinity too.
double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
std::complex<double> Sign(std::complex<double> x) {
  const double size = std::abs(x);
  return size == 0 ? 0 : x / size;
}

// MatrixDeterminant, and LogMatrixDeterminant: sign and logarithm of the absolute value.
template <bool kLog>
class DeterminantKernel : public LinearKernel {
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    RETURN_IF_ERROR(CheckSquare(in[0]));
    return std::vector<DimVector>(kLog ? 2 : 1);
  }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    Scalar sign(1);
    double log = 0;
    if (args.in_sizes[0].rows > 0) {
      const LuFactors<Scalar> factors(args.in[0], args.in_sizes[0].rows);
      for (int64_t i = 0; i < factors.n; ++i) {
        if (factors.pivots[i] != i + 1) sign = -sign;
        sign *= Sign(factors.pivot(i));
        log += std::log(std::abs(factors.pivot(i)));
      }
    }
    if (kLog) {
      *args.out[0] = sign;
      *args.out[1] = Scalar(log);
    } else {
      *args.out[0] = sign == Scalar(0) ? Scalar(0) : sign * std::exp(log);
    }
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH
};

class CholeskyKernel : public LinearKernel {
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    RETURN_IF_ERROR(CheckSquare(in[0]));
    return std::vector<DimVector>{{in[0].rows, in[0].rows}};
  }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const int64_t n = args.in_sizes[0].rows;
    if (n == 0) return absl::OkStatus();
    Scalar* const l = args.out[0];
    for (int64_t i = 0; i < n; ++i) {
      std::copy_n(args.in[0] + i * n, i + 1, l + i * n);
      std::fill(l + i * n + i + 1, l + (i + 1) * n, Scalar(0));
    }
    // The transpose of A = L L^H is U^H U, where U is the transpose of L.
    if (n <= kSmallMatrix ? !FactoriseSmall(n, l) : lapack::Potrf('U', n, l, n) != 0) {
      // As in TensorFlow the step continues, with NaN for the factor.
      for (int64_t i = 0; i < n; ++i) std::fill_n(l + i * n, i + 1, Scalar(NAN));
    }
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH
};

// From the factor L and the gradient at it, that at the matrix: 1/2 (M + M^H) for M = L^-H phi(L^H dL) L^-1, where phi
// keeps the lower triangle and half of the diagonal.
class CholeskyGradKernel : public LinearKernel {
  int MatrixInputs() const override { return 2; }
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    if (in[0].rows != in[0].columns) return errors::InvalidArgument("Inputs must be a square matrices.");
    if (in[0].rows != in[1].rows || in[0].columns != in[1].columns) {
      return errors::InvalidArgument("Inputs (L and grad) must have the same shape.");
    }
    return std::vector<DimVector>{{in[0].rows, in[0].rows}};
  }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const int64_t n = args.in_sizes[0].rows;
    if (n == 0) return absl::OkStatus();
    std::vector<Scalar> l(n * n), m(n * n);
    lapack::Transpose(args.in[0], n, n, l.data());
    lapack::Transpose(args.in[1], n, n, m.data());
    const auto keep_lower = [&](Scalar diagonal) {
      for (int64_t j = 0; j < n; ++j) {
        std::fill_n(m.data() + j * n, j, Scalar(0));
        m[j * n + j] *= diagonal;
      }
    };
    keep_lower(Scalar(1));
    lapack::Trmm('L', 'L', 'C', 'N', n, n, l.data(), n, m.data(), n);
    keep_lower(Scalar(0.5));
    lapack::Trsm('L', 'L', 'C', 'N', n, n, l.data(), n, m.data(), n);
    lapack::Trsm('R', 'L', 'N', 'N', n, n, l.data(), n, m.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        args.out[0][i * n + j] = (m[j * n + i] + lapack::Conj(m[i * n + j])) * Scalar(0.5);
      }
    }
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH
};

// By substitution. Reads one triangle only.
class TriangularSolveKernel : public LinearKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("lower", &lower_));
    RETURN_IF_ERROR(ctx.GetAttr("adjoint", &adjoint_));
    banded_ = ctx.op() == "BandedTriangularSolve";
    return absl::OkStatus();
  }

 private:
  int MatrixInputs() const override { return 2; }
  bool Broadcasts() const override { return true; }
  absl::Status CheckShapes(const OpKernelContext& ctx) const override {
    for (int i : {0, 1}) {
      const Tensor& in = ctx.input(i);
      if (in.dims() < 2) return errors::InvalidArgument("In[", i, "] ndims must be >= 2: ", in.dims());
      if (banded_ && in.NumElements() == 0) {
        return errors::InvalidArgument("In[", i,
                                       "] must not be an empty tensor: Tensor<type: ", DataTypeName(in.dtype()),
                                       " shape: ", in.shape().ToString(), " values: >");
      }
    }
    const TensorShape &matrix = ctx.input(0).shape(), &rhs = ctx.input(1).shape();
    const int64_t rows = matrix.dim_size(matrix.dims() - 2), columns = matrix.dim_size(matrix.dims() - 1);
    if (!banded_ && rows != columns) {
      return errors::InvalidArgument("In[0] matrices in the last dimensions must be square (", columns, " =/= ", rows,
                                     ")");
    }
    const int64_t sides = rhs.dim_size(rhs.dims() - 2);
    if (columns == sides) return absl::OkStatus();
    return errors::InvalidArgument("In[0] mismatch In[1] shape: ", columns, " vs. ", sides, ": ", matrix.ToString(),
                                   " ", rhs.ToString(), " ", lower_, " ", adjoint_);
  }
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    return std::vector<DimVector>{{in[1].rows, in[1].columns}};
  }
  double Cost(const std::vector<MatrixSize>& in) const override {
    return std::min(1e15, 500.0 * static_cast<double>(in[0].rows) * static_cast<double>(in[0].columns) *
                              static_cast<double>(in[1].columns));
  }
  // Element (row, column) of the triangle. Lower bands end with the diagonal, upper bands start with it; an element
  // stands in the column of its row.
  template <typename Scalar>
  Scalar At(const MatrixArgs<Scalar>& args, int64_t row, int64_t column) const {
    const int64_t bands = args.in_sizes[0].rows, n = args.in_sizes[0].columns;
    if (lower_) return row - column >= bands ? Scalar(0) : args.in[0][(row - column) * n + row];
    return column - row >= bands ? Scalar(0) : args.in[0][(bands - 1 - (column - row)) * n + row];
  }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const int64_t n = args.in_sizes[1].rows, columns = args.in_sizes[1].columns;
    std::copy_n(args.in[1], n * columns, args.out[0]);
    if (!banded_) {  // with the transposes that LAPACK sees: X^T A^T = B^T
      lapack::Trsm('R', lower_ ? 'U' : 'L', adjoint_ ? 'C' : 'N', 'N', columns, n, args.in[0], n, args.out[0], columns);
      return absl::OkStatus();
    }
    const int64_t reach = args.in_sizes[0].rows;
    const bool forward = lower_ != adjoint_;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t row = forward ? k : n - 1 - k;
      const Scalar pivot = Element(args, row, row);
      if (pivot == Scalar(0)) return errors::InvalidArgument("Input matrix is not invertible.");
      const int64_t begin = forward ? std::max<int64_t>(0, row - reach + 1) : row + 1;
      const int64_t end = forward ? row : std::min(n, row + reach);
      Scalar* const x = args.out[0] + row * columns;
      for (int64_t j = begin; j < end; ++j) {
        const Scalar factor = Element(args, row, j);
        const Scalar* const known = args.out[0] + j * columns;
        for (int64_t c = 0; c < columns; ++c) x[c] -= factor * known[c];
      }
      for (int64_t c = 0; c < columns; ++c) x[c] /= pivot;
    }
    return absl::OkStatus();
  }
  template <typename Scalar>
  Scalar Element(const MatrixArgs<Scalar>& args, int64_t row, int64_t column) const {
    if (!adjoint_) return At(args, row, column);
    return lapack::Conj(At(args, column, row));
  }
  WEIR_RUN_BOTH

  bool lower_ = true, adjoint_ = false, banded_ = false;
};

#undef WEIR_RUN_BOTH

}  // namespace

absl::Status RegisterSolverKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_COMPLEX64, DT_COMPLEX128};
  DataTypeVector with_bfloat = types;
  with_bfloat.push_back(DT_BFLOAT16);
  RETURN_IF_ERROR(kernels.Register<MatrixInverseKernel>(Kernel("MatrixInverse").Cpu().Types("T", types)));
  RETURN_IF_ERROR(kernels.Register<MatrixSolveKernel>(Kernel("MatrixSolve").Cpu().Types("T", types)));
  RETURN_IF_ERROR(kernels.Register<DeterminantKernel<false>>(Kernel("MatrixDeterminant").Cpu().Types("T", types)));
  RETURN_IF_ERROR(kernels.Register<DeterminantKernel<true>>(Kernel("LogMatrixDeterminant").Cpu().Types("T", types)));
  RETURN_IF_ERROR(kernels.Register<CholeskyKernel>(Kernel("Cholesky").Cpu().Types("T", types)));
  RETURN_IF_ERROR(kernels.Register<CholeskyGradKernel>(Kernel("CholeskyGrad").Cpu().Types("T", types)));
  RETURN_IF_ERROR(
      kernels.Register<TriangularSolveKernel>(Kernel("MatrixTriangularSolve").Cpu().Types("T", with_bfloat)));
  return kernels.Register<TriangularSolveKernel>(Kernel("BandedTriangularSolve").Cpu().Types("T", types));
}

}  // namespace weir
