// The bodies of math_table.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/reduction/device.inc"

namespace weir {

BodyTable CudaMathBodies() { return TableOf(kMathEntries); }

}  // namespace weir
