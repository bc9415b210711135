// Gradients kept within bounds, with the formulas and names of TensorFlow.
#pragma once

#include <functional>
#include <vector>

#include "client/optimizer.h"
#include "client/scope.h"

namespace weir {

// Each element, between `least` and `most`.
Output ClipByValue(const Scope& scope, const Output& t, const Input& least, const Input& most);
// t, or t * clip_norm / norm where its L2 norm is larger; over `axes`, or over all where there are none.
Output ClipByNorm(const Scope& scope, const Output& t, const Input& clip_norm, const std::vector<int32_t>& axes = {});
// The same for the norm divided by the number of elements.
Output ClipByAverageNorm(const Scope& scope, const Output& t, const Input& clip_norm);

// The L2 norm of all of them together. Of a sparse gradient the values count.
Output GlobalNorm(const Scope& scope, const std::vector<GradientAndVariable>& gradients);
// All scaled by clip_norm / max(global norm, clip_norm). Where the norm is not finite, all become NaN.
struct ClippedGradients {
  std::vector<GradientAndVariable> gradients;
  Output global_norm;
};
ClippedGradients ClipByGlobalNorm(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                  const Input& clip_norm);

// Applies `clip` to each gradient, beside its variable; to the values of a sparse one.
std::vector<GradientAndVariable> ClipEach(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                          const std::function<Output(const Scope& scope, const Output& t)>& clip);

}  // namespace weir
