// Detects recursive functions.
#pragma once

#include <string>

#include "absl/container/flat_hash_set.h"
#include "graph/function_library.h"

namespace weir {

// Every function on a call cycle, and those on a path between two cycles. Calls by attribute (If, While, a gradient)
// count.
absl::flat_hash_set<std::string> RecursiveFunctions(const FunctionLibrary& library);

}  // namespace weir
