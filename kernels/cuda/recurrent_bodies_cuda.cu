// The bodies of recurrent_table.inc for CUDA.
#include "kernels/cuda/recurrent_bodies.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/cuda/recurrent_table.inc"

namespace weir {

BodyTable CudaRecurrentBodies() { return TableOf(kRecurrentEntries); }

}  // namespace weir
