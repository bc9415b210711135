// From a window's dimension to what a GPU's kernels are given of it.
#pragma once

#include "core/window.h"
#include "kernels/cuda/window_bodies.h"

namespace weir {

WindowPlan PlanOf(const WindowDim& dim);

}  // namespace weir
