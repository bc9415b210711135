// Control loops make sends and receives inside of a loop run once per iteration on devices other than the condition's.
#pragma once

#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/status.h"
#include "graph/control_flow.h"
#include "graph/graph.h"

namespace weir {

// Triggers[{frame, device}] is the node that runs once in each iteration of `frame` on `device`.
class ControlLoops {
 public:
  using LocationFn = std::function<std::string(const Node&)>;

  // Adds to `graph` a control loop for each frame and device that sends or receives a value inside of that frame, and
  // extends `info` to the nodes it adds.
  static absl::StatusOr<ControlLoops> Add(const LocationFn& location, Graph* graph, ControlFlowInfo* info);

  // nullptr for the root frame, and if the device sends and receives nothing in that frame.
  Node* Trigger(int frame, absl::string_view device) const;

 private:
  absl::flat_hash_map<std::pair<int, std::string>, Node*> triggers_;
};

}  // namespace weir
