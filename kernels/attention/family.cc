#include "kernels/attention/family.h"

namespace weir {

OpFamily AttentionFamily() {
  return {
      .name = "attention",
      .ops = {RegisterAttentionOps},
      .kernels = {RegisterAttentionKernels, RegisterAttentionGradientKernels, RegisterGpuAttentionKernels,
                  RegisterGpuAttentionGradientKernels},
  };
}

}  // namespace weir
