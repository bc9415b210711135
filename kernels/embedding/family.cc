#include "kernels/embedding/family.h"

namespace weir {

OpFamily EmbeddingFamily() {
  return {
      .name = "embedding",
      .ops = {RegisterEmbeddingOps},
      .kernels = {RegisterEmbeddingMapKernels, RegisterEmbeddingMoveKernels, RegisterEmbeddingPartitionKernels,
                  RegisterEmbeddingPullStatusKernel, RegisterEmbeddingKernels, RegisterEmbeddingTransferKernels,
                  RegisterEmbeddingUpdateKernels},
      .gradients = {RegisterEmbeddingNotDifferentiable},
  };
}

}  // namespace weir
