#include "kernels/segment/family.h"

namespace weir {

OpFamily SegmentFamily() {
  return {
      .name = "segment",
      .ops = {RegisterSegmentOps},
      .kernels = {RegisterSegmentKernels, RegisterGpuSegmentKernels},
      .gradients = {RegisterSegmentGradients},
  };
}

}  // namespace weir
