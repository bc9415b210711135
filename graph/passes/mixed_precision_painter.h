// Selects the types of a graph's nodes that become 16-bit floats.
#pragma once

#include <functional>
#include <vector>

#include "graph/passes/mixed_precision_lists.h"
#include "graph/passes/type_view.h"

namespace weir {

// Implements the rules of TensorFlow's auto_mixed_precision. Ops on the allow list are painted, and so are safe ops
// between them or that compute with their results, and adjacent ops that only move values. Ops of the deny list make
// computations with their results unsafe.
class MixedPrecisionPainter {
 public:
  struct Options {
    MixedPrecisionSettings::Level level = MixedPrecisionSettings::Level::kDefault;
    const MixedPrecisionLists* lists = nullptr;
    // Whether the pass may change the node: it is on the right kind of device, and is not fetched, fed or a target.
    std::function<bool(const Node&)> may_change;
    // Whether there is a kernel for the node with another type in the slot.
    std::function<bool(const TypeView::Slot&)> has_kernel;
  };

  // Both outlive the painter. Adds edges to `view`: from writers to readers of tensor lists.
  MixedPrecisionPainter(Options options, TypeView* view);

  // By slot. Paints nothing if there is no op of the allow list.
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

  // The slot of the element type of an op on lists of float tensors; -1 for other ops.
  int ListElement(const Node& node) const;
  bool ReadsReferenceVariable(const Node& node) const;

  const Options options_;
  const MixedPrecisionLists& lists_;
  TypeView& view_;
  std::vector<bool> may_change_;  // by node id
  Marks painted_, dangerous_;
  std::vector<std::vector<int>> tensor_lists_;  // per list, the element slots of the ops that share it
};

}  // namespace weir
