#include "kernels/ranking/family.h"

namespace weir {

OpFamily RankingFamily() {
  return {
      .name = "ranking",
      .ops = {RegisterRankingOps},
      .kernels = {RegisterApproxTopKKernels, RegisterTopKKernels, RegisterGpuInTopKKernels, RegisterGpuTopKKernels},
      .gradients = {RegisterRankingNotDifferentiable, RegisterRankingGradients},
  };
}

}  // namespace weir
