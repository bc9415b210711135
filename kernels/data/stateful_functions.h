// Ops with state in the functions of datasets.
#pragma once

#include <string>

#include "kernels/data/dataset_kernel.h"

namespace weir {

// The first op with state in the functions of this node, or in those that they call; empty if there is none. Functions
// on a path of branches and loops are searched where they are called.
std::string StatefulOp(const tensorflow::NodeDef& node, const FunctionRuntime& functions);

// Whether a dataset must call its functions one by one, in the order of its elements: in a deterministic graph, if they
// have state, such as random ops.
bool CallsInOrder(const NodeInputs& inputs);

}  // namespace weir
