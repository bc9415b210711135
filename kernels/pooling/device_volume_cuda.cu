// The bodies of device_volume.inc for CUDA.
#include "kernels/convolution/device_volume.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/pooling/device_volume.inc"

namespace weir {

BodyTable CudaVolumePoolingBodies() { return TableOf(kVolumePoolingEntries); }

}  // namespace weir
