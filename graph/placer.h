// Places nodes on devices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/device/device_name.h"
#include "core/kernel/kernel_registry.h"
#include "core/status.h"
#include "graph/graph.h"

namespace weir {

struct PlacerOptions {
  // Full names, in order of preference: if constraints leave a choice, the first device with the kernels is used (the
  // session's own task comes first, its GPUs before its CPUs).
  std::vector<DeviceName> devices;
  const KernelRegistry* kernels = nullptr;
  // If a node's requested device does not exist or has no kernel for it, use another device of the requested task
  // instead of failing.
  bool allow_soft_placement = false;
  // Called for each node that soft placement put on another device type than requested; may be null.
  std::function<void(const Node& node, absl::string_view asked, const DeviceName& chosen)> moved;
};

// Sets the assigned device of every node that has none; already placed nodes stay.
// - Nodes that must share a device are placed as one group: nodes with the attribute _class "loc:@name", reference
//   edges, resource edges other than those into function calls, and a loop variable's Merge with its inputs.
// - An unconstrained group that only produces a value for one other group (a constant, say) follows its consumer.
// - Nodes that take a variant and request no device type follow its producer if possible, because its tensors are
//   there.
// - A function call is placed on a GPU only on request: its body is placed when it is inlined.
// - Nodes that cannot be placed stay unassigned and are returned by name with the reason: whether that matters depends
//   on which nodes a step needs.
absl::flat_hash_map<std::string, absl::Status> PlaceGraph(const PlacerOptions& options, Graph* graph);

}  // namespace weir
