// Back-propagation: adds to a graph the ops that compute the gradients of some of its outputs.
#pragma once

#include <string>
#include <vector>

#include "core/api.h"
#include "core/status.h"
#include "graph/gradients/gradient.h"
#include "graph/output.h"

namespace WEIR_API weir {

class Graph;

struct GradientOptions {
  // d(loss)/d(y) for each y; defaults to ones of its shape.
  std::vector<Output> grad_ys;
  // Gradients do not flow through these.
  std::vector<Output> stop_gradients;
  std::string name_scope = "gradients";
  // Converts sparse gradients to dense ones.
  bool dense = false;
};

// d(sum of ys)/d(x) for each x, like tf.gradients: applies the chain rule along every path and sums contributions with
// AddN.
// - Goes through while loops (Enter/Exit/NextIteration; intermediate values are kept in tensor lists) and conditionals
//   (Switch/Merge).
// - Function calls on the path, including If and While, are inlined first. The calling nodes then forward the results,
//   and a session that already ran them as calls can no longer be extended.
// - An x that no y depends on gets an invalid Gradient.
// - InvalidArgument names an op on the path without a gradient; Unimplemented one whose gradient is not supported.
absl::StatusOr<std::vector<Gradient>> AddGradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                                   const GradientOptions& options, Graph* graph);

}  // namespace weir
