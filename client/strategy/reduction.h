// Sums and means of what replicas computed, within one graph.
#pragma once

#include <vector>

#include "client/scope.h"
#include "client/strategy/per_replica.h"
#include "graph/gradients/gradient_context.h"

namespace weir {

// The sum of `values`, divided by `divisor` for a mean.
Output ReduceValues(const Scope& scope, ReduceOp op, const OutputList& values, int divisor);

// The same of gradients, which are all dense or all sparse: rows of sparse ones are listed one after the other.
Gradient ReduceGradients(const Scope& scope, ReduceOp op, const std::vector<Gradient>& parts, int divisor);

}  // namespace weir
