#include "kernels/ops/numeric_families.h"

namespace weir {

absl::Status RegisterNumericOps(OpRegistry& ops) {
  for (auto* family : {
           &RegisterSpaceBatchOps,
           &RegisterBandOps,
           &RegisterCountingOps,
           &RegisterSpecialOps,
           &RegisterRandomDistributionOps,
           &RegisterDecompositionOps,
           &RegisterVolumeOps,
           &RegisterQuantizationOps,
           &RegisterCandidateSamplerOps,
           &RegisterRecurrentOps,
           &RegisterCudnnRnnOps,
           &RegisterFourierOps,
           &RegisterImageOps,
           &RegisterImageFileOps,
           &RegisterImageRegionOps,
           &RegisterRuntimeInfoOps,
           &RegisterFusedOps,
       }) {
    RETURN_IF_ERROR((*family)(ops));
  }
  return absl::OkStatus();
}

}  // namespace weir
