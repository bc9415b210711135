// The bodies of update_table.inc for the simulated device.
#include "kernels/cpu/training_rules.h"
#include "kernels/cuda/run_bodies_simulated.h"
#include "kernels/cuda/update_bodies.h"
// Needs what is above.
#include "kernels/cuda/update_table.inc"

namespace weir {

BodyTable SimulatedUpdateBodies() { return TableOf(kUpdateEntries); }

}  // namespace weir
