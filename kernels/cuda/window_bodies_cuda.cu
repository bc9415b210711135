// The bodies of window_table.inc for CUDA.
#include "kernels/cuda/run_bodies_cuda.h"
#include "kernels/cuda/window_bodies.h"
// Needs what is above.
#include "kernels/cuda/window_table.inc"

namespace weir {

BodyTable CudaWindowBodies() { return TableOf(kWindowEntries); }

}  // namespace weir
