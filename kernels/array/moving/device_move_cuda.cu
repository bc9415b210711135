// The bodies of device_move.inc for CUDA.
#include "kernels/array/moving/device_move.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/array/moving/device_move.inc"

namespace weir {

BodyTable CudaMoveBodies() { return TableOf(kMoveEntries); }

}  // namespace weir
