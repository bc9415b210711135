// The bodies of device_volume.inc for CUDA.
#include "kernels/convolution/device_volume.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/convolution/device_volume.inc"

namespace weir {

BodyTable CudaVolumeConvolutionBodies() { return TableOf(kVolumeConvolutionEntries); }

}  // namespace weir
