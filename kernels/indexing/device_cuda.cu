// The bodies of device.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/indexing/device.h"
// Needs what is above.
#include "kernels/indexing/device.inc"

namespace weir {

BodyTable CudaScatterBodies() { return TableOf(kScatterEntries); }

}  // namespace weir
