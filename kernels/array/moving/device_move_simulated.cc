// The bodies of device_move.inc for the simulated device.
#include "kernels/array/moving/device_move.h"
#include "kernels/device/gpu/run_bodies_simulated.h"
// Needs what is above.
#include "kernels/array/moving/device_move.inc"

namespace weir {

BodyTable SimulatedMoveBodies() { return TableOf(kMoveEntries); }

}  // namespace weir
