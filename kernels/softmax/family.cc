#include "kernels/softmax/family.h"

namespace weir {

OpFamily SoftmaxFamily() {
  return {
      .name = "softmax",
      .ops = {RegisterSoftmaxOps},
      .kernels = {RegisterSoftmaxKernels, RegisterGpuSoftmaxKernels},
      .gradients = {RegisterSoftmaxGradients},
  };
}

}  // namespace weir
