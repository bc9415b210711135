// Back-propagation within one loop frame.
#pragma once

#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/gradients/gradient_workspace.h"

namespace weir {

// The nodes of one frame (0: outside of loops), with each inner loop as one unit. Gradients are computed in
// `backward_frame`: the frame itself, or its backward loop.
class RegionGradients {
 public:
  RegionGradients(GradientWorkspace* workspace, int frame, int backward_frame);

  // Adds d(loss)/d(output); call before Run.
  void Seed(const Output& output, const Gradient& gradient) { gradients_[output].push_back(gradient); }
  absl::Status Run(const std::vector<Output>& seeded);
  // The sum of all gradients of `output`: sparse ones are concatenated, mixed ones made dense.
  absl::StatusOr<Gradient> Sum(const Output& output);

 private:
  static constexpr int kOutside = -1;

  // A node's id; for a node of an inner loop num_ids_ plus the loop's frame; kOutside for nodes that are not in this
  // frame.
  int UnitOf(const Node& node) const;
  bool Connects(const Edge& edge) const;  // a gradient flows back along it, within the region
  void CountPending();
  void Enqueue(int unit);

  absl::Status Visit(int unit);
  absl::Status VisitNode(Node* node);
  absl::Status VisitLoop(int frame);
  void Deliver(const Edge& edge, const Gradient& gradient);

  absl::StatusOr<std::vector<Gradient>> Differentiate(Node* node, std::vector<Gradient> grad_outputs);
  absl::StatusOr<std::vector<Gradient>> DifferentiateMerge(Node* node, const Gradient& gradient);
  absl::StatusOr<std::vector<Gradient>> DifferentiateSwitch(Node* node, const std::vector<Gradient>& gradients);
  absl::StatusOr<Gradient> Concatenate(const std::vector<Gradient>& parts);
  absl::StatusOr<Gradient> AddUp(const std::vector<Gradient>& parts);

  GradientWorkspace& workspace_;
  const int frame_, backward_frame_;
  const int num_ids_;  // of the forward graph
  std::vector<int> units_;
  absl::flat_hash_map<int, int> pending_;
  absl::flat_hash_set<int> queued_;
  std::deque<int> ready_;
  absl::flat_hash_map<Output, std::vector<Gradient>> gradients_;
};

}  // namespace weir
