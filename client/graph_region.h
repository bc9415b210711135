// The part of a graph that a function has added.
#pragma once

#include <functional>
#include <vector>

#include "client/scope.h"
#include "core/api.h"

namespace WEIR_API weir {

// The nodes with ids from `first` to `last`. Nodes below `outside_end` are outside; nodes in between connect them to
// the region. The graph and its nodes outlive it.
struct GraphRegion {
  Graph* graph = nullptr;
  int outside_end = 0, first = 0, last = 0;

  bool Contains(const Node& node) const;
  bool IsOutside(const Node& node) const;

  // Redirects every data edge from outside through `bring_in`, which adds nodes.
  using BringIn = std::function<absl::StatusOr<Output>(const Output& outside)>;
  absl::Status RerouteInputs(const BringIn& bring_in) const;
  // Redirects control edges from outside to `entries`.
  void MoveControlInputs(const std::vector<Node*>& entries) const;
  // Makes nodes without non-constant ancestors run after `pivot`: once per iteration, and not at all if `pivot` does
  // not run.
  void PinTo(Node* pivot) const;
};

}  // namespace weir
