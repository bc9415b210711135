// The bodies of random_table.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/random/device.h"
#include "kernels/random/philox_functions.h"
// Needs what is above.
#include "kernels/random/device.inc"

namespace weir {

BodyTable CudaRandomBodies() { return TableOf(kRandomEntries); }

}  // namespace weir
