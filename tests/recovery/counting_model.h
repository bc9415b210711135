// A model that counts updates.
#pragma once

#include <map>
#include <string>

#include "client/strategy/strategy.h"

namespace weir {

// Has two variables, which parameter servers share. Gradient descent with the rate 1 subtracts 1 from all of their
// elements in each update.
Output CountingLoss(const ReplicaContext& replica, const OutputList& inputs);
// Whether `updates` changed both variables.
void ExpectCounts(const std::map<std::string, Tensor>& variables, int64_t updates);

}  // namespace weir
