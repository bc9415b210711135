#include "kernels/indexing/family.h"

namespace weir {

OpFamily IndexingFamily() {
  return {
      .name = "indexing",
      .ops = {RegisterIndexingOps},
      .kernels = {RegisterGatherKernels, RegisterPartitionKernels, RegisterScatterKernels, RegisterUniqueKernels,
                  RegisterWhereKernel, RegisterGpuGatherKernels, RegisterGpuPartitionKernels, RegisterGpuScatterKernels,
                  RegisterGpuStitchKernels, RegisterGpuWhereKernels},
      .gradients = {RegisterIndexingGradients, RegisterIndexingNotDifferentiable},
  };
}

}  // namespace weir
