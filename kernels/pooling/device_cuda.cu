// The bodies of device.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/pooling/device.h"
// Needs what is above.
#include "kernels/pooling/device.inc"

namespace weir {

BodyTable CudaPoolingBodies() { return TableOf(kPoolingEntries); }

}  // namespace weir
