// Singular values and vectors, in the precision of the elements.
//
// Vectors are unique up to a sign, or a phase, for each pair. TensorFlow's signs are Eigen's:
//  - fewer than 16 columns: those of two-sided Jacobi rotations after a pivoted QR; real matrices do the same here;
//  - else: divide and conquer gives each left vector of the bidiagonal form a negative element in the row where the
//    form is split. Here LAPACK's vectors are turned to that.
#pragma once

#include <cstdint>

namespace weir {

enum class SvdVectors { kNone, kThin, kFull };

// Of a finite matrix with elements, all row-major: min(rows, columns) values, the largest first, and `u` and `v` if
// requested. False if the iteration does not converge.
template <typename Scalar>
bool DecomposeBySvd(const Scalar* matrix, int64_t rows, int64_t columns, SvdVectors vectors, Scalar* values, Scalar* u,
                    Scalar* v);

// The same for real matrices, by Jacobi rotations: accurate, and fast while matrices are small.
template <typename Real>
bool DecomposeByJacobiSvd(const Real* matrix, int64_t rows, int64_t columns, SvdVectors vectors, Real* values, Real* u,
                          Real* v);

}  // namespace weir
