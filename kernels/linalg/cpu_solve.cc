// Solving linear equations: by LU and Cholesky factors, by substitution, by least squares.
#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "kernels/linalg/family.h"
#include "kernels/linalg/linear_algebra.h"

namespace weir {
namespace {

template <typename Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename Scalar>
using Input = Eigen::Map<const Matrix<Scalar>>;
template <typename Scalar>
using Output = Eigen::Map<Matrix<Scalar>>;

template <typename Scalar>
Input<Scalar> In(const MatrixArgs<Scalar>& args, int i) {
  return Input<Scalar>(args.in[i], args.in_sizes[i].rows, args.in_sizes[i].columns);
}

// Both forms of Run call the template RunAs of the class below.
#define WEIR_RUN_BOTH(Class)                                                              \
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); } \
  absl::Status Run(const MatrixArgs<std::complex<double>>& args) const override { return RunAs(args); }

// The factors of a square matrix, or of its adjoint.
template <typename Scalar>
Eigen::PartialPivLU<Matrix<Scalar>> Factorise(const Input<Scalar>& a, bool adjoint) {
  if (adjoint) return Eigen::PartialPivLU<Matrix<Scalar>>(a.adjoint());
  return Eigen::PartialPivLU<Matrix<Scalar>>(a);
}
template <typename Scalar>
bool IsSingular(const Eigen::PartialPivLU<Matrix<Scalar>>& lu) {
  return !(lu.matrixLU().diagonal().cwiseAbs().minCoeff() > 0);
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
    const auto lu = Factorise<Scalar>(In(args, 0), adjoint_);
    if (IsSingular<Scalar>(lu)) return errors::InvalidArgument("Input is not invertible.");
    Output<Scalar>(args.out[0], n, n) = lu.inverse();
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH(MatrixInverseKernel)

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
    if (args.in_sizes[0].rows == 0 || args.in_sizes[1].columns == 0) return absl::OkStatus();
    const auto lu = Factorise<Scalar>(In(args, 0), adjoint_);
    if (IsSingular<Scalar>(lu)) return errors::InvalidArgument("Input matrix is not invertible.");
    Output<Scalar>(args.out[0], args.in_sizes[0].rows, args.in_sizes[1].columns) = lu.solve(In(args, 1));
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH(MatrixSolveKernel)

  bool adjoint_ = false;
};

// What is left of a number when its size is taken away; infinities have it too, where they are real.
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
      const auto lu = Factorise<Scalar>(In(args, 0), false);
      sign = Scalar(static_cast<double>(lu.permutationP().determinant()));
      for (int64_t i = 0; i < args.in_sizes[0].rows; ++i) {
        const Scalar pivot = lu.matrixLU()(i, i);
        sign *= Sign(pivot);
        log += std::log(std::abs(pivot));
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
  WEIR_RUN_BOTH(DeterminantKernel)
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
    const Eigen::LLT<Matrix<Scalar>> llt(In(args, 0));
    if (llt.info() != Eigen::Success) {
      // As TensorFlow does: the step goes on, with numbers that show what happened.
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) args.out[0][i * n + j] = Scalar(j <= i ? NAN : 0);
      }
      return absl::OkStatus();
    }
    Output<Scalar>(args.out[0], n, n) = llt.matrixL();
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH(CholeskyKernel)
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
    const Matrix<Scalar> l = In(args, 0).template triangularView<Eigen::Lower>();
    Matrix<Scalar> middle = l.adjoint() * In(args, 1).template triangularView<Eigen::Lower>().toDenseMatrix();
    middle.diagonal() *= Scalar(0.5);
    Matrix<Scalar> m = middle.template triangularView<Eigen::Lower>();
    l.adjoint().template triangularView<Eigen::Upper>().solveInPlace(m);
    l.template triangularView<Eigen::Lower>().template solveInPlace<Eigen::OnTheRight>(m);
    Output<Scalar>(args.out[0], n, n) = (m + m.adjoint()) * Scalar(0.5);
    return absl::OkStatus();
  }
  WEIR_RUN_BOTH(CholeskyGradKernel)
};

// By substitution; the other triangle is not read.
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
  // Element (row, column) of the triangle, from the matrix or from its bands: lower ones hold the diagonal last, upper
  // ones first, each aligned with the columns that end it.
  template <typename Scalar>
  Scalar At(const MatrixArgs<Scalar>& args, int64_t row, int64_t column) const {
    const int64_t bands = args.in_sizes[0].rows, n = args.in_sizes[0].columns;
    if (!banded_) return args.in[0][row * n + column];
    if (lower_) return row - column >= bands ? Scalar(0) : args.in[0][(row - column) * n + row];
    return column - row >= bands ? Scalar(0) : args.in[0][(bands - 1 - (column - row)) * n + row];
  }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const int64_t n = args.in_sizes[1].rows, columns = args.in_sizes[1].columns;
    std::copy_n(args.in[1], n * columns, args.out[0]);
    const int64_t reach = banded_ ? args.in_sizes[0].rows : n;
    const bool forward = lower_ != adjoint_;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t row = forward ? k : n - 1 - k;
      const Scalar pivot = Element(args, row, row);
      if (banded_ && pivot == Scalar(0)) return errors::InvalidArgument("Input matrix is not invertible.");
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
    return Eigen::numext::conj(At(args, column, row));
  }
  WEIR_RUN_BOTH(TriangularSolveKernel)

  bool lower_ = true, adjoint_ = false, banded_ = false;
};

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
