// Putting the ops that a fused op stands for in its place.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/output.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

// New nodes beside `node`, on its device. The first has the node's name, so that errors name a node that the client
// knows, and waits for what the node waited for; others are called "<name>/<op>". The first error is kept: outputs are
// then invalid, and Finish returns it.
class FusedExpansion {
 public:
  FusedExpansion(Node* node, Graph* graph);

  const tensorflow::NodeDef& def() const { return node_->def(); }
  int num_inputs() const { return node_->num_inputs(); }
  Output Input(int i);
  // Zero or empty, with the error kept, where the node has no such attribute.
  template <typename V>
  V Attr(absl::string_view name);

  // `op` with those of the node's attributes.
  tensorflow::NodeDef Op(absl::string_view op, std::initializer_list<absl::string_view> copied = {}) const;
  Output Add(tensorflow::NodeDef def, const std::vector<InputList>& inputs);
  Output Add(absl::string_view op, const std::vector<InputList>& inputs) { return Add(Op(op), inputs); }
  // `error`, with the node's name and op before it.
  Output Refuse(absl::Status error);

  // Who read output i of the node reads results[i]; it goes.
  absl::Status Finish(const std::vector<Output>& results);

 private:
  Node* const node_;
  Graph* const graph_;
  const std::string name_;
  Node* first_ = nullptr;
  absl::Status status_;
};

}  // namespace weir
