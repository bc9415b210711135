#include "kernels/linalg/schur.h"

#include <cmath>
#include <limits>

namespace weir {
namespace {

using Complex = std::complex<double>;

// Rows, or columns, i and i + 1 are mixed so that a vector (x, y) becomes (r, 0).
struct Rotation {
  Rotation(Complex x, Complex y) {
    const double length = std::hypot(std::abs(x), std::abs(y));
    c = length == 0 ? 1 : x / length;
    s = length == 0 ? 0 : y / length;
  }
  void Rows(ComplexMatrix& m, int64_t i, int64_t k, int64_t from, int64_t to) const {
    for (int64_t j = from; j < to; ++j) {
      const Complex a = m(i, j), b = m(k, j);
      m(i, j) = std::conj(c) * a + std::conj(s) * b;
      m(k, j) = -s * a + c * b;
    }
  }
  void Columns(ComplexMatrix& m, int64_t i, int64_t k, int64_t to) const {
    for (int64_t j = 0; j < to; ++j) {
      const Complex a = m(j, i), b = m(j, k);
      m(j, i) = a * c + b * s;
      m(j, k) = -a * std::conj(s) + b * std::conj(c);
    }
  }
  Complex c, s;
};

// Clears all below the first subdiagonal.
void ToHessenberg(ComplexMatrix& t, ComplexMatrix& q) {
  const int64_t n = t.size();
  for (int64_t k = 0; k + 2 < n; ++k) {
    for (int64_t i = n - 1; i > k + 1; --i) {
      if (t(i, k) == Complex(0)) continue;
      const Rotation rotation(t(i - 1, k), t(i, k));
      rotation.Rows(t, i - 1, i, k, n);
      rotation.Columns(t, i - 1, i, n);
      rotation.Columns(q, i - 1, i, n);
      t(i, k) = 0;
    }
  }
}

// The eigenvalue of the last two rows and columns of [.., high] that is nearer to the last element.
Complex Shift(const ComplexMatrix& t, int64_t high) {
  const Complex a = t(high - 1, high - 1), b = t(high - 1, high), c = t(high, high - 1), d = t(high, high);
  const Complex half = (a - d) / 2.0, root = std::sqrt(half * half + b * c);
  const Complex divisor = std::abs(half + root) > std::abs(half - root) ? half + root : half - root;
  return divisor == Complex(0) ? d : d - b * c / divisor;
}

}  // namespace

ComplexMatrix ComplexMatrix::Identity(int64_t n) {
  ComplexMatrix m(n);
  for (int64_t i = 0; i < n; ++i) m(i, i) = 1;
  return m;
}
ComplexMatrix operator*(const ComplexMatrix& a, const ComplexMatrix& b) {
  ComplexMatrix product(a.n_);
  for (int64_t i = 0; i < a.n_; ++i) {
    for (int64_t k = 0; k < a.n_; ++k) {
      const Complex factor = a(i, k);
      for (int64_t j = 0; j < a.n_; ++j) product(i, j) += factor * b(k, j);
    }
  }
  return product;
}
ComplexMatrix ComplexMatrix::Adjoint() const {
  ComplexMatrix m(n_);
  for (int64_t i = 0; i < n_; ++i) {
    for (int64_t j = 0; j < n_; ++j) m(j, i) = std::conj((*this)(i, j));
  }
  return m;
}

bool MakeSchurForm(const ComplexMatrix& a, SchurForm* form) {
  const int64_t n = a.size();
  for (int64_t i = 0; i < n * n; ++i) {
    if (!std::isfinite(std::abs(a(i / n, i % n)))) return false;
  }
  ComplexMatrix& t = form->t = a;
  ComplexMatrix& q = form->q = ComplexMatrix::Identity(n);
  ToHessenberg(t, q);
  constexpr int kMostSteps = 60;  // an eigenvalue
  int steps = 0;
  for (int64_t high = n - 1; high > 0;) {
    int64_t low = high;
    for (; low > 0; --low) {
      const double near = std::abs(t(low, low)) + std::abs(t(low - 1, low - 1));
      if (std::abs(t(low, low - 1)) <= std::numeric_limits<double>::epsilon() * near) {
        t(low, low - 1) = 0;
        break;
      }
    }
    if (low == high) {
      --high;
      steps = 0;
      continue;
    }
    if (++steps > kMostSteps) return false;
    // An unusual shift once in a while breaks cycles.
    const Complex shift =
        steps % 11 == 10 ? Complex(std::abs(t(high, high - 1)) + std::abs(t(high, high))) : Shift(t, high);
    for (int64_t i = low; i <= high; ++i) t(i, i) -= shift;
    std::vector<Rotation> rotations;
    for (int64_t i = low; i < high; ++i) {
      rotations.emplace_back(t(i, i), t(i + 1, i));
      rotations.back().Rows(t, i, i + 1, i, n);
    }
    for (int64_t i = low; i < high; ++i) {
      rotations[i - low].Columns(t, i, i + 1, std::min(i + 2, high) + 1);
      rotations[i - low].Columns(q, i, i + 1, n);
    }
    for (int64_t i = low; i <= high; ++i) t(i, i) += shift;
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) t(i, j) = 0;
  }
  return true;
}

}  // namespace weir
