// The bodies of device.inc and device_gradient.inc for CUDA.
#include "kernels/attention/device.h"
#include "kernels/attention/device_gradient.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Need what is above.
#include "kernels/attention/device_gradient.inc"
//
#include "kernels/attention/device.inc"

namespace weir {

BodyTable CudaAttentionBodies() { return TableOf(kAttentionEntries); }

}  // namespace weir
