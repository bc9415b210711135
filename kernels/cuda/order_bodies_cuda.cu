// The bodies of order_table.inc for CUDA.
#include <cstring>

#include "kernels/cuda/order_bodies.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/elementwise/binary_functors.h"
// Needs what is above.
#include "kernels/cuda/order_table.inc"

namespace weir {

BodyTable CudaOrderBodies() { return TableOf(kOrderEntries); }

}  // namespace weir
