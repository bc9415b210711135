// The gradient of a while loop: a loop over its iterations in reverse order.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/gradients/gradient_workspace.h"
#include "graph/gradients/loop_structure.h"

namespace weir {

class RegionGradients;

// Counts the iterations of the forward loop and adds a loop with as many. Its variables are the gradients of the
// forward loop's variables, and sums of the gradients of loop-invariant values. Forward values that an iteration's
// gradient needs are pushed to a tensor list, an additional variable of the forward loop, and popped here. All of this
// is differentiable itself.
//
// Only adds nodes: the forward loop computes what it did before, so a graph that has already run may be extended.
class LoopGradient {
 public:
  // The forward loop is entered from `parent`; its gradient is computed in `backward_parent`.
  LoopGradient(GradientWorkspace* workspace, const LoopStructure& loop, int parent, int backward_parent);

  void SetExitGradient(const Node* exit, const Gradient& gradient) { exit_gradients_[exit] = gradient; }
  absl::Status Build();
  // d(loss)/d(the value that `enter` passes into the loop), after Build.
  Gradient EnterGradient(const Node* enter) const;

 private:
  // A loop variable under construction.
  struct Cycle {
    Output merge, body;  // the value in each iteration, and in its body
    Operation exit;
  };
  absl::Status AddForwardCounter();
  absl::Status AddBackwardCounter();
  absl::Status AddBody();
  absl::StatusOr<Output> FirstGradient(const LoopVariable& variable);
  absl::StatusOr<Output> NextGradient(RegionGradients& body, const LoopVariable& variable);
  absl::Status AddSum(Node* enter, const Gradient& gradient);

  absl::StatusOr<Output> AddEnter(const Output& value, bool backward, bool constant);
  // Adds Enter, Merge and Switch; Close adds the back edge.
  absl::StatusOr<Cycle> OpenCycle(const Output& first, bool backward, const Output& condition);
  absl::Status Close(const Cycle& cycle, const Output& next);

  // Replaces the body's reads of the forward loop by saved values.
  absl::Status ConnectBody(int first_id);
  bool ReadsShape(const Node& node) const;
  absl::StatusOr<Output> Saved(const Output& forward);
  absl::StatusOr<Output> SaveInList(const Output& forward);
  // The branches that `forward` depends on inside of its frame, outermost first, in the backward loop or the forward
  // one.
  absl::StatusOr<std::vector<BranchContexts::Branch>> BranchesOf(const Output& forward, bool backward);
  // Control inputs for a node without inputs, so that it runs each time the forward loop is entered.
  std::vector<Node*> AtEntry() const;

  GradientWorkspace& workspace_;
  const LoopStructure loop_;
  const int parent_, backward_parent_;
  int backward_frame_ = 0;
  std::string device_;
  Node* anchor_ = nullptr;  // runs when the forward loop is entered; nullptr: always
  Output forward_pivot_, backward_pivot_, backward_condition_;
  Output count_;
  absl::flat_hash_map<const Node*, Gradient> exit_gradients_, enter_gradients_;
  absl::flat_hash_map<Output, Output> saved_;
};

}  // namespace weir
