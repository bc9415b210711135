// Gradients of sparse, ragged and composite tensors.
#pragma once

#include "core/status.h"

namespace weir {

class GradientRegistry;

absl::Status RegisterSparseGradients(GradientRegistry& registry);
absl::Status RegisterCsrGradients(GradientRegistry& registry);
absl::Status RegisterRaggedGradients(GradientRegistry& registry);

}  // namespace weir
