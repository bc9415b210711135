// Gradients of function calls that were not inlined (graph/gradients/called_functions.h), by SymbolicGradient, which
// uses the library's gradient for the function. Without one it recomputes the call's intermediate values, so the call
// must be stateless.
#pragma once

#include <string>

#include "core/status.h"

namespace tensorflow {
class NameAttrList;
}

namespace weir {

class GradientContext;

// The gradient of an op that computes `function`, whose inputs and outputs are the function's. UNIMPLEMENTED if a
// handle passes through the call.
absl::Status GradientByFunction(GradientContext& g, const tensorflow::NameAttrList& function);

// The gradient of an op whose name is a function of the graph.
absl::Status FunctionCallGradient(GradientContext& g);

// UNIMPLEMENTED: a function that calls itself `why` has no gradient.
absl::Status CallHasNoGradient(const std::string& why);

}  // namespace weir
