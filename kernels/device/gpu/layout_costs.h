// Measures the costs of layouts on a task's GPUs for the layout pass.
#pragma once

#include <memory>
#include <vector>

#include "core/device/device.h"
#include "graph/passes/layout.h"

namespace weir {

// Convolutions and batch normalisation of training steps cost what the plans of their device have measured
// (kernels/device/plans), transpositions what their bytes cost at half the memory's stated speed. What no library
// computes, such as pooling and biases, counts as the same in both formats. Nothing is known of other tasks' devices.
// The devices outlive it.
std::unique_ptr<LayoutCosts> MeasuredLayoutCosts(const std::vector<Device*>& devices);

}  // namespace weir
