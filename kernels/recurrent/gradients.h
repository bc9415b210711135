// Gradients of einsum, of dilation, of fake quantisation and of blocks of recurrent steps.
#pragma once

#include "core/status.h"

namespace weir {

class GradientRegistry;

absl::Status RegisterCellGradients(GradientRegistry& registry);

}  // namespace weir
