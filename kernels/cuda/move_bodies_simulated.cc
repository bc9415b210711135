// The bodies of move_table.inc for the simulated device.
#include "kernels/cuda/move_bodies.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/cuda/move_table.inc"

namespace weir {

BodyTable SimulatedMoveBodies() { return TableOf(kMoveEntries); }

}  // namespace weir
