// The bodies of device.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/elementwise/cast/device.inc"

namespace weir {

BodyTable SimulatedCastBodies() { return TableOf(kCastEntries); }

}  // namespace weir
