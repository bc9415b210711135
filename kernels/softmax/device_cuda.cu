// The bodies of device.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/softmax/device.h"
// Needs what is above.
#include "kernels/softmax/device.inc"

namespace weir {

BodyTable CudaSoftmaxBodies() { return TableOf(kSoftmaxEntries); }

}  // namespace weir
