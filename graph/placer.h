// Chooses a device for every node.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/device_name.h"
#include "core/kernel_registry.h"
#include "core/status.h"
#include "graph/graph.h"

namespace weir {

struct PlacerOptions {
  // Full names, the preferred ones first: where the client's constraints leave a choice, the first device that has the
  // kernels is taken (the session's own task stands first, its GPUs before its CPUs).
  std::vector<DeviceName> devices;
  const KernelRegistry* kernels = nullptr;
  // A node whose requested device is not there, or has no kernel for it, goes to another device of the task that it
  // asked for instead of failing.
  bool allow_soft_placement = false;
  // Told of each node that soft placement put on a device of another type than it asked for; may be null.
  std::function<void(const Node& node, absl::string_view asked, const DeviceName& chosen)> moved;
};

// Sets the assigned device of every node that has none; nodes placed before stay. Nodes that must share a device (the
// attribute _class "loc:@name", reference edges, resource edges other than those into function calls, and the Merge of
// a loop variable with what it merges) are placed as one group. A group without constraints of its own, that only makes
// a value for one other group (a constant, say), goes where its consumer is. Nodes that take a variant
// and ask for no type of device go where it was made, if they can: its tensors lie there. A call of a function goes to
// a GPU only where it asks for one: what it computes is placed when it is written out.
//
// Nodes that cannot be placed stay unassigned and are listed in the result by name, each with the reason: whether that
// matters depends on which of them a step needs.
absl::flat_hash_map<std::string, absl::Status> PlaceGraph(const PlacerOptions& options, Graph* graph);

}  // namespace weir
