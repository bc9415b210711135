// The bodies of move_table.inc for CUDA.
#include "kernels/cuda/move_bodies.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/cuda/move_table.inc"

namespace weir {

BodyTable CudaMoveBodies() { return TableOf(kMoveEntries); }

}  // namespace weir
