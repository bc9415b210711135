// Nodes that must share a device.
#pragma once

#include <optional>
#include <vector>

#include "core/device/device_name.h"
#include "core/kernel/kernel_registry.h"
#include "core/status.h"
#include "graph/graph.h"

namespace weir {

struct PlacementGroup {
  std::vector<Node*> members;       // in order of their ids
  DeviceName request;               // merged over the members
  std::optional<DeviceName> fixed;  // a member is already placed
  absl::Status error;               // why the group cannot be placed
};

struct PlacementGroups {
  std::vector<PlacementGroup> groups;  // in order of their first members
  std::vector<int> group_of;           // by node id; -1: no such node
};

// The groups of all nodes: those with the attribute _class "loc:@name", those that reference edges join, those that
// resource edges join other than into function calls, and a loop variable's Merge with its inputs.
PlacementGroups ColocateNodes(const Graph& graph, bool allow_soft_placement);

// Whether the node calls a function. Calls may take resources from other devices: the body is partitioned again where
// it runs.
bool IsFunctionCall(const Node& node);

// Whether the group's request allows the device. Calls go to a GPU only on request: their bodies are placed when they
// are inlined.
bool Admits(const PlacementGroup& group, const DeviceName& device);

// Whether the device's type has a kernel for the node, or needs none.
bool HasKernelOn(const KernelRegistry& kernels, const Node& node, const DeviceName& device);
bool HasKernelsOn(const KernelRegistry& kernels, const PlacementGroup& group, const DeviceName& device);

// The group that produces the first variant that group `index` reads, if all of the group can handle variants on any
// type of device; -1: none. Ignores loop back edges and calls, which do not determine where their results are produced.
int MakerOfVariants(const PlacementGroups& groups, int index);

// The group that takes the only output of group `index`, a single unconstrained node without inputs, such as a
// constant; -1: it is not of that kind.
int SoleConsumer(const PlacementGroups& groups, int index);

}  // namespace weir
