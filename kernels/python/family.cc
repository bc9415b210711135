#include "kernels/python/family.h"

namespace weir {

OpFamily PythonFamily() {
  return {
      .name = "python",
      .ops = {RegisterPythonOps},
      .kernels = {RegisterPythonKernels},
      .gradients = {RegisterPythonNotDifferentiable},
  };
}

}  // namespace weir
