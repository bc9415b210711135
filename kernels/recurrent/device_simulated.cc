// The bodies of device.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/recurrent/device.h"
// Needs what is above.
#include "kernels/recurrent/device.inc"

namespace weir {

BodyTable SimulatedRecurrentBodies() { return TableOf(kRecurrentEntries); }

}  // namespace weir
