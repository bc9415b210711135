// Singular values of matrices of real numbers.
#include "kernels/linalg/svd_bodies.h"

namespace weir {

template void DecomposeBySvd(const float*, int64_t, int64_t, SvdVectors, float*, float*, float*);
template void DecomposeBySvd(const double*, int64_t, int64_t, SvdVectors, double*, double*, double*);

}  // namespace weir
