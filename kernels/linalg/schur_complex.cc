#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/lapack.h"
#include "kernels/linalg/schur.h"

namespace weir {
namespace {

template <typename Real>
Real Norm1(std::complex<Real> x) {
  return std::abs(x.real()) + std::abs(x.imag());
}

// Finds the c and s with s p + c q = 0, and returns c p - conj(s) q.
template <typename Real>
std::complex<Real> MakeRotation(std::complex<Real> p, std::complex<Real> q, Real* c, std::complex<Real>* s) {
  using Complex = std::complex<Real>;
  if (q == Complex(0)) {
    *c = p.real() < 0 ? -1 : 1;
    *s = 0;
    return *c * p;
  }
  if (p == Complex(0)) {
    *c = 0;
    *s = -q / std::abs(q);
    return std::abs(q);
  }
  const Real scale = std::max(Norm1(p), Norm1(q));
  const Complex ps = p / scale, qs = q / scale;
  const Real size = std::abs(ps), length = std::hypot(size, std::abs(qs)) * (p.real() < 0 ? -1 : 1);
  const Complex phase = ps / size;
  *c = size / length;
  *s = -std::conj(phase) * (qs / length);
  return phase * (length * scale);
}

// QR iteration with single shifts.
template <typename Real>
class ComplexQr {
 public:
  using Complex = std::complex<Real>;

  ComplexQr(int64_t n, Complex* t, Complex* q) : n_(n), t_(t), q_(q) {}

  bool Run() {
    constexpr int64_t kMostSteps = 30;  // for one eigenvalue
    int64_t steps = 0, all_steps = 0;
    for (int64_t high = n_ - 1; high > 0;) {
      if (IsNegligible(high - 1)) {
        --high;
        steps = 0;
        continue;
      }
      ++steps;
      if (++all_steps > kMostSteps * n_) return false;
      int64_t low = high - 1;
      while (low > 0 && !IsNegligible(low - 1)) --low;
      Step(low, high, Shift(high, steps));
    }
    return true;
  }

 private:
  Complex& at(int64_t i, int64_t j) { return t_[j * n_ + i]; }

  bool IsNegligible(int64_t i) {
    const Real near = Norm1(at(i, i)) + Norm1(at(i + 1, i + 1));
    if (!(Norm1(at(i + 1, i)) <= near * std::numeric_limits<Real>::epsilon())) return false;
    at(i + 1, i) = 0;
    return true;
  }
  // The eigenvalue of the last two rows and columns that is nearer to the last element. Now and then another one, which
  // breaks cycles.
  Complex Shift(int64_t high, int64_t steps) {
    if ((steps == 10 || steps == 20) && high > 1) {
      return std::abs(at(high, high - 1).real()) + std::abs(at(high - 1, high - 2).real());
    }
    const Real scale = std::abs(at(high - 1, high - 1)) + std::abs(at(high - 1, high)) + std::abs(at(high, high - 1)) +
                       std::abs(at(high, high));
    const Complex a = at(high - 1, high - 1) / scale, d = at(high, high) / scale,
                  product = (at(high - 1, high) / scale) * (at(high, high - 1) / scale), difference = a - d;
    const Complex root = std::sqrt(difference * difference + Real(4) * product), determinant = a * d - product;
    Complex first = (a + d + root) / Real(2), second = (a + d - root) / Real(2);
    if (Norm1(first) > Norm1(second)) {
      second = determinant / first;
    } else if (second != Complex(0)) {
      first = determinant / second;
    }
    return scale * (Norm1(first - d) < Norm1(second - d) ? first : second);
  }
  void Step(int64_t low, int64_t high, Complex shift) {
    Real c;
    Complex s;
    for (int64_t i = low; i < high; ++i) {
      if (i == low) {
        MakeRotation(at(i, i) - shift, at(i + 1, i), &c, &s);
      } else {
        at(i, i - 1) = MakeRotation(at(i, i - 1), at(i + 1, i - 1), &c, &s);
        at(i + 1, i - 1) = 0;
      }
      lapack::Rot(n_ - i, &at(i, i), n_, &at(i + 1, i), n_, c, -std::conj(s));
      lapack::Rot(std::min(i + 2, high) + 1, &at(0, i), 1, &at(0, i + 1), 1, c, -s);
      if (q_ != nullptr) lapack::Rot(n_, q_ + i * n_, 1, q_ + (i + 1) * n_, 1, c, -s);
    }
  }

  const int64_t n_;
  Complex *const t_, *const q_;
};

}  // namespace

template <typename Real>
bool ToComplexSchurForm(int64_t n, std::complex<Real>* t, std::complex<Real>* q) {
  ToHessenberg(n, t, q);
  return ComplexQr<Real>(n, t, q).Run();
}
template bool ToComplexSchurForm(int64_t, std::complex<float>*, std::complex<float>*);
template bool ToComplexSchurForm(int64_t, std::complex<double>*, std::complex<double>*);

}  // namespace weir
