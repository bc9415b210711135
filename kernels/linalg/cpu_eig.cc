// Eig: eigenvalues of any square matrix, with their vectors, from its Schur form. They are computed in the precision of
// the elements, for TensorFlow's order and phases.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/linalg/family.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linear_algebra.h"
#include "kernels/linalg/schur.h"

namespace weir {
namespace {

template <typename Real>
void Normalise(int64_t n, std::complex<Real>* vectors) {
  for (int64_t k = 0; k < n; ++k) {
    std::complex<Real>* const v = vectors + k * n;
    Real most = 0, sum = 0;
    for (int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(v[i]));
    if (most == 0) continue;
    for (int64_t i = 0; i < n; ++i) sum += std::norm(v[i] / most);
    const Real length = most * std::sqrt(sum);
    for (int64_t i = 0; i < n; ++i) v[i] /= length;
  }
}

// The matrices here are column-major. `values` and `vectors` receive the results; `vectors` may be null. False if the
// iteration does not converge.
template <typename Real>
bool FindEigenvalues(int64_t n, std::vector<std::complex<Real>> t, std::complex<Real>* values,
                     std::complex<Real>* vectors) {
  using Complex = std::complex<Real>;
  std::vector<Complex> q(vectors == nullptr ? 0 : n * n);
  if (!ToComplexSchurForm(n, t.data(), vectors == nullptr ? nullptr : q.data())) return false;
  for (int64_t i = 0; i < n; ++i) values[i] = t[i * n + i];
  if (vectors != nullptr) {
    Real norm = 0;
    for (const Complex& x : t) norm = std::hypot(norm, std::abs(x));
    const Real least = std::max(norm, std::numeric_limits<Real>::min()) * std::numeric_limits<Real>::epsilon();
    std::vector<Complex> x(n * n);
    for (int64_t k = 0; k < n; ++k) {  // (T - value) x = 0 by substitution, where x[k] is 1
      Complex* const column = x.data() + k * n;
      column[k] = 1;
      for (int64_t i = 0; i < k; ++i) column[i] = -t[k * n + i];
      for (int64_t i = k - 1; i >= 0; --i) {
        Complex pivot = values[i] - values[k];
        if (pivot == Complex(0)) pivot = least;
        const Complex solution = column[i] /= pivot;
        for (int64_t j = 0; j < i; ++j) column[j] -= solution * t[i * n + j];
      }
    }
    lapack::Gemm('N', 'N', n, n, n, Complex(1), q.data(), n, x.data(), n, Complex(0), vectors, n);
    Normalise(n, vectors);
  }
  for (int64_t i = 0; i < n; ++i) {  // by absolute value
    const auto smaller = [](Complex a, Complex b) { return std::abs(a) < std::abs(b); };
    const int64_t least = std::min_element(values + i, values + n, smaller) - values;
    if (least == i) continue;
    std::swap(values[i], values[least]);
    if (vectors != nullptr) std::swap_ranges(vectors + i * n, vectors + (i + 1) * n, vectors + least * n);
  }
  return true;
}

// A vector of the real Schur form T for the value in row k, by substitution from row k upwards: x[k] is 1, or i for the
// second row of a pair, whose value is the one above the real axis.
template <typename Real>
void SubstituteReal(int64_t n, const Real* t, const std::complex<Real>* values, int64_t k, Real least,
                    std::complex<Real>* x) {
  using Complex = std::complex<Real>;
  const bool paired = values[k].imag() != 0;
  const Complex value = paired ? std::conj(values[k]) : values[k];
  const auto at = [&](int64_t i, int64_t j) { return t[j * n + i]; };
  const auto minus = [&](int64_t i, Complex factor, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) x[r] -= factor * at(r, i);
  };
  int64_t top = k;
  x[k] = paired ? Complex(0, 1) : Complex(1);
  if (paired) {
    top = k - 1;
    x[top] = std::abs(at(k, top)) > std::abs(at(top, k)) ? -(at(k, k) - value) * x[k] / at(k, top)
                                                         : -at(top, k) * x[k] / (at(top, top) - value);
    minus(top, x[top], top);
  }
  minus(k, x[k], top);
  for (int64_t i = top - 1; i >= 0; --i) {
    if (values[i].imag() == 0) {
      Complex pivot = at(i, i) - value;
      if (pivot == Complex(0)) pivot = least;
      x[i] /= pivot;
      minus(i, x[i], i);
    } else {  // rows i - 1 and i together
      const Complex a = at(i - 1, i - 1) - value, b = at(i - 1, i), c = at(i, i - 1), d = at(i, i) - value;
      Complex determinant = a * d - b * c;
      if (determinant == Complex(0)) determinant = least * (std::abs(a) + std::abs(b) + std::abs(c) + std::abs(d));
      const Complex upper = (d * x[i - 1] - b * x[i]) / determinant;
      x[i] = (a * x[i] - c * x[i - 1]) / determinant;
      x[i - 1] = upper;
      minus(i, x[i], i - 1);
      minus(i - 1, x[i - 1], i - 1);
      --i;
    }
    const Real most = std::abs(x[i]);
    if (std::numeric_limits<Real>::epsilon() * most * most > 1) {
      for (int64_t r = 0; r <= k; ++r) x[r] /= most;
    }
  }
}

template <typename Real>
bool FindEigenvalues(int64_t n, std::vector<Real> t, std::complex<Real>* values, std::complex<Real>* vectors) {
  using Complex = std::complex<Real>;
  Real scale = 0;
  for (const Real x : t) scale = std::max(scale, std::abs(x));
  if (scale < std::numeric_limits<Real>::min()) scale = 1;
  for (Real& x : t) x /= scale;
  std::vector<Real> q(vectors == nullptr ? 0 : n * n);
  if (!ToRealSchurForm(n, t.data(), vectors == nullptr ? nullptr : q.data())) return false;
  const auto at = [&](int64_t i, int64_t j) { return t[j * n + i]; };
  for (int64_t i = 0; i < n; ++i) {
    if (i + 1 == n || at(i + 1, i) == 0) {
      values[i] = at(i, i);
      continue;
    }
    const Real half = (at(i, i) - at(i + 1, i + 1)) / 2;
    const Real height = std::sqrt(std::abs(half * half + at(i + 1, i) * at(i, i + 1)));
    values[i] = Complex(at(i + 1, i + 1) + half, height);
    values[i + 1] = std::conj(values[i]);
    ++i;
  }
  if (vectors != nullptr) {
    Real norm = 0;
    for (const Real x : t) norm += std::abs(x);
    const Real least = std::max(norm, std::numeric_limits<Real>::min()) * std::numeric_limits<Real>::epsilon();
    // The real and the imaginary parts of a pair's vector are the columns of that pair.
    std::vector<Real> parts(n * n), product(n * n);
    for (int64_t k = 0; k < n; ++k) {
      std::vector<Complex> x(n);
      const bool paired = values[k].imag() != 0;
      if (paired) ++k;
      SubstituteReal(n, t.data(), values, k, least, x.data());
      for (int64_t i = 0; i <= k; ++i) {
        parts[(paired ? k - 1 : k) * n + i] = x[i].real();
        if (paired) parts[k * n + i] = x[i].imag();
      }
    }
    lapack::Gemm('N', 'N', n, n, n, Real(1), q.data(), n, parts.data(), n, Real(0), product.data(), n);
    for (int64_t k = 0; k < n; ++k) {
      const bool paired = values[k].imag() != 0;
      for (int64_t i = 0; i < n; ++i) {
        const Complex v(product[k * n + i], paired ? product[(k + 1) * n + i] : 0);
        vectors[k * n + i] = v;
        if (paired) vectors[(k + 1) * n + i] = std::conj(v);
      }
      if (paired) ++k;
    }
    Normalise(n, vectors);
  }
  for (int64_t i = 0; i < n; ++i) values[i] *= scale;
  return true;
}

// Values and vectors are complex, of the precision of the elements.
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
        return ComputeAs<float>(ctx, DT_COMPLEX64);
      case DT_DOUBLE:
        return ComputeAs<double>(ctx, DT_COMPLEX128);
      case DT_COMPLEX64:
        return ComputeAs<complex64>(ctx, DT_COMPLEX64);
      default:
        return ComputeAs<complex128>(ctx, DT_COMPLEX128);
    }
  }

 private:
  template <typename Scalar>
  absl::Status ComputeAs(OpKernelContext& ctx, DataType type) const {
    using Complex = std::complex<lapack::RealOf<Scalar>>;
    const Tensor& input = ctx.input(0);
    const TensorShape& shape = input.shape();
    const int64_t n = shape.dim_size(shape.dims() - 1);
    TensorShape value_shape = shape;
    value_shape.RemoveDim(shape.dims() - 1);
    ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(type, value_shape));
    ASSIGN_OR_RETURN(Tensor vectors, ctx.allocate_temp(type, vectors_ ? shape : TensorShape()));
    if (!vectors_) *vectors.data<Complex>() = Complex(0);  // an output that the graph does not use
    const int64_t matrices = n == 0 ? 0 : input.NumElements() / (n * n);
    if (matrices > 0) RETURN_IF_ERROR(CheckLapackSize(n, n));
    std::atomic<bool> failed{false};
    const double cost = std::min(1e15, 1e5 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
    ParallelRanges(ctx, matrices, static_cast<int64_t>(cost), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end && !failed; ++b) {
        const Scalar* const from = input.data<Scalar>() + b * n * n;
        std::vector<Scalar> a(n * n);
        std::vector<Complex> v(vectors_ ? n * n : 0);
        lapack::Transpose(from, n, n, a.data());
        if (!std::all_of(from, from + n * n, [](Scalar x) { return std::isfinite(std::abs(x)); }) ||
            !FindEigenvalues(n, std::move(a), values.data<Complex>() + b * n, vectors_ ? v.data() : nullptr)) {
          failed = true;
          return;
        }
        if (vectors_) lapack::Transpose(v.data(), n, n, vectors.data<Complex>() + b * n * n);
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
