// The conditions under which each value of a graph exists.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/control_flow.h"
#include "graph/output.h"

namespace weir {

// A chain of conditional branches, innermost first, within one loop frame: Switch nodes open them, Merge nodes close
// them. Context 0 is the empty chain: the value always exists. Graph and info outlive it. Nodes may be added, but a
// node's inputs must not change after it was queried.
class BranchContexts {
 public:
  BranchContexts(const Graph* graph, const ControlFlowInfo* info) : graph_(graph), info_(info) {}

  struct Branch {
    Output predicate;
    int taken = 0;     // the Switch's output
    int branches = 2;  // number of outputs
  };
  int Of(const Output& value);
  int CommonAncestor(int a, int b) const;
  // The branches below `ancestor` down to `context`, outermost first.
  std::vector<Branch> Path(int ancestor, int context) const;

 private:
  struct Context {
    int parent = 0, depth = 0;
    Branch branch;
  };
  static constexpr int kPending = -1;

  int OfNode(const Node* node);
  int Combine(const Node& node);
  std::vector<const Edge*> Sources(const Node& node) const;
  int OfEdge(const Edge& edge);
  int Child(int parent, const Branch& branch);

  const Graph* const graph_;
  const ControlFlowInfo* const info_;
  std::vector<Context> contexts_{Context()};
  absl::flat_hash_map<std::pair<int, std::pair<Output, int>>, int> children_;
  absl::flat_hash_map<const Node*, int> of_node_;
};

}  // namespace weir
