#include "kernels/ctc/family.h"

namespace weir {

OpFamily CtcFamily() {
  return {
      .name = "ctc",
      .ops = {RegisterCtcOps},
      .kernels = {RegisterCtcKernels, RegisterCtcBeamKernels},
      .gradients = {RegisterCtcNotDifferentiable, RegisterCtcGradients},
  };
}

}  // namespace weir
