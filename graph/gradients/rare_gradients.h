#pragma once

#include "core/status.h"

namespace weir {

class GradientRegistry;

// Gradients of ops that few programs use.
absl::Status RegisterRareGradients(GradientRegistry& registry);

}  // namespace weir
