// Where parameter servers' variables go.
#pragma once

#include <string>
#include <vector>

#include "client/strategy/strategy_variables.h"

namespace weir {

enum class PlaceVariables {
  kRoundRobin,      // in turn
  kBalancedByBytes  // each where the fewest bytes are so far
};

// Spreads variables over `devices`, which are full names of one job. One that the model puts on a task of that job
// stays there, and counts; a slot stays beside its variable.
VariablePlacement SpreadVariables(PlaceVariables how, std::vector<std::string> devices);

}  // namespace weir
