// The bodies of device.inc for CUDA.
#include <cstring>

#include "kernels/device/gpu/run_bodies_cuda.h"
#include "kernels/ranking/device.h"
// Needs what is above.
#include "kernels/ranking/device.inc"

namespace weir {

BodyTable CudaRankingBodies() { return TableOf(kRankingEntries); }

}  // namespace weir
