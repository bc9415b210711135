// The bodies of device_order.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/reduction/device_order.h"
// Needs what is above.
#include "kernels/reduction/device_order.inc"

namespace weir {

BodyTable CudaOrderBodies() { return TableOf(kOrderEntries); }

}  // namespace weir
