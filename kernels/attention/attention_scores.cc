#include "kernels/attention/attention_scores.h"

#include "kernels/device/parallel.h"
#include "kernels/device/target_clones.h"

namespace weir {
namespace {

WEIR_TARGET_CLONES void Scale(float* x, float scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}
WEIR_TARGET_CLONES void ScaleAndAdd(float* x, float scale, const float* mask, int64_t n) {
  WEIR_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * scale + mask[i];
}
WEIR_TARGET_CLONES void ScaleAndAddOne(float* x, float scale, float mask, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * scale + mask;
}

}  // namespace

void ScaleAndMask(float* x, float scale, const float* mask, int64_t step, int64_t n) {
  if (mask == nullptr) return Scale(x, scale, n);
  if (step == 0) return ScaleAndAddOne(x, scale, *mask, n);
  ScaleAndAdd(x, scale, mask, n);
}

int64_t BeginOf(int64_t item, const DimVector& batch, const DimVector& steps) {
  int64_t at = 0;
  for (int d = static_cast<int>(batch.size()) - 1; d >= 0; --d) {
    at += item % batch[d] * steps[d];
    item /= batch[d];
  }
  return at;
}

}  // namespace weir
