// The bodies of update_table.inc for CUDA.
#include "kernels/cpu/training_rules.h"
#include "kernels/cuda/run_bodies_cuda.h"
#include "kernels/cuda/update_bodies.h"
// Needs what is above.
#include "kernels/cuda/update_table.inc"

namespace weir {

BodyTable CudaUpdateBodies() { return TableOf(kUpdateEntries); }

}  // namespace weir
