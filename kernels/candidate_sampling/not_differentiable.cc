// The ops of this family through which no gradient flows.
#include "kernels/candidate_sampling/family.h"

namespace weir {

absl::Status RegisterCandidateSamplingNotDifferentiable(OpRegistry& ops) {
  for (const char* op : {"AllCandidateSampler", "ComputeAccidentalHits", "FixedUnigramCandidateSampler",
                         "LearnedUnigramCandidateSampler", "LogUniformCandidateSampler",
                         "ThreadUnsafeUnigramCandidateSampler", "UniformCandidateSampler"}) {
    RETURN_IF_ERROR(ops.RegisterNotDifferentiable(op));
  }
  return absl::OkStatus();
}

}  // namespace weir
