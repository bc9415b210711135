// The gradient of a while loop: a loop that runs its iterations backwards.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/gradients/gradient_workspace.h"
#include "graph/gradients/loop_structure.h"

namespace weir {

class RegionGradients;

// Counts the iterations of the forward loop, and adds a loop that runs as often. Its variables are the gradients of the
// forward loop's variables, from the last iteration to the first, and the sums of the gradients of what the loop only
// reads. What an iteration's gradient needs of the forward iteration is appended to a tensor list, a further variable
// of the forward loop, and taken from its end here: all this has gradients itself.
//
// Only adds nodes: the forward loop computes what it did, so that a graph that has run already may be extended.
class LoopGradient {
 public:
  // The forward loop is entered from `parent`; its gradient is computed in `backward_parent`.
  LoopGradient(GradientWorkspace* workspace, const LoopStructure& loop, int parent, int backward_parent);

  void SetExitGradient(const Node* exit, const Gradient& gradient) { exit_gradients_[exit] = gradient; }
  absl::Status Build();
  // d(loss)/d(the value that `enter` brings into the loop), after Build.
  Gradient EnterGradient(const Node* enter) const;

 private:
  // A value that each iteration hands to the next.
  struct Cycle {
    Output merge, body;  // the value in every round, and where the loop goes on
    Operation exit;
  };
  absl::Status AddForwardCounter();
  absl::Status AddBackwardCounter();
  absl::Status AddBody();
  absl::StatusOr<Output> FirstGradient(const LoopVariable& variable);
  absl::StatusOr<Output> NextGradient(RegionGradients& body, const LoopVariable& variable);
  absl::Status AddSum(Node* enter, const Gradient& gradient);

  absl::StatusOr<Output> AddEnter(const Output& value, bool backward, bool constant);
  // Enter, Merge and Switch; Close adds the way back.
  absl::StatusOr<Cycle> OpenCycle(const Output& first, bool backward, const Output& condition);
  absl::Status Close(const Cycle& cycle, const Output& next);

  // Replaces what the body takes from the forward loop by what was saved of it.
  absl::Status ConnectBody(int first_id);
  bool ReadsShape(const Node& node) const;
  absl::StatusOr<Output> Saved(const Output& forward);
  absl::StatusOr<Output> SaveInList(const Output& forward);
  // What `forward` depends on inside its frame, outermost first, as `backward` sees it or as it is.
  absl::StatusOr<std::vector<BranchContexts::Branch>> BranchesOf(const Output& forward, bool backward);
  // What a node without inputs waits for, where it is to run as often as the forward loop is entered.
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
