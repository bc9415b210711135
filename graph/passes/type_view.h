// A graph of the types of a graph's tensors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/tensor/types.h"
#include "graph/graph.h"

namespace weir {

// A slot is one type of a node that can be changed: a type attribute, or one entry of a list of types. All inputs and
// outputs that use it change with it. A type that the op fixes is a slot too, without an attribute. Slots are connected
// if a tensor of the one is read as the other.
//
// A snapshot: later changes of the graph are not reflected.
class TypeView {
 public:
  struct Slot {
    Node* node = nullptr;
    std::string attr;  // empty: the op fixes the type
    int index = -1;    // in a list of types; -1 if it is not a list
    DataType type = DT_INVALID;
  };

  explicit TypeView(const Graph& graph);

  int size() const { return static_cast<int>(slots_.size()); }
  const Slot& slot(int i) const { return slots_[i]; }
  // The slots of one node.
  const std::vector<int>& SlotsOf(const Node& node) const { return nodes_[node.id()].all; }
  int InputSlot(const Node& node, int input) const { return nodes_[node.id()].inputs[input]; }
  int OutputSlot(const Node& node, int output) const { return nodes_[node.id()].outputs[output]; }
  // -1 if there is none.
  int Find(const Node& node, absl::string_view attr) const;

  // The slots whose tensors slot i reads, and those that read its tensors; each once.
  const std::vector<int>& before(int i) const { return before_[i]; }
  const std::vector<int>& after(int i) const { return after_[i]; }
  // Connects two slots as if a tensor of `from` were read as `to`.
  void Join(int from, int to);

 private:
  struct NodeSlots {
    std::vector<int> inputs, outputs, all;
  };
  void AddNode(Node* node);

  std::vector<Slot> slots_;
  std::vector<std::vector<int>> before_, after_;
  std::vector<NodeSlots> nodes_;  // by id
};

// Sets the type of the slot, which must have an attribute.
void SetSlotType(const TypeView::Slot& slot, DataType type, tensorflow::NodeDef* def);

}  // namespace weir
