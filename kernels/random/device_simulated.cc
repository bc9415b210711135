// The bodies of random_table.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/random/device.h"
#include "kernels/random/philox_functions.h"
// Needs what is above.
#include "kernels/random/device.inc"

namespace weir {

BodyTable SimulatedRandomBodies() { return TableOf(kRandomEntries); }

}  // namespace weir
