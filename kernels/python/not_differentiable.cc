// The ops of this family through which no gradient flows.
#include "kernels/python/family.h"

namespace weir {

absl::Status RegisterPythonNotDifferentiable(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.RegisterNotDifferentiable("PyFunc"));
  return ops.RegisterNotDifferentiable("PyFuncStateless");
}

}  // namespace weir
