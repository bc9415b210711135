#include "kernels/softmax/softmax_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/device/parallel.h"
#include "kernels/device/target_clones.h"
#include "kernels/device/vector_math.h"

namespace weir {
namespace {

constexpr int kLanes = 32;

template <typename C>
C MaxOf(const C* x, int64_t n) {
  C lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<C>::infinity());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
  }
  for (; i < n; ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] = std::max(lanes[lane], lanes[lane + width]);
  }
  return lanes[0];
}

template <typename C>
C SumOf(const C* x, int64_t n) {
  C lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane];
  }
  for (; i < n; ++i) lanes[0] += x[i];
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

template <typename C>
C Shifted(const C* x, C* out, int64_t n, C* max) {
  *max = MaxOf(x, n);
  Exponentials(x, *max, out, n);
  return SumOf(out, n);
}

}  // namespace

WEIR_TARGET_CLONES void Exponentials(const float* x, float shift, float* out, int64_t n) {
  WEIR_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) out[i] = vector_math::Exp(x[i] - shift);
}
void Exponentials(const double* x, double shift, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = std::exp(x[i] - shift);
}

float ShiftedExponentials(const float* x, float* out, int64_t n, float* max) { return Shifted(x, out, n, max); }
double ShiftedExponentials(const double* x, double* out, int64_t n, double* max) { return Shifted(x, out, n, max); }

}  // namespace weir
