// Windows as GPU kernels take them.
#pragma once

#include "kernels/convolution/args_volume.h"
#include "kernels/convolution/device_volume.h"

namespace weir {

WindowPlan PlanOf(const WindowDim& dim);
// Images and windows, without data; as many output channels as input channels.
VolumeArgs PlanOf(const VolumeShape& shape);

}  // namespace weir
