// Bodies for local response normalisation, compiled for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/normalization/device_lrn.h"
// Needs what is above.
#include "kernels/normalization/device_lrn.inc"

namespace weir {

BodyTable CudaLrnBodies() { return TableOf(kLrnEntries); }

}  // namespace weir
