// Gradient functions.
#pragma once

#include "core/status.h"
#include "graph/functions/function_body.h"

namespace tensorflow {
class NameAttrList;
}

namespace weir {

// The function that SymbolicGradient[f = function] computes: from the arguments of `function` and the gradients of its
// results to the gradients of its arguments (zeros where none arrives). Uses the library's gradient of the function if
// there is one, otherwise back-propagation through the body. `function` may also name an op.
absl::StatusOr<FunctionBody> InstantiateGradient(const tensorflow::NameAttrList& function, const OpRegistry& ops,
                                                 const FunctionLibrary& library);

}  // namespace weir
