#include "kernels/collective/family.h"

namespace weir {

OpFamily CollectiveFamily() {
  return {
      .name = "collective",
      .ops = {RegisterCollectiveOps},
      .kernels = {RegisterCollectiveKernels, RegisterCommunicatorKernels},
  };
}

}  // namespace weir
