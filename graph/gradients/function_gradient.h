// The gradient of a function, as a function.
#pragma once

#include "core/status.h"
#include "graph/function_body.h"

namespace tensorflow {
class NameAttrList;
}

namespace weir {

// What SymbolicGradient[f = function] computes: from the arguments of `function` and the gradients at its results, the
// gradients at its arguments; zeros where none arrives. The library's own gradient of the function, where it has one;
// else back-propagation through the body. `function` may name an op too.
absl::StatusOr<FunctionBody> InstantiateGradient(const tensorflow::NameAttrList& function, const OpRegistry& ops,
                                                 const FunctionLibrary& library);

}  // namespace weir
