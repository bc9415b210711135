// While loops in the graph.
#pragma once

#include <functional>
#include <string>

#include "client/scope.h"
#include "core/api.h"

namespace WEIR_API weir {

struct WhileLoopOptions {
  int64_t parallel_iterations = 10;  // the maximum number of concurrent iterations
  std::string name = "while";
};

using LoopCondition = std::function<Output(const Scope& scope, const OutputList& loop_vars)>;
using LoopBody = std::function<OutputList(const Scope& scope, const OutputList& loop_vars)>;

// Repeats `body` while `condition` holds. Loops nest, and gradients flow through them (see Gradients).
// - Both functions are called once, to build their ops with the given scope. The body returns the next values of the
//   loop variables, with the same types.
// - Other values of the graph that they use are loop-invariant; control inputs run before the loop.
// - Returns the final values. An error is recorded in the scope, and the result is empty.
//
//   OutputList last = WhileLoop(root, {i, x},
//       [&](const Scope& s, const OutputList& v) { return ops::Less(s, v[0], 10); },
//       [&](const Scope& s, const OutputList& v) { return OutputList{ops::AddV2(s, v[0], 1), ops::Mul(s, v[1], z)}; });
OutputList WhileLoop(const Scope& scope, const OutputList& loop_vars, const LoopCondition& condition,
                     const LoopBody& body, const WhileLoopOptions& options = {});

}  // namespace weir
