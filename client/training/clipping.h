// Gradient clipping, with TensorFlow's formulas and names.
#pragma once

#include <functional>
#include <vector>

#include "client/optimizer.h"
#include "client/scope.h"
#include "core/api.h"

namespace WEIR_API weir {

// Clips each element to [least, most].
Output ClipByValue(const Scope& scope, const Output& t, const Input& least, const Input& most);
// t, or t * clip_norm / norm if its L2 norm is larger; over `axes`, or over all if none are given.
Output ClipByNorm(const Scope& scope, const Output& t, const Input& clip_norm, const std::vector<int32_t>& axes = {});
// The same for the norm divided by the number of elements.
Output ClipByAverageNorm(const Scope& scope, const Output& t, const Input& clip_norm);

// The L2 norm of all gradients together; for sparse ones, of the values.
Output GlobalNorm(const Scope& scope, const std::vector<GradientAndVariable>& gradients);
// Scales all gradients by clip_norm / max(global norm, clip_norm). If the norm is not finite, all become NaN.
struct ClippedGradients {
  std::vector<GradientAndVariable> gradients;
  Output global_norm;
};
ClippedGradients ClipByGlobalNorm(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                  const Input& clip_norm);

// Applies `clip` to each gradient on its variable's device; for sparse ones, to the values.
std::vector<GradientAndVariable> ClipEach(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                          const std::function<Output(const Scope& scope, const Output& t)>& clip);

}  // namespace weir
