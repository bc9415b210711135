// The share that two boxes have in common.
#pragma once

#include <algorithm>

namespace weir {

// Intersection over union. A box is two opposite corners (y, x, y, x).
inline float BoxOverlap(const float* a, const float* b) {
  const auto low = [](const float* box, int i) { return std::min(box[i], box[i + 2]); };
  const auto high = [](const float* box, int i) { return std::max(box[i], box[i + 2]); };
  const float area_a = (high(a, 0) - low(a, 0)) * (high(a, 1) - low(a, 1));
  const float area_b = (high(b, 0) - low(b, 0)) * (high(b, 1) - low(b, 1));
  if (area_a <= 0 || area_b <= 0) return 0;
  float common = 1;
  for (int i : {0, 1}) {
    common *= std::max(std::min(high(a, i), high(b, i)) - std::max(low(a, i), low(b, i)), 0.0f);
  }
  return common / (area_a + area_b - common);
}

}  // namespace weir
