// Gradients of numerical, image and neural-network ops beyond the core ones.
#pragma once

#include "core/status.h"

namespace weir {

class GradientRegistry;

absl::Status RegisterBandGradients(GradientRegistry& registry);
absl::Status RegisterSpecialGradients(GradientRegistry& registry);
absl::Status RegisterDecompositionGradients(GradientRegistry& registry);
absl::Status RegisterVolumeGradients(GradientRegistry& registry);
absl::Status RegisterImageGradients(GradientRegistry& registry);
absl::Status RegisterPatchGradients(GradientRegistry& registry);
absl::Status RegisterColorGradients(GradientRegistry& registry);
absl::Status RegisterSpectralGradients(GradientRegistry& registry);
absl::Status RegisterTridiagonalGradients(GradientRegistry& registry);
absl::Status RegisterBatchNormGradients(GradientRegistry& registry);
absl::Status RegisterEinsumGradients(GradientRegistry& registry);
absl::Status RegisterFourierGradients(GradientRegistry& registry);

}  // namespace weir
