// The bodies of device.inc for the simulated device.
#include "kernels/activation/device.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/activation/device.inc"

namespace weir {

BodyTable SimulatedActivationBodies() { return TableOf(kActivationEntries); }

}  // namespace weir
