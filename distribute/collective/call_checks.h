// What every backend of Collective asks of a call, and says of it.
#pragma once

#include <string>

#include "distribute/collective/collective.h"
#include "distribute/collective/topology.h"

namespace weir {

bool Reduces(CollectiveKind kind);
// InvalidArgument for counts, roots, permutations and algorithms that a group of that topology cannot have,
// Unimplemented for types that are objects.
absl::Status CheckCall(const CollectiveCall& call, const Topology& topology);
// What members must agree on beside type and shape: "all-reduce Add / 2".
std::string DescribeCall(const CollectiveCall& call);

}  // namespace weir
