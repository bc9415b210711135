// Replaces a node by several.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/output.h"

namespace tensorflow {
class NameAttrList;
}

namespace weir {

// Adds nodes named "<node>/<role>" on the node's requested device, not yet placed; Finish replaces the node by them.
// Until then the graph's other nodes are unchanged, and Abandon removes the added ones.
class NodeReplacement {
 public:
  NodeReplacement(Node* node, Graph* graph) : node_(node), graph_(graph) {}

  Node* node() const { return node_; }
  Graph* graph() const { return graph_; }
  // The tensor at input i of the node; InvalidArgument if it is not connected.
  absl::StatusOr<Output> Input(int i) const;

  // Attributes that follow from the inputs are filled in. `device`: nullptr for that of the node.
  absl::StatusOr<Output> Add(absl::string_view role, tensorflow::NodeDef def, const std::vector<InputList>& inputs,
                             const std::string* device = nullptr);
  absl::StatusOr<Output> AddOp(absl::string_view role, absl::string_view op, const std::vector<InputList>& inputs,
                               const std::string* device = nullptr);
  // A call of `function` with outputs `results`.
  absl::StatusOr<Node*> AddCall(absl::string_view role, const tensorflow::NameAttrList& function,
                                const std::vector<Output>& args, const DataTypeVector& results);
  // Converts a value of any type to bool: `value` itself, or ToBool.
  absl::StatusOr<Output> AddTruth(absl::string_view role, const Output& value);
  // Makes `waiting` wait for the node's control inputs.
  void InheritControl(Node* waiting);

  // Redirects consumers of output i to results[i]. A node with the name and outputs of the replaced one stays for
  // references by name; control successors of the old node wait for it, and it waits for `effects`.
  absl::Status Finish(const std::vector<Output>& results, const std::vector<Node*>& effects);
  void Abandon();

 private:
  Node* const node_;
  Graph* const graph_;
  std::vector<Node*> added_;
};

}  // namespace weir
