// Shared state of one back-propagation.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/control_flow.h"
#include "graph/gradients/branch_contexts.h"
#include "graph/gradients/gradient_builder.h"
#include "graph/gradients/gradient_context.h"

namespace weir {

// The graph, the nodes on paths from the xs to the ys, and the loop frame of every node, new ones included.
class GradientWorkspace {
 public:
  GradientWorkspace(const GradientOptions& options, Graph* graph)
      : options_(options), graph_(graph), branches_(graph, &info_) {}

  absl::Status Init(const std::vector<Output>& ys, const std::vector<Output>& xs);

  const GradientOptions& options() const { return options_; }
  const std::string& run() const { return run_; }
  Graph* graph() const { return graph_; }
  ControlFlowInfo& info() { return info_; }
  BranchContexts& branches() { return branches_; }

  // Whether gradients flow along `edge`, and whether the node lies on a path from an x to a y.
  bool Flows(const Edge& edge) const;
  bool IsBetween(const Node& node) const {
    return node.id() < static_cast<int>(between_.size()) && between_[node.id()];
  }

  // Assigns nodes added since the last call to `frame`.
  void Claim(int frame) { info_.frame_of.resize(graph_->num_node_ids(), frame); }

  using AttrSetter = GradientContext::AttrSetter;
  absl::StatusOr<Output> AddOp(absl::string_view op, const std::vector<InputList>& inputs, const std::string& device,
                               const std::vector<AttrSetter>& attrs = {}, const std::vector<Node*>& controls = {});
  absl::StatusOr<Output> AddConstant(const Tensor& value, const std::string& device,
                                     const std::vector<Node*>& controls = {});
  // Passes on `value` if the branch is taken, nothing otherwise: output `branch.taken` of the result.
  absl::StatusOr<Operation> AddSwitch(const Output& value, const BranchContexts::Branch& branch,
                                      const std::string& device);
  // Zeros like `value`; for a variable's handle, like its content, of type `type`.
  absl::StatusOr<Output> Zeros(const Output& value, DataType type);
  // `gradient`, valid, as one tensor.
  absl::StatusOr<Output> Densify(const Gradient& gradient);

 private:
  void MarkBetween(const std::vector<Output>& ys, const std::vector<Output>& xs);
  // Inlines calls until none is left on the path, including those inside of inlined ones.
  absl::Status WriteOutCalls(const std::vector<Output>& ys, const std::vector<Output>& xs);

  const GradientOptions& options_;
  Graph* const graph_;
  std::string run_;  // see GradientContext::run
  ControlFlowInfo info_;
  BranchContexts branches_;
  absl::flat_hash_set<Output> stops_;
  std::vector<bool> between_;
};

}  // namespace weir
