// Names of variables that have moved to another task.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace weir {

// A variable, by what graphs call it, wherever it is.
struct StateKey {
  std::string device;     // where graphs place it: "/job:ps/replica:0/task:0/device:CPU:0"
  std::string container;  // "localhost" is the default one
  std::string name;

  // The task of the device; empty if that is malformed.
  std::string task() const;
  friend bool operator==(const StateKey&, const StateKey&) = default;
  friend bool operator<(const StateKey& a, const StateKey& b) {
    return std::tie(a.device, a.container, a.name) < std::tie(b.device, b.container, b.name);
  }
  template <typename H>
  friend H AbslHashValue(H h, const StateKey& key) {
    return H::combine(std::move(h), key.device, key.container, key.name);
  }
};

// The container that has the variable on another task than graphs say, for example "localhost@ps/0/CPU/0":
// variables of two tasks may have one name.
std::string ContainerAway(const StateKey& key);
// The inverse; nullopt for a container of a task's own. `name` is the variable's.
std::optional<StateKey> KeyOfContainerAway(absl::string_view container, absl::string_view name);

// The variable that the node (VarHandleOp, VariableV2) gives access to, on the device that it is assigned to; nullopt:
// it is no such node, or the variable has no name.
std::optional<StateKey> StateKeyOf(const Node& node);

// As StateKeyOf, also for tables and embedding tables: state that a standby keeps a copy of.
std::optional<StateKey> ReplicatedKeyOf(const Node& node);

// The container in which a task keeps the state, as its home or as a standby.
std::string ContainerOn(const StateKey& key, absl::string_view task);

}  // namespace weir
