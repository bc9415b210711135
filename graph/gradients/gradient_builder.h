// Back-propagation: adds to a graph the ops that compute the gradients of some of its outputs.
#pragma once

#include <vector>

#include "core/status.h"
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "graph/output.h"

namespace weir {

struct GradientOptions {
  // d(loss)/d(y) for each y; default ones of its shape.
  std::vector<Output> grad_ys;
  // Nothing flows back through these.
  std::vector<Output> stop_gradients;
  std::string name_scope = "gradients";
  // Sparse gradients are made dense.
  bool dense = false;
};

// d(sum of ys)/d(x) for each x, as TensorFlow's tf.gradients: the chain rule over every path, contributions added by
// AddN, through while loops (Enter/Exit/NextIteration, intermediate values kept in tensor lists) and conditionals
// (Switch/Merge). Calls of functions on the way, If and While too, are written out in the graph first: the nodes that
// called hand on the results, and a session that knew them as calls cannot be extended any more. An x that no y depends
// on gets an invalid Gradient. InvalidArgument names an op on the way that has no gradient; Unimplemented one whose
// gradient is not built.
absl::StatusOr<std::vector<Gradient>> AddGradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                                   const GradientOptions& options, Graph* graph);

}  // namespace weir
