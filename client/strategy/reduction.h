// Sums and means over replicas of one graph.
#pragma once

#include <vector>

#include "client/scope.h"
#include "client/strategy/per_replica.h"
#include "graph/gradients/gradient.h"

namespace weir {

// The sum of `values`, divided by `divisor` for a mean.
Output ReduceValues(const Scope& scope, ReduceOp op, const OutputList& values, int divisor);

// The same for gradients, which are all dense or all sparse: rows of sparse ones are concatenated.
Gradient ReduceGradients(const Scope& scope, ReduceOp op, const std::vector<Gradient>& parts, int divisor);

}  // namespace weir
