// The bodies of update_table.inc for CUDA.
#include "kernels/cpu/training_rules.h"
#include "kernels/cuda/update_bodies.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/cuda/update_table.inc"

namespace weir {

BodyTable CudaUpdateBodies() { return TableOf(kUpdateEntries); }

}  // namespace weir
