#include "kernels/ranking/family.h"

namespace weir {

OpFamily RankingFamily() {
  return {
      .name = "ranking",
      .ops = {RegisterRankingOps},
      .kernels = {RegisterApproxTopKKernels, RegisterTopKKernels, RegisterGpuTopKKernels},
      .gradients = {RegisterRankingNotDifferentiable, RegisterRankingGradients},
  };
}

}  // namespace weir
