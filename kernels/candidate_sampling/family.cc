#include "kernels/candidate_sampling/family.h"

namespace weir {

OpFamily CandidateSamplingFamily() {
  return {
      .name = "candidate_sampling",
      .ops = {RegisterCandidateSamplerOps},
      .kernels = {RegisterCandidateSamplerKernels},
      .gradients = {RegisterCandidateSamplingNotDifferentiable},
  };
}

}  // namespace weir
