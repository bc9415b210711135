// Graph passes: rewrites that preserve results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "graph/graph.h"

namespace weir {

// Runs one stateless node on the given inputs and returns its outputs. On an error (no kernel, or the kernel failed)
// the node is left for the step to run.
using Evaluator = std::function<absl::StatusOr<std::vector<Tensor>>(const tensorflow::NodeDef& node,
                                                                    absl::Span<const Tensor> inputs)>;

// The constraints of a pass.
struct PassContext {
  // Tensors ("x:0", "x") that a step replaces: a pass must not assume their node's value.
  std::vector<std::string> feeds;
  // Tensors and nodes that a step uses: they keep their names and results.
  std::vector<std::string> fetches, targets;
  // Empty: no folding.
  Evaluator evaluate;
  // The maximum size of new constants.
  int64_t max_constant_bytes = 10 << 20;

  // The names of nodes in `fetches`, `targets` and `feeds`.
  absl::flat_hash_set<std::string> KeptNodes() const;
  absl::flat_hash_set<std::string> FedNodes() const;
};

// Stateless: one object may run on many graphs concurrently.
class Pass {
 public:
  virtual ~Pass() = default;
  virtual absl::string_view name() const = 0;
  // Adds the number of changes to `changes`. An error leaves the graph valid.
  virtual absl::Status Run(const PassContext& context, Graph* graph, int* changes) const = 0;
};

}  // namespace weir
