// Rewrites a GraphDef so that its variables become constants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace weir {

// Replaces each variable node by a constant with its value in `values`, by the variable's name, and what reads it by an
// op that takes the constant. Function calls and functional loops and branches keep their form: functions that get a
// variable as an argument are copied to functions that get its value. InvalidArgument names a node that writes a
// variable, or uses it in another way than reading; NotFound a variable without a value.
absl::Status FreezeVariables(const std::map<std::string, Tensor>& values, tensorflow::GraphDef* graph);

// Removes assignments to variables from what `init_op` runs before it, so that initialisers of tables stay. Returns
// whether anything but NoOps stays.
bool RemoveVariableWrites(const std::string& init_op, tensorflow::GraphDef* graph);

}  // namespace weir
