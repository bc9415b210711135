// The bodies of device.inc for CUDA.
#include "kernels/convolution/device.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/convolution/device.inc"

namespace weir {

BodyTable CudaConvolutionBodies() { return TableOf(kConvolutionEntries); }

}  // namespace weir
