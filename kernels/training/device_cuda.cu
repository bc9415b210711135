// The bodies of update_table.inc for CUDA.
#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/training/device.h"
#include "kernels/training/training_rules.h"
// Needs what is above.
#include "kernels/training/device.inc"

namespace weir {

BodyTable CudaUpdateBodies() { return TableOf(kUpdateEntries); }

}  // namespace weir
