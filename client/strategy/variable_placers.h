// Placement of variables on parameter servers.
#pragma once

#include <string>
#include <vector>

#include "client/strategy/strategy_variables.h"
#include "core/api.h"

namespace WEIR_API weir {

enum class PlaceVariables {
  kRoundRobin,      // in turn
  kBalancedByBytes  // where the fewest bytes are so far
};

// Spreads variables over `devices`, which are full names of one job. A variable that the model puts on a task of that
// job stays there, and is counted; a slot stays with its variable.
VariablePlacement SpreadVariables(PlaceVariables how, std::vector<std::string> devices);

}  // namespace weir
