#include "kernels/fusion/family.h"

namespace weir {

OpFamily FusionFamily() {
  return {
      .name = "fusion",
      .ops = {RegisterFusedOps, RegisterOptimizerOps},
      .kernels = {RegisterGpuFusedKernels},
  };
}

}  // namespace weir
