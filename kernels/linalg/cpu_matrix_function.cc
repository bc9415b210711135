// MatrixSquareRoot and MatrixLogarithm, both from the Schur form.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/linalg/family.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linear_algebra.h"
#include "kernels/linalg/schur.h"

namespace weir {
namespace {

using Complex = std::complex<double>;

// Square and column-major.
class ComplexMatrix {
 public:
  explicit ComplexMatrix(int64_t n) : n_(n), data_(n * n) {}
  int64_t size() const { return n_; }
  Complex* data() { return data_.data(); }
  Complex& operator()(int64_t i, int64_t j) { return data_[j * n_ + i]; }
  Complex operator()(int64_t i, int64_t j) const { return data_[j * n_ + i]; }
  // this * op(b), where `op` is 'N' for b itself and 'C' for its adjoint.
  ComplexMatrix Times(char op, const ComplexMatrix& b) const {
    ComplexMatrix product(n_);
    lapack::Gemm('N', op, n_, n_, n_, Complex(1), data_.data(), n_, b.data_.data(), n_, Complex(0), product.data(), n_);
    return product;
  }

 private:
  int64_t n_;
  std::vector<Complex> data_;
};

// y -= factor * x for n elements, without the checks for infinities that std::complex multiplies with.
void SubtractMultiple(int64_t n, Complex factor, const Complex* x, Complex* y) {
  const double re = factor.real(), im = factor.imag();
  for (int64_t i = 0; i < n; ++i) {
    y[i] = {y[i].real() - (re * x[i].real() - im * x[i].imag()), y[i].imag() - (re * x[i].imag() + im * x[i].real())};
  }
}

// The root of an upper triangular matrix, column by column (Björck and Hammarling, 1983).
ComplexMatrix TriangularRoot(ComplexMatrix t) {
  for (int64_t j = 0; j < t.size(); ++j) {
    t(j, j) = std::sqrt(t(j, j));
    for (int64_t i = j - 1; i >= 0; --i) {
      if (t(i, j) != Complex(0)) t(i, j) /= t(i, i) + t(j, j);
      SubtractMultiple(i, t(i, j), &t(0, i), &t(0, j));
    }
  }
  return t;
}

// X with A X = B for upper triangular A, B and X.
ComplexMatrix SolveTriangular(ComplexMatrix a, ComplexMatrix b) {
  for (int64_t j = 0; j < a.size(); ++j) {
    for (int64_t i = j; i >= 0; --i) {
      b(i, j) /= a(i, i);
      SubtractMultiple(i, b(i, j), &a(0, i), &b(0, j));
    }
  }
  return b;
}

// log(A) = 2^k log(A^(1/2^k)). Near the identity, log(I + X) is the integral of X (I + s X)^-1 over s from 0 to 1, by
// Gauss's rule with eight points.
ComplexMatrix TriangularLogarithm(ComplexMatrix t) {
  constexpr double kNodes[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
  constexpr double kWeights[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
  const int64_t n = t.size();
  const auto far_from_identity = [&] {
    double most = 0;
    for (int64_t i = 0; i < n; ++i) {
      double row = 0;
      for (int64_t j = i; j < n; ++j) row += std::abs(t(i, j) - Complex(i == j ? 1 : 0));
      most = std::max(most, row);
    }
    return most > 0.25;
  };
  constexpr int kMostRoots = 100;
  double scale = 1;
  for (int roots = 0; roots < kMostRoots && far_from_identity(); ++roots) {
    t = TriangularRoot(std::move(t));
    scale *= 2;
  }
  if (far_from_identity()) {  // zero stays zero: a singular matrix has no logarithm
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    for (int64_t i = 0; i < n; ++i) t(i, i) = Complex(kNan, kNan);
  }
  ComplexMatrix x = t, sum(n);
  for (int64_t i = 0; i < n; ++i) x(i, i) -= 1;
  for (int node = 0; node < 8; ++node) {
    const double at = 0.5 + 0.5 * (node < 4 ? kNodes[node] : -kNodes[node - 4]), weight = 0.5 * kWeights[node % 4];
    ComplexMatrix a(n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i; j < n; ++j) a(i, j) = at * x(i, j) + Complex(i == j ? 1 : 0);
    }
    const ComplexMatrix part = SolveTriangular(std::move(a), x);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i; j < n; ++j) sum(i, j) += scale * weight * part(i, j);
    }
  }
  return sum;
}

template <ComplexMatrix (*kOfTriangular)(ComplexMatrix)>
class MatrixFunctionKernel : public LinearKernel {
 private:
  absl::StatusOr<std::vector<DimVector>> OutputDims(const std::vector<MatrixSize>& in) const override {
    RETURN_IF_ERROR(CheckSquare(in[0]));
    return std::vector<DimVector>{{in[0].rows, in[0].rows}};
  }
  double Cost(const std::vector<MatrixSize>& in) const override { return std::min(1e15, 20 * LinearKernel::Cost(in)); }
  template <typename Scalar>
  absl::Status RunAs(const MatrixArgs<Scalar>& args) const {
    const int64_t n = args.in_sizes[0].rows;
    if (n == 0) return absl::OkStatus();
    ComplexMatrix t(n), q(n);
    for (int64_t i = 0; i < n * n; ++i) {
      if (!std::isfinite(std::abs(args.in[0][i]))) return Failed();
      t(i / n, i % n) = args.in[0][i];
    }
    if (!ToComplexSchurForm(n, t.data(), q.data())) return Failed();
    const ComplexMatrix result = q.Times('N', kOfTriangular(std::move(t))).Times('C', q);
    Store(result, args.out[0]);
    return absl::OkStatus();
  }
  static absl::Status Failed() {
    return errors::InvalidArgument("Eigen decomposition was not successful. The input might not be valid.");
  }
  // NaN where no real matrix is the function of a real one: a root of a negative eigenvalue, say.
  static void Store(const ComplexMatrix& from, double* to) {
    constexpr double kRounding = 1e-6;  // the root of what is lost of an eigenvalue that should be 0
    const int64_t n = from.size();
    double imaginary = 0, most = 0;
    for (int64_t i = 0; i < n * n; ++i) {
      const Complex x = from(i / n, i % n);
      to[i] = x.real();
      imaginary = std::max(imaginary, std::abs(x.imag()));
      most = std::max(most, std::abs(x));
    }
    if (imaginary > kRounding * most) std::fill_n(to, n * n, std::numeric_limits<double>::quiet_NaN());
  }
  static void Store(const ComplexMatrix& from, Complex* to) {
    for (int64_t i = 0; i < from.size() * from.size(); ++i) to[i] = from(i / from.size(), i % from.size());
  }
  absl::Status Run(const MatrixArgs<double>& args) const override { return RunAs(args); }
  absl::Status Run(const MatrixArgs<Complex>& args) const override { return RunAs(args); }
};

}  // namespace

absl::Status RegisterMatrixFunctionKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<MatrixFunctionKernel<TriangularRoot>>(
      Kernel("MatrixSquareRoot").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_COMPLEX64, DT_COMPLEX128})));
  return kernels.Register<MatrixFunctionKernel<TriangularLogarithm>>(
      Kernel("MatrixLogarithm").Cpu().Types("T", {DT_COMPLEX64, DT_COMPLEX128}));
}

}  // namespace weir
