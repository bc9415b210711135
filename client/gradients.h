// Gradients of what a scope has built.
#pragma once

#include <vector>

#include "client/scope.h"
#include "core/api.h"
#include "graph/gradients/gradient_builder.h"

namespace WEIR_API weir {

// d(sum of ys)/d(x) for each x; see AddGradients. An error is recorded in the scope, and the result is empty.
std::vector<Gradient> Gradients(const Scope& scope, const std::vector<Output>& ys, const std::vector<Output>& xs,
                                GradientOptions options = {});

}  // namespace weir
