// Shapes known before execution, for sharding rules.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "graph/shapes/shape_refiner.h"
#include "graph/spmd/op_rule.h"

namespace weir::spmd {

class StaticShapes {
 public:
  // Nodes in `fed` get other values than they compute.
  StaticShapes(ShapeRefiner shapes, absl::flat_hash_set<std::string> fed)
      : shapes_(std::move(shapes)), fed_(std::move(fed)) {}

  // The shape of a tensor, or of a variable given its handle; false if it is unknown.
  bool Find(const Node& node, int output, TensorShape* shape) const;
  // The same if only the rank is known; unknown dimensions are 0.
  bool FindRank(const Node& node, int output, TensorShape* shape) const;
  // The shape of an input, like FindRank; an empty shape if it is unknown.
  TensorShape OfInput(const Node& node, int input) const;
  // 0 if it is unknown.
  int RankOf(const Node& node, int output) const;
  // False if a shape is unknown, other than the number of rows that a scatter updates.
  bool Describe(const Node& node, RuleContext* context) const;

 private:
  PartialTensorShape Known(const Node& node, int output) const;

  const ShapeRefiner shapes_;
  const absl::flat_hash_set<std::string> fed_;
};

}  // namespace weir::spmd
