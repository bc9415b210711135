// Replaces a fused op by the ops that it consists of.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/output.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

// New nodes beside `node`, on its device. The first one takes the node's name, so that errors name a node that the
// client knows, and its control inputs; others are named "<name>/<op>". The first error is kept: outputs are then
// invalid, and Finish returns it.
class FusedExpansion {
 public:
  FusedExpansion(Node* node, Graph* graph);

  const tensorflow::NodeDef& def() const { return node_->def(); }
  int num_inputs() const { return node_->num_inputs(); }
  Output Input(int i);
  // Zero or empty, recording an error, if the node has no such attribute.
  template <typename V>
  V Attr(absl::string_view name);

  // A node of `op` with the listed attributes copied.
  tensorflow::NodeDef Op(absl::string_view op, std::initializer_list<absl::string_view> copied = {}) const;
  Output Add(tensorflow::NodeDef def, const std::vector<InputList>& inputs);
  Output Add(absl::string_view op, const std::vector<InputList>& inputs) { return Add(Op(op), inputs); }
  // Records `error` with the node's name and op prepended.
  Output Fail(absl::Status error);

  // Redirects consumers of output i of the node to results[i], and removes the node.
  absl::Status Finish(const std::vector<Output>& results);

 private:
  Node* const node_;
  Graph* const graph_;
  const std::string name_;
  Node* first_ = nullptr;
  absl::Status status_;
};

}  // namespace weir
