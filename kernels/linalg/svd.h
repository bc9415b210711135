// Singular values and their vectors. Vectors are unique but for signs and phases; Eigen's algorithm, in the type of the
// elements, gives those that TensorFlow's programs know. It takes long to compile: a file for real elements, one for
// complex ones.
#pragma once

#include <cstdint>

namespace weir {

enum class SvdVectors { kNone, kThin, kFull };

// Of a finite matrix with elements, all row-major: min(rows, columns) values, the largest first; `u` and `v` where
// asked for.
template <typename Scalar>
void DecomposeBySvd(const Scalar* matrix, int64_t rows, int64_t columns, SvdVectors vectors, Scalar* values, Scalar* u,
                    Scalar* v);

}  // namespace weir
