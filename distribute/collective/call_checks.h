// Checks and descriptions of calls, shared by all Collective backends.
#pragma once

#include <string>

#include "distribute/collective/collective.h"
#include "distribute/collective/topology.h"

namespace weir {

bool Reduces(CollectiveKind kind);
// InvalidArgument for counts, roots, permutations and algorithms that do not fit the topology, Unimplemented for object
// types.
absl::Status CheckCall(const CollectiveCall& call, const Topology& topology);
// What members must agree on besides type and shape: "all-reduce Add / 2".
std::string DescribeCall(const CollectiveCall& call);

}  // namespace weir
