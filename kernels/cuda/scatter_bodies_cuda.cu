// The bodies of scatter_table.inc for CUDA.
#include "kernels/cuda/scatter_bodies.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/elementwise/binary_functors.h"
// Needs what is above.
#include "kernels/cuda/scatter_table.inc"

namespace weir {

BodyTable CudaScatterBodies() { return TableOf(kScatterEntries); }

}  // namespace weir
