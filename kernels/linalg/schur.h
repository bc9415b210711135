// Schur forms A = Q T Q^H of square matrices, from which eigenvalues and functions of matrices follow. The steps are
// those of EISPACK's comqr and hqr2, which Eigen follows too: vectors have TensorFlow's order and phases.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/linalg/lapack.h"

namespace weir {

// Reduces a column-major n x n matrix to Hessenberg form, zero below the first subdiagonal; q as below.
template <typename Scalar>
void ToHessenberg(int64_t n, Scalar* t, Scalar* q) {
  std::vector<Scalar> tau(n);
  lapack::Gehrd(n, t, n, tau.data());
  if (q != nullptr) {
    std::copy_n(t, n * n, q);
    lapack::Unghr(n, q, n, tau.data());
  }
  for (int64_t j = 0; j + 2 < n; ++j) std::fill(t + j * n + j + 2, t + (j + 1) * n, Scalar(0));
}

// Turns a finite column-major n x n matrix into upper triangular T, and fills q, n x n, unless it is null. False if the
// iteration does not converge.
template <typename Real>
bool ToComplexSchurForm(int64_t n, std::complex<Real>* t, std::complex<Real>* q);

// The same with real numbers: T has blocks of two on its diagonal for pairs of conjugate eigenvalues.
template <typename Real>
bool ToRealSchurForm(int64_t n, Real* t, Real* q);

}  // namespace weir
