// The bodies of norm_table.inc for the simulated device.
#include "kernels/cuda/norm_bodies.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/cuda/norm_table.inc"

namespace weir {

BodyTable SimulatedNormBodies() { return TableOf(kNormEntries); }

}  // namespace weir
