#include "kernels/dealing/family.h"

namespace weir {

OpFamily DealingFamily() {
  return {
      .name = "dealing",
      .ops = {RegisterDealingOps},
      .kernels = {RegisterDealerKernels, RegisterDealtIteratorKernels},
      .gradients = {RegisterDealingNotDifferentiable},
  };
}

}  // namespace weir
