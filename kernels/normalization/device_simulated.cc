// The bodies of device.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/normalization/device.h"
// Needs what is above.
#include "kernels/normalization/device.inc"

namespace weir {

BodyTable SimulatedNormBodies() { return TableOf(kNormEntries); }

}  // namespace weir
