// The bodies of window_table.inc for CUDA.
#include "kernels/convolution/device.h"
#include "kernels/device/gpu/run_bodies_cuda.h"
// Needs what is above.
#include "kernels/convolution/device.inc"

namespace weir {

BodyTable CudaWindowBodies() { return TableOf(kWindowEntries); }

}  // namespace weir
