#include "kernels/softmax/family.h"

namespace weir {

OpFamily SoftmaxFamily() {
  return {
      .name = "softmax",
      .kernels = {RegisterSoftmaxKernels},
  };
}

}  // namespace weir
