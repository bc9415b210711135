// Cuts a GraphDef to the nodes and functions that some of its nodes need.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace tensorflow {
class GraphDef;
}

namespace weir {

// Removes the nodes and functions that none of `roots`, names of nodes, needs. NotFound names a root, or the input of a
// node, that is not in the graph.
absl::Status KeepNeededNodes(const std::vector<std::string>& roots, tensorflow::GraphDef* graph);

// "x" for the tensor "x:0".
std::string NodeOfTensor(const std::string& tensor);

// Removes devices and colocations from all nodes, also in functions.
void ClearDevices(tensorflow::GraphDef* graph);

}  // namespace weir
