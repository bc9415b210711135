// What svd_real.cc and svd_complex.cc compile.
#pragma once

#include <Eigen/SVD>
#include <algorithm>

#include "kernels/linalg/svd.h"

namespace weir {

template <typename Scalar>
void DecomposeBySvd(const Scalar* matrix, int64_t rows, int64_t columns, SvdVectors vectors, Scalar* values, Scalar* u,
                    Scalar* v) {
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const int64_t inner = std::min(rows, columns);
  const bool full = vectors == SvdVectors::kFull;
  const unsigned int options = vectors == SvdVectors::kNone ? 0
                               : full                       ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                                            : Eigen::ComputeThinU | Eigen::ComputeThinV;
  const Eigen::BDCSVD<Matrix> svd(Eigen::Map<const Matrix>(matrix, rows, columns), options);
  for (int64_t i = 0; i < inner; ++i) values[i] = Scalar(svd.singularValues()(i));
  if (vectors == SvdVectors::kNone) return;
  Eigen::Map<Matrix>(u, rows, full ? rows : inner) = svd.matrixU();
  Eigen::Map<Matrix>(v, columns, full ? columns : inner) = svd.matrixV();
}

}  // namespace weir
