#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/linalg/lapack.h"
#include "kernels/linalg/svd.h"

namespace weir {
namespace {

// x and y become c x + s y and c y - s x.
template <typename Real>
struct PlaneRotation {
  Real c = 1, s = 0;
  PlaneRotation Inverse() const { return {c, -s}; }
  PlaneRotation Times(PlaneRotation b) const { return {c * b.c - s * b.s, c * b.s + s * b.c}; }
};

// Two-sided Jacobi: W = U^T W V becomes diagonal. W is n x n, U and V have n columns of their own lengths, all
// column-major; U and V may be null.
template <typename Real>
class JacobiSweeps {
 public:
  JacobiSweeps(int64_t n, Real* w, int64_t u_rows, Real* u, int64_t v_rows, Real* v)
      : n_(n), u_rows_(u_rows), v_rows_(v_rows), w_(w), u_(u), v_(v) {}

  bool Run() {
    for (int64_t i = 0; i < n_; ++i) most_ = std::max(most_, std::abs(at(i, i)));
    constexpr int kMostSweeps = 100;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      bool rotated = false;
      for (int64_t p = 1; p < n_; ++p) {
        for (int64_t q = 0; q < p; ++q) {
          const Real negligible =
              std::max(std::numeric_limits<Real>::min(), 2 * std::numeric_limits<Real>::epsilon() * most_);
          if (!(std::abs(at(p, q)) > negligible) && !(std::abs(at(q, p)) > negligible)) continue;
          rotated = true;
          Clear(p, q);
        }
      }
      if (!rotated) return true;
    }
    return false;
  }

 private:
  Real& at(int64_t i, int64_t j) { return w_[j * n_ + i]; }

  void Clear(int64_t p, int64_t q) {
    // One rotation makes the 2 x 2 block symmetric, two more from both sides clear it.
    const Real sum = at(p, p) + at(q, q), difference = at(q, p) - at(p, q);
    PlaneRotation<Real> symmetric;
    if (std::abs(difference) >= std::numeric_limits<Real>::min()) {
      const Real ratio = sum / difference, length = std::sqrt(1 + ratio * ratio);
      symmetric = {ratio / length, 1 / length};
    }
    const auto [c, s] = symmetric;
    const Real a = c * at(p, p) + s * at(q, p), b = c * at(p, q) + s * at(q, q), d = c * at(q, q) - s * at(p, q);
    const PlaneRotation<Real> right = Symmetric(a, b, d), left = symmetric.Times(right.Inverse());
    lapack::Rot(n_, &at(p, 0), n_, &at(q, 0), n_, left.c, left.s);
    if (u_ != nullptr) lapack::Rot(u_rows_, u_ + p * u_rows_, 1, u_ + q * u_rows_, 1, left.c, left.s);
    lapack::Rot(n_, &at(0, p), 1, &at(0, q), 1, right.c, -right.s);
    if (v_ != nullptr) lapack::Rot(v_rows_, v_ + p * v_rows_, 1, v_ + q * v_rows_, 1, right.c, -right.s);
    most_ = std::max({most_, std::abs(at(p, p)), std::abs(at(q, q))});
  }
  // The smaller rotation that clears b in [[a, b], [b, d]].
  static PlaneRotation<Real> Symmetric(Real a, Real b, Real d) {
    const Real twice = 2 * std::abs(b);
    if (twice < std::numeric_limits<Real>::min()) return {};
    const Real tau = (a - d) / twice, root = std::sqrt(tau * tau + 1), t = 1 / (tau > 0 ? tau + root : tau - root);
    const Real c = 1 / std::sqrt(t * t + 1);
    return {c, (t > 0) == (b > 0) ? -std::abs(t) * c : std::abs(t) * c};
  }

  const int64_t n_, u_rows_, v_rows_;
  Real *const w_, *const u_, *const v_;
  Real most_ = 0;
};

template <typename Real>
std::vector<Real> Identity(int64_t n) {
  std::vector<Real> m(n * n, Real(0));
  for (int64_t i = 0; i < n; ++i) m[i * n + i] = Real(1);
  return m;
}

}  // namespace

template <typename Real>
bool DecomposeByJacobiSvd(const Real* matrix, int64_t rows, int64_t columns, SvdVectors vectors, Real* values, Real* u,
                          Real* v) {
  const int64_t n = std::min(rows, columns), height = std::max(rows, columns);
  const bool wide = columns > rows;
  Real scale = 0;
  for (int64_t i = 0; i < rows * columns; ++i) scale = std::max(scale, std::abs(matrix[i]));
  if (scale == 0) scale = 1;
  // The factors of the matrix, or of its transpose if that is the tall one: `left` is height x left_columns.
  std::vector<Real> a(rows * columns), w, left, right = Identity<Real>(n);
  const int64_t left_columns = vectors == SvdVectors::kFull ? height : n;
  if (wide) {
    std::copy_n(matrix, rows * columns, a.data());
  } else {
    lapack::Transpose(matrix, rows, columns, a.data());
  }
  for (Real& x : a) x /= scale;
  if (height == n) {
    w = std::move(a);
    left = Identity<Real>(n);
  } else {
    std::vector<int> pivots(n);
    std::vector<Real> tau(n);
    lapack::Geqp3(height, n, a.data(), height, pivots.data(), tau.data());
    w.assign(n * n, Real(0));
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i <= j; ++i) w[wide ? i * n + j : j * n + i] = a[j * height + i];
    }
    if (vectors != SvdVectors::kNone) {
      left.assign(height * left_columns, Real(0));
      std::copy_n(a.data(), height * n, left.data());
      lapack::Ungqr(height, left_columns, n, left.data(), height, tau.data());
    }
    std::fill(right.begin(), right.end(), Real(0));
    for (int64_t j = 0; j < n; ++j) right[j * n + pivots[j] - 1] = Real(1);
  }
  // W = U^T A V: of a transposed matrix the sides are exchanged.
  const bool wanted = vectors != SvdVectors::kNone;
  std::vector<Real>&mine = wide ? right : left, &other = wide ? left : right;
  const int64_t u_rows = rows, v_rows = columns;
  if (!JacobiSweeps<Real>(n, w.data(), u_rows, wanted ? mine.data() : nullptr, v_rows, wanted ? other.data() : nullptr)
           .Run()) {
    return false;
  }
  for (int64_t i = 0; i < n; ++i) {
    const Real value = w[i * n + i];
    values[i] = std::abs(value) * scale;
    if (wanted && value < 0) {
      for (int64_t r = 0; r < u_rows; ++r) mine[i * u_rows + r] = -mine[i * u_rows + r];
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t most = std::max_element(values + i, values + n) - values;
    if (values[most] == 0) break;
    if (most == i) continue;
    std::swap(values[i], values[most]);
    if (!wanted) continue;
    std::swap_ranges(mine.data() + i * u_rows, mine.data() + (i + 1) * u_rows, mine.data() + most * u_rows);
    std::swap_ranges(other.data() + i * v_rows, other.data() + (i + 1) * v_rows, other.data() + most * v_rows);
  }
  if (!wanted) return true;
  lapack::Transpose(mine.data(), wide ? n : left_columns, u_rows, u);
  lapack::Transpose(other.data(), wide ? left_columns : n, v_rows, v);
  return true;
}
template bool DecomposeByJacobiSvd(const float*, int64_t, int64_t, SvdVectors, float*, float*, float*);
template bool DecomposeByJacobiSvd(const double*, int64_t, int64_t, SvdVectors, double*, double*, double*);

}  // namespace weir
