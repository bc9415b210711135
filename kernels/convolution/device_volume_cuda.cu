// Bodies for volumes, compiled for CUDA.
#include "kernels/convolution/device_volume.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/convolution/device_volume.inc"

namespace weir {

BodyTable CudaVolumeBodies() { return TableOf(kVolumeEntries); }

}  // namespace weir
