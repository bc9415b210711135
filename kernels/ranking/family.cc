#include "kernels/ranking/family.h"

namespace weir {

OpFamily RankingFamily() {
  return {
      .name = "ranking",
      .ops = {RegisterSearchOps},
      .kernels = {RegisterApproxTopKKernels, RegisterTopKKernels},
      .gradients = {RegisterRankingNotDifferentiable, RegisterRankingGradients},
  };
}

}  // namespace weir
