// Singular values of matrices of complex numbers.
#include <complex>

#include "kernels/linalg/svd_bodies.h"

namespace weir {

template void DecomposeBySvd(const std::complex<float>*, int64_t, int64_t, SvdVectors, std::complex<float>*,
                             std::complex<float>*, std::complex<float>*);
template void DecomposeBySvd(const std::complex<double>*, int64_t, int64_t, SvdVectors, std::complex<double>*,
                             std::complex<double>*, std::complex<double>*);

}  // namespace weir
