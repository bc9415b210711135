#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/linalg/schur.h"

namespace weir {
namespace {

// A reflection I - tau v v^T of two or three rows or columns, where v starts with 1.
template <typename Real>
struct Reflection {
  // Turns (x, y, z) into (beta, 0, 0).
  Reflection(Real x, Real y, Real z) {
    const Real rest = y * y + z * z;
    beta = x;
    if (rest <= std::numeric_limits<Real>::min()) return;
    beta = -std::copysign(std::sqrt(x * x + rest), x >= 0 ? Real(1) : Real(-1));
    v[1] = y / (x - beta);
    v[2] = z / (x - beta);
    tau = (beta - x) / beta;
  }
  // `width` elements of each line, which are `step` apart; the next line starts `line` behind.
  void Apply(Real* x, int64_t lines, int64_t line, int64_t width, int64_t step) const {
    Real *const y = x + line, *const z = y + (lines == 3 ? line : 0);
    const Real last = lines == 3 ? v[2] : 0;
    for (int64_t i = 0; i < width * step; i += step) {
      const Real sum = tau * (x[i] + v[1] * y[i] + last * z[i]);
      x[i] -= sum;
      y[i] -= v[1] * sum;
      if (lines == 3) z[i] -= last * sum;
    }
  }
  Real beta, tau = 0;
  std::array<Real, 3> v = {1, 0, 0};
};

// QR iteration with double shifts.
template <typename Real>
class RealQr {
 public:
  RealQr(int64_t n, Real* t, Real* q) : n_(n), t_(t), q_(q) {}

  bool Run() {
    Real norm = 0;
    for (int64_t j = 0; j < n_; ++j) {
      for (int64_t i = 0; i < std::min(n_, j + 2); ++i) norm += std::abs(at(i, j));
    }
    if (norm == 0) return true;
    constexpr Real kEpsilon = std::numeric_limits<Real>::epsilon();
    zero_ = std::max(norm * kEpsilon * kEpsilon, std::numeric_limits<Real>::min());
    constexpr int64_t kMostSteps = 40;  // for one eigenvalue
    int64_t steps = 0, all_steps = 0;
    for (int64_t high = n_ - 1; high >= 0;) {
      const int64_t low = BlockOf(high);
      if (high - low > 1) {
        const Shifts shifts = MakeShifts(high, steps++);
        if (++all_steps > kMostSteps * n_) return false;
        Step(low, high, shifts);
        continue;
      }
      if (low == high) {
        at(high, high) += shifted_;
      } else {
        Split(high);
      }
      if (low > 0) at(low, low - 1) = 0;
      high = low - 1;
      steps = 0;
    }
    return true;
  }

 private:
  // Two shifts x and y, and the product of the elements beside them.
  struct Shifts {
    Real x, y, product;
  };

  Real& at(int64_t i, int64_t j) { return t_[j * n_ + i]; }

  // The first row of the unreduced block that ends with row `high`.
  int64_t BlockOf(int64_t high) {
    int64_t low = high;
    for (; low > 0; --low) {
      const Real near = std::abs(at(low - 1, low - 1)) + std::abs(at(low, low));
      if (std::abs(at(low, low - 1)) <= std::max(near * std::numeric_limits<Real>::epsilon(), zero_)) break;
    }
    return low;
  }
  void Rotate(int64_t i, Real c, Real s) {
    lapack::Rot(n_ - i, &at(i, i), n_, &at(i + 1, i), n_, c, -s);
    lapack::Rot(i + 2, &at(0, i), 1, &at(0, i + 1), 1, c, -s);
    if (q_ != nullptr) lapack::Rot(n_, q_ + i * n_, 1, q_ + (i + 1) * n_, 1, c, -s);
  }
  // Makes the block of rows high - 1 and high triangular if its eigenvalues are real.
  void Split(int64_t high) {
    const Real p = (at(high - 1, high - 1) - at(high, high)) / 2;
    const Real square = p * p + at(high, high - 1) * at(high - 1, high);
    at(high, high) += shifted_;
    at(high - 1, high - 1) += shifted_;
    if (square < 0) return;
    const Real x = p + std::copysign(std::sqrt(square), p >= 0 ? Real(1) : Real(-1)), y = at(high, high - 1);
    const Real length = std::hypot(x, y);
    Rotate(high - 1, length == 0 ? 1 : x / length, length == 0 ? 0 : -y / length);
    at(high, high - 1) = 0;
  }
  void ShiftBy(int64_t high, Real shift) {
    shifted_ += shift;
    for (int64_t i = 0; i <= high; ++i) at(i, i) -= shift;
  }
  // Wilkinson's shifts; the tenth and the thirtieth are others, which break cycles.
  Shifts MakeShifts(int64_t high, int64_t steps) {
    Shifts shifts = {at(high, high), at(high - 1, high - 1), at(high, high - 1) * at(high - 1, high)};
    if (steps == 10) {
      ShiftBy(high, shifts.x);
      const Real s = std::abs(at(high, high - 1)) + std::abs(at(high - 1, high - 2));
      return {Real(0.75) * s, Real(0.75) * s, Real(-0.4375) * s * s};
    }
    if (steps == 30) {
      const Real half = (shifts.y - shifts.x) / 2, square = half * half + shifts.product;
      if (square > 0) {
        ShiftBy(high, shifts.x - shifts.product / (half + std::copysign(std::sqrt(square), half)));
        return {Real(0.964), Real(0.964), Real(0.964)};
      }
    }
    return shifts;
  }
  void Step(int64_t low, int64_t high, const Shifts& shifts) {
    // Starts where two small subdiagonal elements follow each other.
    int64_t middle = high - 2;
    Real x, y, z;
    for (;; --middle) {
      const Real here = at(middle, middle), r = shifts.x - here, s = shifts.y - here;
      x = (r * s - shifts.product) / at(middle + 1, middle) + at(middle, middle + 1);
      y = at(middle + 1, middle + 1) - here - r - s;
      z = at(middle + 2, middle + 1);
      if (middle == low) break;
      const Real before = at(middle, middle - 1) * (std::abs(y) + std::abs(z));
      const Real near = std::abs(at(middle - 1, middle - 1)) + std::abs(here) + std::abs(at(middle + 1, middle + 1));
      if (std::abs(before) < std::numeric_limits<Real>::epsilon() * (x * near)) break;
    }
    for (int64_t k = middle; k < high; ++k) {
      const int64_t lines = std::min<int64_t>(3, high - k + 1);
      if (k > middle) {
        x = at(k, k - 1);
        y = at(k + 1, k - 1);
        z = lines == 3 ? at(k + 2, k - 1) : 0;
      }
      const Reflection<Real> reflection(x, y, z);
      if (reflection.beta == 0) continue;
      if (k > middle) {
        at(k, k - 1) = reflection.beta;
      } else if (k > low) {
        at(k, k - 1) = -at(k, k - 1);
      }
      reflection.Apply(&at(k, k), lines, 1, n_ - k, n_);
      reflection.Apply(&at(0, k), lines, n_, std::min(high, k + 3) + 1, 1);
      if (q_ != nullptr) reflection.Apply(q_ + k * n_, lines, n_, n_, 1);
    }
    for (int64_t i = middle + 2; i <= high; ++i) {
      at(i, i - 2) = 0;
      if (i > middle + 2) at(i, i - 3) = 0;
    }
  }

  const int64_t n_;
  Real *const t_, *const q_;
  Real zero_ = 0;     // subdiagonal elements up to it count as zero
  Real shifted_ = 0;  // subtracted from the diagonal so far
};

}  // namespace

template <typename Real>
bool ToRealSchurForm(int64_t n, Real* t, Real* q) {
  ToHessenberg(n, t, q);
  return RealQr<Real>(n, t, q).Run();
}
template bool ToRealSchurForm(int64_t, float*, float*);
template bool ToRealSchurForm(int64_t, double*, double*);

}  // namespace weir
