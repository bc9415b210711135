// The bodies of device.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/reduction/device.inc"

namespace weir {

BodyTable CudaFoldBodies() { return TableOf(kFoldEntries); }

}  // namespace weir
