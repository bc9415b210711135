// Bodies for images, compiled for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/image/device.h"
// Needs what is above.
#include "kernels/image/device.inc"

namespace weir {

BodyTable CudaImageBodies() { return TableOf(kImageEntries); }

}  // namespace weir
