// The bodies of device.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/recurrent/device.h"
// Needs what is above.
#include "kernels/recurrent/device.inc"

namespace weir {

BodyTable CudaRecurrentBodies() { return TableOf(kRecurrentEntries); }

}  // namespace weir
