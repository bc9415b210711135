// Which types of a graph's nodes become 16-bit floats.
#pragma once

#include <functional>
#include <vector>

#include "graph/passes/mixed_precision_lists.h"
#include "graph/passes/type_view.h"

namespace weir {

// By TensorFlow's rules (its auto_mixed_precision): what is on the allow list is painted; so is what lies between two
// of them or computes with what they give and is not dangerous, and what only moves values next to them. Danger flows
// from ops of the deny list to what computes with their results.
class MixedPrecisionPainter {
 public:
  struct Options {
    MixedPrecisionSettings::Level level = MixedPrecisionSettings::Level::kDefault;
    const MixedPrecisionLists* lists = nullptr;
    // Whether the pass may change the node at all: it is on the device in question, and nobody asks for it by name.
    std::function<bool(const Node&)> may_change;
    // Whether there is a kernel for the node with another type in the slot.
    std::function<bool(const TypeView::Slot&)> has_kernel;
  };

  // Both outlive the painter. `view` gains edges: from what writes into a list of tensors to what reads from it.
  MixedPrecisionPainter(Options options, TypeView* view);

  // By slot. Nothing is painted where no op of the allow list is.
  std::vector<bool> Paint();

 private:
  using Marks = std::vector<bool>;

  bool On(const MixedPrecisionLists::Ops& list, int slot) const { return list.contains(view_.slot(slot).node->op()); }
  bool MayChange(int slot) const { return may_change_[view_.slot(slot).node->id()]; }
  bool IsConvertible(int slot) const;

  void FindTensorLists();
  bool PaintAllowList();
  void SpreadDanger();
  void PaintBetween();
  void PaintBehind();
  void PaintThroughClear();
  void TakeBackQuantized();
  void MatchTensorLists();
  void MatchLoops();
  void PaintCasts();

  // The slot of the type of the elements, for an op on lists of float tensors; -1 for others.
  int ListElement(const Node& node) const;
  bool ReadsReferenceVariable(const Node& node) const;

  const Options options_;
  const MixedPrecisionLists& lists_;
  TypeView& view_;
  std::vector<bool> may_change_;  // by node id
  Marks painted_, dangerous_;
  std::vector<std::vector<int>> tensor_lists_;  // element slots of the ops that share a list, one entry for each list
};

}  // namespace weir
