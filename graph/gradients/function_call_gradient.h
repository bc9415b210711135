// Gradients of calls of functions that were not written out (graph/gradients/called_functions.h): by SymbolicGradient,
// which finds the gradient that the library has for the function. Without one it computes again what the call computed
// on its way: a call that may have effects, or draw random numbers, must not do so a second time.
#pragma once

#include <string>

#include "core/status.h"

namespace tensorflow {
class NameAttrList;
}

namespace weir {

class GradientContext;

// The gradient of an op that computes `function`: it has the function's inputs and outputs. UNIMPLEMENTED where a
// handle passes through the call.
absl::Status GradientByFunction(GradientContext& g, const tensorflow::NameAttrList& function);

// The gradient of an op that is the name of a function of the graph.
absl::Status FunctionCallGradient(GradientContext& g);

// UNIMPLEMENTED: a function that calls itself `why` has no gradient.
absl::Status CallHasNoGradient(const std::string& why);

}  // namespace weir
