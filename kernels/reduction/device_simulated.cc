// The bodies of device.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/reduction/device.inc"

namespace weir {

BodyTable SimulatedFoldBodies() { return TableOf(kFoldEntries); }

}  // namespace weir
