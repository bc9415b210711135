// The bodies of device.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/normalization/device.h"
// Needs what is above.
#include "kernels/normalization/device.inc"

namespace weir {

BodyTable CudaNormBodies() { return TableOf(kNormEntries); }

}  // namespace weir
