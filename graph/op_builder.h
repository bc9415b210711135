// Adds an op to a graph, given its inputs.
#pragma once

#include <vector>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/output.h"

namespace weir {

// Adds the node `def` (op, unique name, device and any attributes) with `inputs`, one list per argument of the op.
// Attributes that follow from the inputs (T, N, lists of types) are filled in; constant inputs become Const nodes named
// "<node>/<argument>" on its device. The node runs after `control`. InvalidArgument names the node and the argument
// that does not match.
absl::StatusOr<Operation> AddOperation(Graph* graph, tensorflow::NodeDef def, const std::vector<InputList>& inputs,
                                       const std::vector<Node*>& control = {});

}  // namespace weir
