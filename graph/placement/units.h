// The units of a graph: nodes whose device a placer may decide together.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/kernel_registry.h"
#include "graph/graph.h"
#include "graph/placement/cluster_costs.h"
#include "graph/placement/groups.h"

namespace weir {

struct PlacementUnit {
  std::vector<int> groups;
  std::vector<int> candidates;  // devices, the given one first if it is among them; never empty
  int given = 0;                // the device of its first group so far
  bool is_open = false;         // it has several candidates
};

struct PlacementUnits {
  std::vector<PlacementUnit> units;
  std::vector<int> unit_of_group;  // -1: it has no device of `costs`
};

struct UnitOptions {
  const KernelRegistry* kernels = nullptr;
  const ClusterCosts* costs = nullptr;
};

// `given` is the device of each node, by id, in a complete placement; an empty name: it could not be placed. Units are
// groups, joined where one follows another:
// - a constant follows its only consumer;
// - all groups of a loop are one unit.
// Groups with state other than a variable keep their given device. So do placeholders, whose values come from the
// client, stateful calls of functions, and nodes that take or make strings (names of files, say) or variants.
PlacementUnits FindUnits(const UnitOptions& options, const Graph& graph, const PlacementGroups& groups,
                         const std::vector<std::string>& given);

// "VarHandleOp", "VariableV2" and "Variable".
bool HoldsVariable(const Node& node);

}  // namespace weir
