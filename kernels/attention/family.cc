#include "kernels/attention/family.h"

namespace weir {

OpFamily AttentionFamily() {
  return {
      .name = "attention",
      .kernels = {RegisterAttentionKernels, RegisterAttentionGradientKernels, RegisterGpuAttentionKernels,
                  RegisterGpuAttentionGradientKernels},
  };
}

}  // namespace weir
