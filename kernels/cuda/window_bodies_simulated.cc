// The bodies of window_table.inc for the simulated device.
#include "kernels/cuda/run_bodies_simulated.h"
#include "kernels/cuda/window_bodies.h"
// Needs what is above.
#include "kernels/cuda/window_table.inc"

namespace weir {

BodyTable SimulatedWindowBodies() { return TableOf(kWindowEntries); }

}  // namespace weir
