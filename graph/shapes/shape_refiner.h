// Shape inference over a whole graph.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/shapes/integer_values.h"
#include "graph/shapes/shape_inference.h"

namespace weir {

struct ShapeOptions {
  // The shapes of the _Arg nodes of a function's body, by index; unknown beyond the end.
  std::vector<PartialTensorShape> arg_shapes;
  std::vector<InferenceContext::HandleData> arg_handles;
  // Whether inconsistent shapes of a node are an error. If not, its outputs are unknown and its kernel will fail.
  bool strict = true;
};

// The known output shapes of each node. Update nodes in topological order (InferShapes does); nodes that were not
// updated are unknown. Refers to `graph`'s nodes by id; not thread-safe.
class ShapeRefiner {
 public:
  explicit ShapeRefiner(ShapeOptions options = {}) : options_(std::move(options)) {}

  // Infers the outputs of `node`. An error names node, op and input shapes.
  absl::Status Update(const Node& node);

  const PartialTensorShape& shape(const Node& node, int output) const;
  const InferenceContext::HandleData& handle(const Node& node, int output) const;
  // The value if it is a small constant; otherwise nullptr.
  const Tensor* constant(const Node& node, int output) const;

 private:
  friend absl::StatusOr<ShapeRefiner> InferShapes(const Graph& graph, ShapeOptions options);

  struct Output {
    PartialTensorShape shape;
    InferenceContext::HandleData handle;
    std::optional<Tensor> constant;
    std::optional<IntegerValue> integers;
  };

  std::vector<Output>& OutputsOf(const Node& node);
  const Output* Find(const Edge* edge) const;
  absl::Status RunShapeFunction(const Node& node, std::vector<Output>* outputs);
  void UpdateMerge(const Node& node, std::vector<Output>* outputs);
  void UpdateArg(const Node& node, std::vector<Output>* outputs);
  void UpdateValues(const Node& node, std::vector<Output>* outputs);
  void UseHints(const Node& node, std::vector<Output>* outputs);
  bool Widen(const Node& node, bool give_up);

  ShapeOptions options_;
  std::vector<std::vector<Output>> outputs_;  // by node id
};

// Infers every node of the graph. The output of a loop's Merge covers its first value and all later ones.
absl::StatusOr<ShapeRefiner> InferShapes(const Graph& graph, ShapeOptions options = {});

// Inputs before users, ignoring edges from NextIteration to Merge. Omits nodes of an illegal cycle.
std::vector<Node*> TopologicalOrder(const Graph& graph);

}  // namespace weir
