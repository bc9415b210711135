// Families of numerical, image and neural-network ops beyond the core ones, one source file each.
#pragma once

#include "core/op_registry.h"
#include "core/status.h"

namespace weir {

// All of them.
absl::Status RegisterNumericOps(OpRegistry& ops);

absl::Status RegisterSpaceBatchOps(OpRegistry& ops);
absl::Status RegisterBandOps(OpRegistry& ops);
absl::Status RegisterCountingOps(OpRegistry& ops);
absl::Status RegisterSpecialOps(OpRegistry& ops);
absl::Status RegisterRandomDistributionOps(OpRegistry& ops);
absl::Status RegisterDecompositionOps(OpRegistry& ops);
absl::Status RegisterVolumeOps(OpRegistry& ops);
absl::Status RegisterQuantizationOps(OpRegistry& ops);
absl::Status RegisterFourierOps(OpRegistry& ops);
absl::Status RegisterImageOps(OpRegistry& ops);
absl::Status RegisterImageFileOps(OpRegistry& ops);
absl::Status RegisterImageRegionOps(OpRegistry& ops);
absl::Status RegisterCandidateSamplerOps(OpRegistry& ops);
absl::Status RegisterRecurrentOps(OpRegistry& ops);
absl::Status RegisterCudnnRnnOps(OpRegistry& ops);
absl::Status RegisterRuntimeInfoOps(OpRegistry& ops);
absl::Status RegisterFusedOps(OpRegistry& ops);

}  // namespace weir
