#include "kernels/linalg/svd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/linalg/lapack.h"

namespace weir {
namespace {

// Below it Jacobi rotations decompose a matrix or a bidiagonal form, else divide and conquer does.
constexpr int64_t kSmall = 16;
// Matrices with more rows for each column are first reduced to a square one, by QR.
constexpr int64_t kTallRatio = 4;

template <typename Real>
struct BidiagonalSvd {
  std::vector<Real> values, u, vt;  // column-major; u and vt are n x n, or empty
};

// Turns each pair of vectors so that u is negative in the row where divide and conquer splits the form. A vector that
// is zero there belongs to one of the halves, which are split alike.
template <typename Real>
void TurnSigns(int64_t n, BidiagonalSvd<Real>* svd) {
  const Real tiny = std::sqrt(std::numeric_limits<Real>::epsilon());
  for (int64_t j = 0; j < n; ++j) {
    Real* const u = svd->u.data() + j * n;
    int64_t begin = 0, end = n, row = n / 2;
    while (std::abs(u[row]) < tiny && end - begin >= kSmall) {
      Real upper = 0, lower = 0;
      for (int64_t i = begin; i < row; ++i) upper += u[i] * u[i];
      for (int64_t i = row + 1; i < end; ++i) lower += u[i] * u[i];
      if (upper > lower) {
        end = row;
      } else {
        begin = row + 1;
      }
      row = begin + (end - begin) / 2;
    }
    if (u[row] <= 0) continue;
    for (int64_t i = 0; i < n; ++i) {
      u[i] = -u[i];
      svd->vt[i * n + j] = -svd->vt[i * n + j];
    }
  }
}

// The singular values of an upper bidiagonal form with these elements on the diagonal and above it.
template <typename Real>
bool DecomposeForm(int64_t n, bool wanted, std::vector<Real> above, BidiagonalSvd<Real>* svd) {
  if (wanted) {
    svd->u.resize(n * n);
    svd->vt.resize(n * n);
  }
  if (n >= kSmall || !wanted) {
    if (lapack::Bdsdc(wanted ? 'I' : 'N', n, svd->values.data(), above.data(), svd->u.data(), n, svd->vt.data(), n) !=
        0) {
      return false;
    }
    if (wanted) TurnSigns(n, svd);
    return true;
  }
  // Eigen's leaves hold the transpose with a row of zeros below, so that left and right vectors change places.
  std::vector<Real> form((n + 1) * n), left((n + 1) * (n + 1)), right(n * n);
  for (int64_t i = 0; i < n; ++i) {
    form[i * n + i] = svd->values[i];
    if (i + 1 < n) form[(i + 1) * n + i] = above[i];
  }
  if (!DecomposeByJacobiSvd(form.data(), n + 1, n, SvdVectors::kFull, svd->values.data(), left.data(), right.data())) {
    return false;
  }
  lapack::Transpose(right.data(), n, n, svd->u.data());
  for (int64_t i = 0; i < n; ++i) std::copy_n(left.data() + i * (n + 1), n, svd->vt.data() + i * n);
  return true;
}

// Of a column-major tall matrix: `left` is rows x (rows or columns), `right` is the adjoint of the right vectors.
template <typename Scalar>
bool DecomposeTall(std::vector<Scalar> a, int64_t rows, int64_t columns, SvdVectors vectors, Scalar* values,
                   std::vector<Scalar>* left, std::vector<Scalar>* right) {
  using Real = lapack::RealOf<Scalar>;
  const int64_t n = columns, width = vectors == SvdVectors::kFull ? rows : n;
  const bool wanted = vectors != SvdVectors::kNone, reduced = rows / kTallRatio > n;
  Real scale = 0;
  for (const Scalar& x : a) scale = std::max(scale, std::abs(x));
  if (scale == 0) scale = 1;
  for (Scalar& x : a) x /= scale;

  std::vector<Scalar> outer, outer_tau(n);  // the QR factors of a tall matrix
  int64_t height = rows;
  if (reduced) {
    outer = std::move(a);
    lapack::Geqrf(rows, n, outer.data(), rows, outer_tau.data());
    height = n;
    a.assign(n * n, Scalar(0));
    for (int64_t j = 0; j < n; ++j) std::copy_n(outer.data() + j * rows, j + 1, a.data() + j * n);
  }
  BidiagonalSvd<Real> svd;
  svd.values.resize(n);
  std::vector<Real> above(n);
  std::vector<Scalar> tau_q(n), tau_p(n);
  lapack::Gebrd(height, n, a.data(), height, svd.values.data(), above.data(), tau_q.data(), tau_p.data());
  if (!DecomposeForm(n, wanted, std::move(above), &svd)) return false;
  for (int64_t i = 0; i < n; ++i) values[i] = svd.values[i] * scale;
  if (!wanted) return true;

  left->assign(rows * width, Scalar(0));
  for (int64_t j = 0; j < n; ++j) std::copy_n(svd.u.data() + j * n, n, left->data() + j * rows);
  for (int64_t j = n; j < width; ++j) (*left)[j * rows + j] = Scalar(1);
  right->assign(svd.vt.begin(), svd.vt.end());
  lapack::Unmbr('Q', 'L', 'N', height, reduced ? n : width, n, a.data(), height, tau_q.data(), left->data(), rows);
  if (reduced) lapack::Unmqr('L', 'N', rows, width, n, outer.data(), rows, outer_tau.data(), left->data(), rows);
  lapack::Unmbr('P', 'R', lapack::kIsComplex<Scalar> ? 'C' : 'T', n, n, height, a.data(), height, tau_p.data(),
                right->data(), n);
  return true;
}

}  // namespace

template <typename Scalar>
bool DecomposeBySvd(const Scalar* matrix, int64_t rows, int64_t columns, SvdVectors vectors, Scalar* values, Scalar* u,
                    Scalar* v) {
  if constexpr (!lapack::kIsComplex<Scalar>) {
    if (columns < kSmall) return DecomposeByJacobiSvd(matrix, rows, columns, vectors, values, u, v);
  }
  // A wide matrix A = U S V^H is decomposed as its adjoint V S U^H, whose column-major elements are conj(A).
  const bool wide = columns > rows;
  std::vector<Scalar> a(matrix, matrix + rows * columns), left, right;
  if (wide) {
    for (Scalar& x : a) x = lapack::Conj(x);
  } else {
    lapack::Transpose(matrix, rows, columns, a.data());
  }
  const int64_t height = std::max(rows, columns), n = std::min(rows, columns);
  if (!DecomposeTall(std::move(a), height, n, vectors, values, &left, &right)) return false;
  if (vectors == SvdVectors::kNone) return true;
  lapack::Transpose(left.data(), vectors == SvdVectors::kFull ? height : n, height, wide ? v : u);
  std::transform(right.begin(), right.end(), wide ? u : v, [](Scalar x) { return lapack::Conj(x); });
  return true;
}
template bool DecomposeBySvd(const float*, int64_t, int64_t, SvdVectors, float*, float*, float*);
template bool DecomposeBySvd(const double*, int64_t, int64_t, SvdVectors, double*, double*, double*);
template bool DecomposeBySvd(const std::complex<float>*, int64_t, int64_t, SvdVectors, std::complex<float>*,
                             std::complex<float>*, std::complex<float>*);
template bool DecomposeBySvd(const std::complex<double>*, int64_t, int64_t, SvdVectors, std::complex<double>*,
                             std::complex<double>*, std::complex<double>*);

}  // namespace weir
