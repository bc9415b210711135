// The bodies of norm_table.inc for CUDA.
#include "kernels/cuda/norm_bodies.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/cuda/norm_table.inc"

namespace weir {

BodyTable CudaNormBodies() { return TableOf(kNormEntries); }

}  // namespace weir
