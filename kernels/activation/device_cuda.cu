// The bodies of device.inc for CUDA.
#include "kernels/activation/device.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/activation/device.inc"

namespace weir {

BodyTable CudaActivationBodies() { return TableOf(kActivationEntries); }

}  // namespace weir
