// Dropout, and penalties on weights.
#pragma once

#include <vector>

#include "client/ops/op_scope.h"
#include "client/variables.h"
#include "core/api.h"

namespace weir {
namespace WEIR_API layers {

// Zeroes each element with probability `rate` and scales the others by 1 / (1 - rate). The same seed draws the same
// elements in every session; 0 draws others in each.
Output Dropout(const OpScope& scope, const Output& x, double rate, int64_t seed = 0);

struct DropoutOptions {
  bool training = true;  // otherwise x itself is returned
  int64_t seed = 0;
  // Of the random numbers, dimensions of size 1 being shared: {-1, 1, 1, -1} drops whole channels of images. -1 stands
  // for x's own size. Empty: each element has its own.
  std::vector<int32_t> noise_shape = {};
};
Output Dropout(const OpScope& scope, const Output& x, double rate, const DropoutOptions& options);

// l1 Σ|w| + l2 Σw² over all elements: a term of a loss.
Output WeightPenalty(const OpScope& scope, const std::vector<ResourceVariable>& weights, double l1, double l2);

}  // namespace layers
}  // namespace weir
