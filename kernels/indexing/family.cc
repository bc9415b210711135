#include "kernels/indexing/family.h"

namespace weir {

OpFamily IndexingFamily() {
  return {
      .name = "indexing",
      .ops = {RegisterIndexingOps},
      .kernels = {RegisterGatherKernels, RegisterPartitionKernels, RegisterScatterKernels, RegisterUniqueKernels,
                  RegisterWhereKernel, RegisterGpuGatherKernels, RegisterGpuScatterKernels, RegisterGpuStitchKernels,
                  RegisterGpuWhereKernels},
      .gradients = {RegisterIndexingNotDifferentiable, RegisterIndexingGradients},
  };
}

}  // namespace weir
