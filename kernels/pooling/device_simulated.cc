// The bodies of device.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/pooling/device.h"
// Needs what is above.
#include "kernels/pooling/device.inc"

namespace weir {

BodyTable SimulatedPoolingBodies() { return TableOf(kPoolingEntries); }

}  // namespace weir
