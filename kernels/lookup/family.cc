#include "kernels/lookup/family.h"

namespace weir {

OpFamily LookupFamily() {
  return {
      .name = "lookup",
      .ops = {RegisterLookupOps},
      .kernels = {RegisterLookupKernels, RegisterTableInitializers, RegisterTableMakers},
      .gradients = {RegisterLookupNotDifferentiable},
  };
}

}  // namespace weir
