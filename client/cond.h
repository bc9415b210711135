// Conditionals in the graph.
#pragma once

#include <functional>
#include <string>

#include "client/scope.h"
#include "core/api.h"

namespace WEIR_API weir {

using BranchFunction = std::function<OutputList(const Scope& scope)>;

// Returns what `if_true` returns if `predicate`, a bool scalar, is true, otherwise what `if_false` returns.
// Conditionals nest, and gradients flow through them (see Gradients).
// - Both functions are called once, to build their ops with the given scope; only the ops of the branch taken run.
//   Other ops of the graph that they use run before.
// - Both return the same number of values, of the same types.
// - An error is recorded in the scope, and the result is empty.
//
//   Output y = Cond(root, ops::Greater(root, x, 0), [&](const Scope& s) { return OutputList{ops::Log(s, x)}; },
//                   [&](const Scope& s) { return OutputList{ops::Neg(s, x)}; })[0];
OutputList Cond(const Scope& scope, const Output& predicate, const BranchFunction& if_true,
                const BranchFunction& if_false, const std::string& name = "cond");

}  // namespace weir
