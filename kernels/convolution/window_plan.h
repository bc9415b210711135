// From a window's dimension to what a GPU's kernels are given of it.
#pragma once

#include "kernels/convolution/device.h"
#include "kernels/convolution/window.h"

namespace weir {

WindowPlan PlanOf(const WindowDim& dim);

}  // namespace weir
