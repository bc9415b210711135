// The bodies of scatter_table.inc for CUDA.
#include "kernels/cpu/binary_functors.h"
#include "kernels/cuda/run_bodies_cuda.h"
#include "kernels/cuda/scatter_bodies.h"
// Needs what is above.
#include "kernels/cuda/scatter_table.inc"

namespace weir {

BodyTable CudaScatterBodies() { return TableOf(kScatterEntries); }

}  // namespace weir
