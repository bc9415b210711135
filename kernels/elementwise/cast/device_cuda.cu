// The bodies of device.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/elementwise/cast/device.inc"

namespace weir {

BodyTable CudaCastBodies() { return TableOf(kCastEntries); }

}  // namespace weir
