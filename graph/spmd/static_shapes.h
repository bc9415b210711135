// What rules may know of a graph's tensors before it runs.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "graph/shape_refiner.h"
#include "graph/spmd/op_rule.h"

namespace weir::spmd {

class StaticShapes {
 public:
  // Nodes in `fed` get other values than they compute.
  StaticShapes(ShapeRefiner shapes, absl::flat_hash_set<std::string> fed)
      : shapes_(std::move(shapes)), fed_(std::move(fed)) {}

  // Of a tensor, or of what a variable's handle stands for; false where it is not known.
  bool Find(const Node& node, int output, TensorShape* shape) const;
  // The same where only the rank is known; dimensions that are not are 0.
  bool FindRank(const Node& node, int output, TensorShape* shape) const;
  // Of what the node gets, as FindRank; an empty shape where it is not known.
  TensorShape OfInput(const Node& node, int input) const;
  // 0 where it is not known.
  int RankOf(const Node& node, int output) const;
  // False where a shape is not known, other than the number of rows that a scatter updates.
  bool Describe(const Node& node, RuleContext* context) const;

 private:
  PartialTensorShape Known(const Node& node, int output) const;

  const ShapeRefiner shapes_;
  const absl::flat_hash_set<std::string> fed_;
};

}  // namespace weir::spmd
