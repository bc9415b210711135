// The bodies of device.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/elementwise/binary_functors.h"
#include "kernels/indexing/device.h"
// Needs what is above.
#include "kernels/indexing/device.inc"

namespace weir {

BodyTable SimulatedScatterBodies() { return TableOf(kScatterEntries); }

}  // namespace weir
