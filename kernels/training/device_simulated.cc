// The bodies of update_table.inc for the simulated device.
#include "kernels/device/gpu/run_bodies_simulated.h"
#include "kernels/training/device.h"
#include "kernels/training/training_rules.h"
// Needs what is above.
#include "kernels/training/device.inc"

namespace weir {

BodyTable SimulatedUpdateBodies() { return TableOf(kUpdateEntries); }

}  // namespace weir
