// Softmax over one row, in the type of the computation.
#pragma once

#include <cstdint>

namespace weir {

// Sets out = exp(x - max), where max is the largest of the n elements or -inf, and returns the sum of out. `out` may be
// x. NaN is never the maximum. NaN and infinities make the sum NaN.
float ShiftedExponentials(const float* x, float* out, int64_t n, float* max);
double ShiftedExponentials(const double* x, double* out, int64_t n, double* max);

// out = exp(x - shift); `out` may be x.
void Exponentials(const float* x, float shift, float* out, int64_t n);
void Exponentials(const double* x, double shift, double* out, int64_t n);

// `out` may be x.
template <typename C>
void SoftmaxRow(const C* x, C* out, int64_t n) {
  C max;
  const C scale = C{1} / ShiftedExponentials(x, out, n, &max);
  for (int64_t i = 0; i < n; ++i) out[i] *= scale;
}

}  // namespace weir
