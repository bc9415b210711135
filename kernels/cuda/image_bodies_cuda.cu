// The bodies of image_table.inc for CUDA.
#include "kernels/cuda/image_bodies.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/cuda/image_table.inc"

namespace weir {

BodyTable CudaImageBodies() { return TableOf(kImageEntries); }

}  // namespace weir
