// The ancestors of a node, for tests of ordering.
#pragma once

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"

namespace weir {

// All nodes that `node` depends on, through data and control edges.
inline absl::flat_hash_set<const Node*> Ancestors(const Node* node) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> open = {node};
  while (!open.empty()) {
    const Node* next = open.back();
    open.pop_back();
    for (const Edge* edge : next->in_edges()) {
      if (seen.insert(edge->src).second) open.push_back(edge->src);
    }
  }
  return seen;
}

}  // namespace weir
