#include "kernels/fusion/family.h"

namespace weir {

OpFamily FusionFamily() {
  return {
      .name = "fusion",
      .ops = {RegisterFusionOps},
      .kernels = {RegisterGpuFusedKernels},
  };
}

}  // namespace weir
