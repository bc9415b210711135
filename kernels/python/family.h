// Ops that call functions in the Python of the session's client.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily PythonFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterPythonOps(OpRegistry& ops);
absl::Status RegisterPythonNotDifferentiable(OpRegistry& ops);
absl::Status RegisterPythonKernels(KernelRegistry& kernels);

}  // namespace weir
